import { type Type, types } from 'avsc';
import { fieldsAt, type RecordShape, recordShape, type Shape } from '../../avro/record-shape';
import { branches } from '../../avro/registry/compatibility';
import { envelopeOf } from '../../avro/schemas';
import type { FeedDefinition, TransitionDefinition } from '../../feeds/definition';
import type { Feed } from '../../feeds/feed';
import { idPaths, keyPaths } from '../../feeds/row-keys';
import { feedTopics } from '../../log/topics';
import { meant } from '../did-you-mean';
import { shown } from '../mistake';
import {
  avroType,
  type DeclaredSchema,
  declaredSchema,
  type RecordPaths,
  recordPaths,
} from './declared-schema';
import { checkRequests } from './request-settings';

type Add = (path: readonly PropertyKey[], problem: string) => void;

/** Fields that every event has without being declared. */
const alwaysFilled = ['event_id', 'caused_by', 'origin', 'ts_ms'];

/** Whether a definition holds together with its schemas, so that nothing of it fails in the middle of a poll. */
export function checkFeed(feed: FeedDefinition & Partial<Pick<Feed, 'snapshotMode'>>): FeedMistake[] {
  const mistakes: FeedMistake[] = [];
  const add: Add = (path, problem) => mistakes.push({ feed: feed.name, path, problem });
  const { dateFrom, dateTo } = feed.parameters;
  if (!dateFrom !== !dateTo)
    add(['parameters'], `has ${dateFrom ? 'dateFrom' : 'dateTo'} alone; dateFrom and dateTo go together`);
  if (feed.updatedField === null && feed.snapshotMode === 'never')
    add(['snapshotMode'], 'is never, and without updatedField nothing shows which records are new');
  checkRange(feed, add);
  checkRequests(feed, add);
  const record = declaredSchema(feed.schema);
  const problem = 'problem' in record ? record.problem : recordProblem(feed, record);
  if (problem !== null) add(['schema'], problem);
  // Without a record there is nothing that a path could be looked up in.
  const paths = 'problem' in record ? null : recordPaths(record.schema);
  if (paths !== null) checkPaths(feed, paths, add);
  checkLeftOut(feed, paths, add);
  for (const [index, transition] of feed.transitions.entries()) {
    const at: Add = (path, what) => add(['transitions', index, ...path], what);
    if (feed.transitions.findIndex(({ type }) => type === transition.type) < index)
      at(['type'], `${shown(transition.type)} is declared twice`);
    if (paths !== null) checkTransitionPaths(transition, paths, at);
    checkEvent(transition, 'problem' in record ? null : record.type, at);
  }
  return mistakes;
}

/**
 * Whether the feed can do without the members that `omit` names, and whether `ignore` names none whose change is looked for.
 * @param record null: the feed has no valid schema
 */
