import { FULL_TRANSITIVE, type SchemaStatus } from '../../avro/registry';
import { harmless } from './cells';
import { painted, type Span, span } from './spans';

const labels: Readonly<Record<SchemaStatus['state'], Span>> = {
  registered: span('= registered  ', 'dim'),
  new: span('+ new         ', 'green'),
  compatible: span('~ compatible  ', 'yellow'),
  incompatible: span('x incompatible', 'red'),
};

/** How a schema stands in the registry, as one line. @param subjectCells width of the first column */
export function schemaLine(
  subject: string,
  status: SchemaStatus,
  { subjectCells, color }: { readonly subjectCells: number; readonly color: boolean },
): string {
  const spans = [
    span(`${harmless(subject).padEnd(subjectCells)}  `),
    labels[status.state],
    span(`  ${harmless(facts(status))}`),
    ...(isHeld(status) ? [] : [span(`  held to ${harmless(status.level ?? '')} only`, 'yellow')]),
  ];
  return `${painted(spans, Infinity, color).trimEnd()}\n`;
}

/** Whether the registry itself refuses incompatible versions; of a subject that is not there it will. */
export function isHeld({ level }: SchemaStatus): boolean {
  return level === null || level === FULL_TRANSITIVE;
}

function facts(status: SchemaStatus): string {
  switch (status.state) {
    case 'registered':
      return `id ${status.id}, version ${status.version}`;
    case 'new':
      return '';
    case 'compatible':
      return `may follow version ${status.latest}`;
    case 'incompatible':
      return status.reason.problem;
  }
}
