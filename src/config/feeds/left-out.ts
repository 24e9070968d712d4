import type { FeedDefinition, TransitionDefinition } from '../../feeds/definition';
import { idPaths } from '../../feeds/row-keys';
import { shown } from '../mistake';
import type { RecordPaths } from './declared-schema';

/**
 * Whether the feed can do without the members that `omit` names, and whether `ignore` names none whose change is looked for.
 * @param record null: the feed has no valid schema
 */
export function checkLeftOut(
  feed: FeedDefinition,
  record: RecordPaths | null,
  add: (path: readonly PropertyKey[], problem: string) => void,
): void {
  const { paging, symbolField, display, transitions } = feed;
  const vendorPath = (path: string) => record?.vendorOf.get(path) ?? '';
  const ofTransitions = (pathsOf: (transition: TransitionDefinition) => readonly string[]) =>
    transitions.map((one) => [`the transition ${one.type}`, pathsOf(one).map(vendorPath)] as const);
  const moving = [
    ['idField', idPaths(feed)] as const,
    ['updatedField', feed.updatedField === null ? [] : [feed.updatedField]] as const,
    ...ofTransitions(comparedPaths),
  ];
  const needed = [
    ...moving,
    ['paging.lastRow', paging.style === 'cursor' ? [paging.lastRow ?? ''] : []] as const,
    ['symbolField', [vendorPath(symbolField ?? '')]] as const,
    ...Object.entries(display).map(
      ([role, paths = []]) => [`display.${role}`, [paths].flat().map(vendorPath)] as const,
    ),
    ...ofTransitions(({ fields }) => Object.values(fields).map((from) => from.replace(/^\w+\./, ''))),
  ];
  for (const [setting, users] of [
    ['omit', needed],
    ['ignore', moving],
  ] as const)
    for (const [index, path] of feed[setting].entries()) {
      const isOf = (own: string) => own === path || own.startsWith(`${path}.`);
      const [user] = users.find(([, paths]) => paths.some(isOf)) ?? [];
      if (user !== undefined) add([setting, index], `${shown(path)} is needed by ${user}`);
    }
}

/** Avro paths of the fields by which a transition is found. */
function comparedPaths(transition: TransitionDefinition): readonly string[] {
  if (transition.kind === 'field') return [transition.field];
  const { group, newestBy, differs, same } = transition;
  return [...group, ...newestBy, ...differs, ...Object.values(same)];
}