function checkLeftOut(feed: FeedDefinition, record: RecordPaths | null, add: Add): void {
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

/** Settings about a range of `updated` that the feed cannot ask for. */
function checkRange(
  { parameters, windowSeconds, beginAt, updatedSinceFormat, updatedField }: FeedDefinition,
  add: Add,
): void {
  if (updatedField === null && parameters.updatedSince !== null)
    add(['parameters', 'updatedSince'], 'needs updatedField, by which the filter goes, expected null');
  if (parameters.updatedSince !== null) return;
  const used: readonly [path: readonly PropertyKey[], isSet: boolean][] = [
    [['parameters', 'updatedUntil'], Boolean(parameters.updatedUntil)],
    [['window'], windowSeconds !== undefined],
    [['beginAt'], beginAt !== undefined],
    [['updatedSinceFormat'], updatedSinceFormat !== undefined],
  ];
  for (const [path, isSet] of used)
    if (isSet)
      add(
        path,
        'needs parameters.updatedSince (the query parameter for the begin of a range), which is not set',
      );
}

function recordProblem(feed: FeedDefinition, { schema, type }: Exclude<DeclaredSchema, { problem: string }>) {
  const shape = recordShape(schema);
  const extra = type.fields.find(({ name }) => name === 'extra')?.type;
  const idTypes = ['string', 'long', 'int'];
  const timeType = feed.updatedFormat === 'iso8601' ? 'string' : 'long';
  const ids = idPaths(feed);
  const isKey = (path: string, types: readonly string[], mayBeNull: boolean) => {
    const fields = fieldsAt(shape, path) ?? [];
    const value = fields.at(-1)?.value;
    const isOfType = value?.kind === 'plain' && types.includes(value.type);
    return isOfType && (value.nullBranch === null || mayBeNull || fields.length > 1);
  };
  const missing = [
    ...ids
      .filter((path) => !isKey(path, idTypes, ids.length > 1))
      .map((path) => `${path} (${idTypes.join(', ')}${ids.length > 1 ? '' : '; not null'})`),
    ...(feed.updatedField === null || isKey(feed.updatedField, [timeType], false)
      ? []
      : [`${feed.updatedField} (${timeType}; not null)`]),
    ...(extra instanceof types.MapType && extra.valuesType.typeName === 'string'
      ? []
      : ['extra (map of string)']),
  ];
  const which = `the file ${shown(feed.schema)}`;
  if (missing.length > 0) return `${which} lacks ${missing.join(', ')}`;
  const impossible = impossibleTypes(shape);
  if (impossible.length > 0)
    return (
      `${which} has ${impossible.join(', ')}; a field may be string, long, int, double, float, boolean, an enum, ` +
      'a record, or an array or a map of these, each alone or in a union with null'
    );
  // A value that the vendor leaves out, or writes as another type (I8), is null.
  const keyNames = keyPaths(feed).map((path) =>
    fieldsAt(shape, path)
      ?.map(({ name }) => name)
      .join('.'),
  );
  const needed = neverNull(type).filter((path) => path !== 'extra' && !keyNames.includes(path));
  if (needed.length > 0)
    return `${which} has no null among the types of ${needed.join(', ')}, and any value can be missing`;
  const envelope = avroType(envelopeOf(feed, schema));
  return typeof envelope === 'string' ? `${which} does not fit into a change event: ${envelope}` : null;
}

/** Each place of a schema that nothing of a row can be decoded to, with what stands there. */
function impossibleTypes({ fields }: RecordShape): string[] {
  const found: string[] = [];
  lookAt({ kind: 'record', fields, nullBranch: null }, '');
  return found;

  function lookAt(shape: Shape, path: string): void {
    if (shape.kind === 'record')
      for (const { name, value } of shape.fields) lookAt(value, path === '' ? name : `${path}.${name}`);
    else if (shape.kind === 'array' || shape.kind === 'map') lookAt(shape.items, `${path}[]`);
    else if (shape.kind === 'none') found.push(`${path} as ${shape.what}`);
  }
}

function checkPaths(
  { symbolField, unknowns, display }: FeedDefinition,
  { avro, vendor }: RecordPaths,
  add: Add,
): void {
  const vendorPaths = [...vendor.keys()];
  if (symbolField !== null) expectOneOf(avro, symbolField, ['symbolField'], add);
  for (const role of ['title', 'symbol'] as const)
    if (display[role] !== undefined) expectOneOf(avro, display[role], ['display', role], add);
  for (const role of ['facts', 'changes'] as const)
    for (const [index, path] of (display[role] ?? []).entries())
      expectOneOf(avro, path, ['display', role, index], add);
  for (const [index, path] of unknowns.zero.entries())
    expectOneOf(vendorPaths, path, ['unknowns', 'zero', index], add);
  for (const [path, companion] of Object.entries(unknowns.zeroWithout)) {
    const at = ['unknowns', 'zeroWithout', path];
    const siblings = vendor.get(path);
    if (siblings === undefined) expectOneOf(vendorPaths, path, at, add);
    else expectOneOf(siblings, companion, at, add);
  }
}

function checkTransitionPaths(transition: TransitionDefinition, { avro }: RecordPaths, add: Add): void {
  const ofBoth = ['before', 'after'].flatMap((side) => avro.map((path) => `${side}.${path}`));
  for (const [field, from] of Object.entries(transition.fields))
    expectOneOf(ofBoth, from, ['fields', field], add);
  if (transition.kind === 'field') {
    expectOneOf(avro, transition.field, ['field'], add);
    return;
  }
  for (const list of ['group', 'newestBy', 'differs'] as const) {
    for (const [index, path] of transition[list].entries()) expectOneOf(avro, path, [list, index], add);
  }
  for (const [field, path] of Object.entries(transition.same)) expectOneOf(avro, path, ['same', field], add);
}

/** The event's own schema: all that is filled is in it and fits, and all that it demands is filled. */
function checkEvent(transition: TransitionDefinition, record: types.RecordType | null, add: Add): void {
  const event = declaredSchema(transition.schema);
  if ('problem' in event) {
    add(['schema'], event.problem);
    return;
  }
  const names = event.type.fields.map(({ name }) => name);
  const same = transition.kind === 'latest-in-group' ? Object.keys(transition.same) : [];
  const fields = Object.keys(transition.fields);
  for (const name of fields) expectOneOf(names, name, ['fields', name], add, 'event');
  for (const name of same) expectOneOf(names, name, ['same', name], add, 'event');
  for (const name of Object.keys(transition.display?.badges ?? {}))
    expectOneOf(names, name, ['display', 'badges', name], add, 'event');
  checkEventTypes(transition, event.type, record, add);
  const filled = [...alwaysFilled, ...fields, ...same];
  const empty = event.type.fields.filter(
    (field) => !filled.includes(field.name) && field.defaultValue() === undefined,
  );
  if (empty.length > 0)
    add(
      ['fields'],
      `nothing fills ${empty.map(({ name }) => name).join(', ')}, which ${shown(transition.schema)} has without default`,
    );
}

/** Paths that lead nowhere are not reported here. */
function checkEventTypes(
  transition: TransitionDefinition,
  event: types.RecordType,
  record: types.RecordType | null,
  add: Add,
): void {
  // A record without one of these is in no group.
  const group = transition.kind === 'latest-in-group' ? transition.group : [];
  for (const [name, from] of Object.entries(transition.fields)) {
    const [side, ...path] = from.split('.');
    const given = record === null ? undefined : typeAt(record, path.join('.'));
    const wanted = typeAt(event, name);
    if (given === undefined || wanted === undefined) continue;
    // A created record has no `before`, and every field except id, time and `extra` can be null, also nested fields.
    const ofEvery = path.length === 1 && !takesNull(given);
    const isFilled = side === 'after' && (ofEvery || group.includes(path.join('.')));
    if (!isFilled && !takesNull(wanted))
      add(['fields', name], `${shown(from)} can be null, and ${name} of the event cannot`);
    if (!fits(given, wanted))
      add(
        ['fields', name],
        `${shown(from)} is of type ${typeText(given)}, and ${name} of the event of type ${typeText(wanted)}`,
      );
  }
  if (transition.kind === 'field') return;
  for (const name of Object.keys(transition.same)) {
    const wanted = typeAt(event, name);
    if (wanted !== undefined && !fits(boolean, wanted))
      add(['same', name], `says true or false, and ${name} of the event is of type ${typeText(wanted)}`);
  }
}

const boolean = new types.BooleanType();

function expectOneOf(
  known: readonly string[],
  path: string,
  at: readonly PropertyKey[],
  add: Add,
  of: 'record' | 'event' = 'record',
): void {
  if (known.includes(path)) return;
  add(at, `${shown(path)} is not a field of the ${of}${meant(path, known)}`);
}

/** Dotted Avro paths of a record's fields that cannot be null. */
function neverNull(record: types.RecordType, prefix = ''): string[] {
  return record.fields.flatMap(({ name, type }) => {
    const own = takesNull(type) ? [] : [prefix + name];
    const held = heldRecord(type, prefix + name);
    return held === null ? own : [...own, ...neverNull(held.record, `${held.path}.`)];
  });
}

/** The record that a type holds, also as the items of lists and maps, and the path to it. */
function heldRecord(
  type: Type,
  path: string,
): { readonly record: types.RecordType; readonly path: string } | null {
  const held = branches(type).find(({ typeName }) => typeName !== 'null');
  if (held instanceof types.RecordType) return { record: held, path };
  if (held instanceof types.ArrayType) return heldRecord(held.itemsType, `${path}[]`);
  return held instanceof types.MapType ? heldRecord(held.valuesType, `${path}[]`) : null;
}

function takesNull(type: Type): boolean {
  return branches(type).some(({ typeName }) => typeName === 'null');
}

/** The type at a dotted Avro path; undefined when there is none. */
function typeAt(record: types.RecordType, path: string): Type | undefined {
  const [name, ...rest] = path.split('.');
  const type = record.fields.find((field) => field.name === name)?.type;
  if (type === undefined || rest.length === 0) return type;
  const within = branches(type).find((branch) => branch instanceof types.RecordType);
  return within && typeAt(within, rest.join('.'));
}

/** Whether every value of a type but null can be written as another. */
function fits(type: Type, into: Type): boolean {
  const wider = branches(into);
  return branches(type)
    .filter(({ typeName }) => typeName !== 'null')
    .every((one) =>
      wider.some((other) => other.equals(one) || promotions[one.typeName]?.includes(other.typeName)),
    );
}

/** The values of a type besides null, for people. */
function typeText(type: Type): string {
  const names = branches(type).map((branch) => branch.branchName ?? branch.typeName);
  return names.filter((name) => name !== 'null').join(' or ');
}

const promotions: Readonly<Record<string, readonly string[]>> = {
  int: ['long', 'float', 'double'],
  long: ['double'],
  float: ['double'],
};

/** A mistake in the section of a feed. */
export interface FeedMistake {
  readonly feed: string;
  /** Below the feed: `transitions`, 0, `field`. */
  readonly path: readonly PropertyKey[];
  readonly problem: string;
}

/**
 * Topics with two writers, each reported at a setting that the file can change.
 * @param isWritten whether the file sets the value at a path of a feed
 */
export function topicClashes(
  feeds: readonly Feed[],
  isWritten: (feed: string, path: readonly PropertyKey[]) => boolean,
): FeedMistake[] {
  const claims = feeds.flatMap((feed) => {
    const { changes, current, sourceOffset, deadLetters, transitions } = feedTopics(feed, '');
    const claim = (topic: string, path: readonly PropertyKey[]) => {
      // 0 for names that nobody can change, 1 for names of definitions, 2 for names that the file sets.
      const rank = path.length === 0 ? 0 : isWritten(feed.name, path) ? 2 : 1;
      return { feed: feed.name, topic, path, rank };
    };
    return [
      ...[current, sourceOffset, deadLetters].map(({ name }) => claim(name, [])),
      claim(changes.name, ['topic']),
      // On the topic of its own feed a transition is at home.
      ...transitions.flatMap(({ name }, index) =>
        name === changes.name ? [] : [claim(name, ['transitions', index, 'topic'])],
      ),
    ];
  });
  claims.sort((a, b) => a.rank - b.rank);
  return claims.flatMap(({ feed, topic, path }, index) => {
    const owner = claims.findIndex((one) => one.topic === topic);
    if (owner === index) return [];
    const which = claims[owner]!.path[0] === 'topic' ? 'the topic' : 'a topic';
    return [{ feed, path, problem: `"${topic}" is ${which} of ${claims[owner]!.feed} already` }];
  });
}
