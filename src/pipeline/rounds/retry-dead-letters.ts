import type { DeadLetterValue, FeedCodec } from '../../avro/codec/feed-codec';
import { isUnreadable, writerIdOf } from '../../avro/codec/record-decoder';
import type { SchemaRegistry } from '../../avro/registry/registry';
import { rowKeys } from '../../feeds/row-keys';
import { parseRow } from '../../json/answer-scan';
import type { LogRecord, ProducerRecord } from '../../log/commit-log';
import type { PendingState } from '../../state/feed-state';
import type { VendorRecord } from '../../types';
import { PageChanges } from '../changes/page-changes';
import { lookAt, type Sight } from '../look';
import { noteCommitted, type PollDeps } from '../poll';
import { transact } from '../transaction/transact';

/** The outcome for a feed's dead letters. `retried` and `still` together are all letters. */
export interface RetryResult {
  /** Letters that are removed: a record is decoded from them now. */
  readonly retried: number;
  /** Changes published from these letters. The others are not news: the feed has that version of the record, or a later one. */
  readonly published: number;
  /** Letters that stay: no record, too large for the log, only their beginning is kept, `tooOld` or `superseded`. */
  readonly still: number;
  /**
   * Letters that stay because their records are unknown and from before the beginning of a feed without a snapshot, so they are not
   * published. Without the letter, the only copy would be gone unnoticed.
   */
  readonly tooOld: number;
  /**
   * Letters that stay because the API does not show their version now: readers may have a later version, or the record may be gone.
   * The state cannot tell: a deleted record leaves nothing in it, and a touch moves no image.
   */
  readonly superseded: number;
}

/** So many letters in one transaction. */
const LETTERS = 500;

/**
 * Decodes a feed's dead letters by the code and the schemas of today. A letter that is a record now, and newer than its image, is
 * published as a poll would publish it, and removed in the same transaction, if the API still shows that version: otherwise an old
 * letter could bring back a deleted record. Several versions of one record are published in the order of their `updated`; of those
 * with the same one, the version that the API shows comes last.
 *
 * @throws HighwaterError LOG_*, KAFKA_*, REGISTRY_UNREACHABLE, SOURCE_*, SCAN_*; the signal's reason. Transactions that were committed before stay
 */
export async function retryDeadLetters(
  deps: PollDeps,
  signal: AbortSignal = new AbortController().signal,
): Promise<RetryResult> {
  const { letters, unread } = await readLetters(deps, signal);
  const result = { retried: 0, published: 0, still: unread, tooOld: 0, superseded: 0 };
  let revived: Revived[] = [];
  for (const [key, letter] of letters) {
    const record = recordIn(letter, deps);
    if (record === null) result.still++;
    else revived.push({ key, record, keptMs: letter.ts_ms });
  }
  revived.sort((a, b) => a.record.updated - b.record.updated || a.keptMs - b.keptMs);
  const { superseded, shown } = await compareWithApi(deps, revived, signal);
  // The others of its second come before a version that is shown. The order of seconds stays.
  revived = revived
    .filter((one) => !superseded.has(one))
    .sort((a, b) => a.record.updated - b.record.updated || Number(shown.has(a)) - Number(shown.has(b)));
  result.still += superseded.size;
  result.superseded = superseded.size;
  const begun = new Set<string>();
  /** If a poll has published a version of the same second, only the version that the API shows is news. */
  const isNews = (one: Revived, state: PendingState) => {
    const { id } = one.record;
    const age = ageOf(one.record, state);
    const isNow = age === 'newer' || (age === 'same second' && (shown.has(one) || begun.has(id)));
    if (isNow) begun.add(id);
    return isNow;
  };
  for (let i = 0; i < revived.length; i += LETTERS) {
    signal.throwIfAborted();
    await publish(deps, revived.slice(i, i + LETTERS), isNews, result);
  }
  return result;
}

/** A dead letter that is a record now. */
interface Revived {
  /** Key of the letter. */
  readonly key: string;
  readonly record: VendorRecord;
  /** When it was kept, Unix ms. */
  readonly keptMs: number;
}

async function publish(
  deps: PollDeps,
  revived: readonly Revived[],
  isNews: (one: Revived, state: PendingState) => boolean,
  result: { -readonly [field in keyof RetryResult]: RetryResult[field] },
): Promise<void> {
  const { state, topics, encoder } = deps;
  const observedAtMs = Date.now();
  const pending = state.begin();
  const origin = state.offset.snapshot === 'complete' ? 'poll' : 'snapshot';
  const changes = new PageChanges(deps, pending, observedAtMs, origin);
  // A record's image may come from an earlier letter.
  for (const one of revived) if (isNews(one, pending)) changes.compare(one.record, true);
  const news = changes.news(null);

  const leftOut = new Set([
    ...changes.tooLarge.map(({ change }) => change.afterRecord),
    ...changes.unfit.map(({ record }) => record),
  ]);
  const fitting = revived.filter(({ record }) => !leftOut.has(record));
  // A record without an image is unknown to readers.
  const settled = fitting.filter(({ record }) => pending.image(record.id) !== undefined);
  const tombstones = settled.map(({ key }): ProducerRecord => {
    pending.removeDeadLetter(key);
    return { topic: topics.deadLetters.name, key, value: null, headers: {}, timestamp: observedAtMs };
  });
  if (tombstones.length > 0) {
    await transact(deps, pending, [encoder.encode(news.events, [], observedAtMs), tombstones], observedAtMs);
    noteCommitted(news, deps);
    deps.onOtherChanges?.(news.changes, observedAtMs);
  }
  result.retried += settled.length;
  result.published += news.events.length;
  result.still += revived.length - settled.length;
  result.tooOld += fitting.length - settled.length;
}

