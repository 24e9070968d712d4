import { type FieldShape, isListOfTexts } from '../../avro/record-shape';

/** The name of a vendor's member as a part of a dotted path. */
export type NamesInPaths = (vendorName: string) => string;

/**
 * Names of members of one object in paths. Nearly always a name stands as it is. But the member `sub.note` beside a member `sub` with
 * members of its own would have the path of another value, so it is `sub\.note`.
 * @param fields of the object
 */
export function memberNames(fields: readonly FieldShape[]): NamesInPaths {
  const containers = fields.filter(({ value }) => hasPlacesWithin(value)).map(({ vendorName }) => vendorName);
  const isUnclear = (name: string): boolean =>
    name.includes('\\') ||
    !name.isWellFormed() ||
    containers.some((one) => name.startsWith(`${one}.`) || name.startsWith(`${one}[`));
  return (name) => (isUnclear(name) ? escaped(name) : name);
}

function hasPlacesWithin(shape: FieldShape['value']): boolean {
  return shape.kind === 'record' || shape.kind === 'map' || (shape.kind === 'array' && !isListOfTexts(shape));
}

/** A half of a surrogate pair has no UTF-8. */
function escaped(name: string): string {
  return name
    .replace(/[\\.[]/g, '\\$&')
    .replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}

/** The name that `memberNames` wrote. */
export function memberNamed(nameInPath: string): string {
  return nameInPath.replace(/\\(?:u([0-9a-f]{4})|(.))/gs, (_, code: string | undefined, letter: string) =>
    code === undefined ? letter : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
