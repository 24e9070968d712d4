import type { DeadLetterValue } from '../avro/feed-codec';
import { readSchemaId } from '../avro/wire';
import type { Feed } from '../feeds/feed';
import type { LogRecord, ProducerRecord } from '../log/commit-log';
import type { PendingState } from '../state/pending-state';
import type { VendorRecord } from '../types';
import { commit } from './commit';
import { diff } from './diff';
import { encode, encodeTransaction } from './encode';
import { buildEvents } from './events';
import { noteDrift, type PollDeps, pageContext } from './poll';
import { publishedChanges } from './published-changes';

/** What became of a feed's dead letters. `retried` and `still` together are all that there were. */
export interface RetryResult {
  /** Letters that are removed: a record is decoded from them now. */
  readonly retried: number;
  /** Changes published from those. The rest is no news: the feed has that version of the record, or a later one. */
  readonly published: number;
  /** Letters that stay: no record, too large for the log, only their beginning is kept, or `tooOld`. */
  readonly still: number;
  /**
   * Records of those that stay which the feed does not publish: from before the beginning of a feed without a snapshot, and
   * unknown. Removed, the only copy would be gone, and nobody would have been told.
   */
  readonly tooOld: number;
}

/** So many letters in one transaction. */
const LETTERS = 500;

/**
 * Decodes a feed's dead letters by the code and the schemas of today. What is a record now, and newer than its image, is
 * published as a poll would have, and its letter removed in the same transaction. Several versions of one record come in
 * the order of their `updated`.
 *
 * @throws HighwaterError LOG_*, KAFKA_*, REGISTRY_*, SCHEMA_UNKNOWN; the signal's reason. What is committed by then stays
 */
export async function retryDeadLetters(
  feed: Feed,
  deps: PollDeps,
  signal: AbortSignal = new AbortController().signal,
): Promise<RetryResult> {
  const { letters, unread } = await readLetters(deps, signal);
  const result = { retried: 0, published: 0, still: unread, tooOld: 0 };
  const revived: Revived[] = [];
  for (const [key, letter] of letters) {
    const record = recordIn(letter, deps);
    if (record === null) result.still++;
    else revived.push({ key, record });
  }
  revived.sort((a, b) => a.record.updated - b.record.updated);
  for (let i = 0; i < revived.length; i += LETTERS) {
    signal.throwIfAborted();
    await publish(feed, deps, revived.slice(i, i + LETTERS), result);
  }
  return result;
}

/** A dead letter that is a record now. */
interface Revived {
  /** Of the letter. */
  readonly key: string;
  readonly record: VendorRecord;
}

async function publish(
  feed: Feed,
  deps: PollDeps,
  revived: readonly Revived[],
  result: { -readonly [field in keyof RetryResult]: RetryResult[field] },
): Promise<void> {
  const { state, session, topics } = deps;
  const observedAtMs = Date.now();
  const origin = state.offset.snapshot === 'complete' ? 'poll' : 'snapshot';
  const context = pageContext(feed, { observedAtMs }, origin, deps);
  const pending = state.begin();
  const events = buildEvents(diff(newerThanImages(revived, pending), pending, context), pending, context);

  const tooLarge = new Set(context.tooLarge.map(({ change }) => change.afterRecord));
  const fitting = revived.filter(({ record }) => !tooLarge.has(record));
  // What has no image is known to no reader.
  const settled = fitting.filter(({ record }) => pending.image(record.id) !== undefined);
  const tombstones = settled.map(({ key }): ProducerRecord => {
    pending.removeDeadLetter(key);
    return { topic: topics.deadLetters.name, key, value: null, headers: {}, timestamp: observedAtMs };
  });
  if (tombstones.length > 0) {
    const records = [encode(events, [], context), tombstones];
    await commit(encodeTransaction(records, pending, context, session), pending, session);
    const changes = publishedChanges(feed, events);
    noteDrift(changes, deps);
    deps.onOtherChanges?.(changes, observedAtMs);
  }
  result.retried += settled.length;
  result.published += events.length;
  result.still += revived.length - settled.length;
  result.tooOld += fitting.length - settled.length;
}

/** Asked for one by one: a record's image may be that of an earlier letter. */
function* newerThanImages(revived: readonly Revived[], pending: PendingState): Generator<VendorRecord> {
  for (const { record } of revived) {
    const image = pending.record(record.id);
    if (image === null || image.updated < record.updated) yield record;
  }
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
  const { deadLetter } = codec;
  const letters = new Map<string, DeadLetterValue>();
  let unread = 0;
  for (const [key, { value }] of latest) {
    const id = writerOf(value!);
    if (id === null) {
      unread++; // somebody else's
      continue;
    }
    if (!deadLetter.knowsWriter(id)) deadLetter.addWriter(id, await registry.schemaById(id));
    letters.set(key, deadLetter.decode(value!));
  }
  return { letters, unread };
}

/** Schema id; null for what is not in the wire format. */
function writerOf(value: Buffer): number | null {
  try {
    return readSchemaId(value);
  } catch {
    return null;
  }
}

/** The record that a letter's row is today; null when it is none, when only its beginning is kept, or another scope showed it. */
function recordIn({ raw, bytes, ts_ms }: DeadLetterValue, { decode, state }: PollDeps): VendorRecord | null {
  // Nothing says that the feed would show it, now that something else is asked for: published, it would pass for deleted.
  if (ts_ms < state.offset.scope_since_ms) return null;
  if (Buffer.byteLength(raw) < bytes) return null;
  let row: unknown;
  try {
    row = JSON.parse(raw);
  } catch {
    return null;
  }
  return decode([row]).records[0] ?? null;
}