/** A version beside the record's image, and beside the version that the API has shown last. */
function ageOf(
  { id, updated }: VendorRecord,
  state: Pick<PendingState, 'record' | 'seenAt'>,
): 'newer' | 'same second' | 'older' {
  const image = state.record(id);
  if (image === null) return 'newer';
  if ((state.seenAt(id) ?? -1) > updated || image.updated > updated) return 'older';
  return image.updated < updated ? 'newer' : 'same second';
}

/**
 * Compares the last version of each record with the API. If the API does not show it now, none of the record's versions may be published.
 * If it does, they are published in their order, and the one that is shown is the last.
 * @param revived by `updated`
 */
async function compareWithApi(
  deps: PollDeps,
  revived: readonly Revived[],
  signal: AbortSignal,
): Promise<{ readonly superseded: ReadonlySet<Revived>; readonly shown: ReadonlySet<Revived> }> {
  const { feed, decode, witnesses } = deps;
  const state = deps.state.begin();
  const versions = new Map<string, Revived[]>();
  for (const one of revived) {
    if (ageOf(one.record, state) === 'older') continue;
    const all = versions.get(one.record.id);
    if (all === undefined) versions.set(one.record.id, [one]);
    else all.push(one);
  }
  const keys = rowKeys(feed);
  const present = new Map<string, VendorRecord>();
  const witness = (rows: readonly unknown[]): void => {
    const wanted = rows.filter((row) => versions.has(keys.id(row) ?? ''));
    for (const record of decode(wanted).records)
      if (!(record.updated < (present.get(record.id)?.updated ?? 0))) present.set(record.id, record);
  };
  const superseded = new Set<Revived>();
  const shown = new Set<Revived>();
  let sight: Sight | null = null;
  witnesses.add(witness);
  try {
    for (const [id, all] of [...versions].sort(([, a], [, b]) => updatedOf(a) - updatedOf(b))) {
      const updated = updatedOf(all);
      if (sight?.rows.get(id) !== updated && (sight === null || mayShowMore(sight, updated)))
        sight = await lookAt(deps, { from: updated, through: updated }, (row) => versions.has(row), signal);
      const now = sight.isPresent ? present.get(id) : undefined;
      // If the API went back to an earlier version, those behind it would be published last.
      const isShown = ({ record }: Revived) =>
        record.updated === updated && now?.updated === updated && isSame(record, now, deps);
      const last = all.findLast(isShown);
      if (last !== undefined) shown.add(last);
      else for (const one of all) if (ageOf(one.record, state) === 'newer') superseded.add(one);
    }
  } finally {
    witnesses.delete(witness);
  }
  return { superseded, shown };
}

/** False for a record that cannot be written. */
function isSame(record: VendorRecord, other: VendorRecord, { images, codec }: PollDeps): boolean {
  try {
    return images.isShownBy(codec.image.encode(record), other);
  } catch {
    return false;
  }
}

/** `updated` of the last version. */
const updatedOf = (versions: readonly Revived[]): number => versions.at(-1)!.record.updated;

/** Whether a look at a later second may show other rows. It does not after a look that found no row, or read everything. */
function mayShowMore({ hasRows, through, isInOrder }: Sight, second: number): boolean {
  return isInOrder && hasRows && Math.floor(second) > through;
}

async function readLetters(
  { session, topics, codec, registry }: PollDeps,
  signal: AbortSignal,
): Promise<{ readonly letters: ReadonlyMap<string, DeadLetterValue>; readonly unread: number }> {
  const latest = new Map<string, LogRecord>();
  for await (const record of session.restore(topics.deadLetters.name, signal)) {
    if (record.value === null) latest.delete(record.key);
    else latest.set(record.key, record);
  }
  const letters = new Map<string, DeadLetterValue>();
  let unread = 0;
  for (const [key, record] of latest) {
    const letter = await letterIn(record, codec.deadLetter, registry);
    if (letter === null) unread++;
    else letters.set(key, letter);
  }
  return { letters, unread };
}

/** Null for a record of another program, which must not stop the retry of other letters. */
async function letterIn(
  record: LogRecord,
  deadLetter: FeedCodec['deadLetter'],
  registry: SchemaRegistry,
): Promise<DeadLetterValue | null> {
  try {
    const id = writerIdOf(record);
    if (!deadLetter.knowsWriter(id)) deadLetter.addWriter(id, await registry.schemaById(id));
    return deadLetter.decode(record.value!);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return null;
  }
}

/** The record that a letter's row is today; null if it is not a record, if only its beginning is kept, or if it is from another scope. */
function recordIn({ raw, bytes, ts_ms }: DeadLetterValue, { decode, state }: PollDeps): VendorRecord | null {
  // The feed may not show it in the new scope. Then it would later be deleted.
  if (ts_ms < state.offset.scope_since_ms) return null;
  if (Buffer.byteLength(raw) < bytes) return null;
  const row = parseRow(raw);
  return row === undefined ? null : (decode([row]).records[0] ?? null);
}
