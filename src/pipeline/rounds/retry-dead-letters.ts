import type { DeadLetterValue, FeedCodec } from '../../avro/codec/feed-codec';
import { isUnreadable, writerIdOf } from '../../avro/codec/record-decoder';
import type { SchemaRegistry } from '../../avro/registry/registry';
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
 * letter could bring back a deleted record. Several versions of one record are published in the order of their `updated`.
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
    else revived.push({ key, record });
  }
  revived.sort((a, b) => a.record.updated - b.record.updated);
  const superseded = await supersededOf(deps, revived, signal);
  revived = revived.filter((one) => !superseded.has(one));
  result.still += superseded.size;
  result.superseded = superseded.size;
  for (let i = 0; i < revived.length; i += LETTERS) {
    signal.throwIfAborted();
    await publish(deps, revived.slice(i, i + LETTERS), result);
  }
  return result;
}

/** A dead letter that is a record now. */
interface Revived {
  /** Key of the letter. */
  readonly key: string;
  readonly record: VendorRecord;
}

async function publish(
  deps: PollDeps,
  revived: readonly Revived[],
  result: { -readonly [field in keyof RetryResult]: RetryResult[field] },
): Promise<void> {
  const { state, topics, encoder } = deps;
  const observedAtMs = Date.now();
  const pending = state.begin();
  const origin = state.offset.snapshot === 'complete' ? 'poll' : 'snapshot';
  const changes = new PageChanges(deps, pending, observedAtMs, origin);
  for (const record of newerThanImages(revived, pending)) changes.compare(record, true);
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

/** Lazy, because a record's image may come from an earlier letter. */
function* newerThanImages(revived: readonly Revived[], pending: PendingState): Generator<VendorRecord> {
  for (const { record } of revived) if (isNewer(record, pending)) yield record;
}

/** Than the record's image, and no older than the version that the API has shown last. */
function isNewer({ id, updated }: VendorRecord, state: Pick<PendingState, 'record' | 'seenAt'>): boolean {
  const image = state.record(id);
  return image === null || (image.updated < updated && (state.seenAt(id) ?? -1) <= updated);
}

/**
 * Versions that would be published although the API does not show them now. If the API shows the last version of a record, the earlier
 * versions are published before it.
 * @param revived by `updated`
 */
async function supersededOf(
  deps: PollDeps,
  revived: readonly Revived[],
  signal: AbortSignal,
): Promise<ReadonlySet<Revived>> {
  const state = deps.state.begin();
  const news = revived.filter(({ record }) => isNewer(record, state));
  const last = new Map(news.map((one) => [one.record.id, one]));
  const hidden = new Set<string>();
  let sight: Sight | null = null;
  for (const one of news) {
    const { id, updated } = one.record;
    if (last.get(id) !== one) continue;
    if (sight?.rows.get(id) !== updated && (sight === null || mayShowMore(sight, updated)))
      sight = await lookAt(deps, { from: updated, through: updated }, (row) => last.has(row), signal);
    if (!sight.isPresent || sight.rows.get(id) !== updated) hidden.add(id);
  }
  return new Set(news.filter(({ record }) => hidden.has(record.id)));
}

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
