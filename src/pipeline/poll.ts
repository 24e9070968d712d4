import { oneAhead } from '../async/one-ahead';
import type { FeedCodec } from '../avro/codec/feed-codec';
import type { SchemaRegistry } from '../avro/registry/registry';
import type { Feed } from '../feeds/feed';
import type { FeedSession, FeedTopics } from '../log/commit-log';
import type { Logger } from '../logging/logger';
import type { Source } from '../source/source';
import type { FeedState } from '../state/feed-state';
import type { Origin, ScanPage, Unfit, VendorRecord } from '../types';
import { newDeadLetters } from './changes/dead-letters';
import { type DiffOptions, diff } from './changes/diff';
import { buildEvents, type EventContext } from './changes/events';
import type { Images } from './changes/images';
import type { PublishedChanges } from './changes/published-changes';
import { confirm } from './records/confirm';
import type { Decoder } from './records/decode';
import type { Drift } from './records/drift';
import type { Round } from './round';
import { type BatchPage, openBatch, rehearsedBatch } from './transaction/batch';
import { type EncodeContext, encode, largestRecordBytes } from './transaction/encode';

export interface PollDeps {
  readonly source: Source;
  /** For work that takes long: its requests let those of polls go first. */
  readonly patientSource: Source;
  readonly session: FeedSession;
  readonly state: FeedState;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
  readonly registry: SchemaRegistry;
  readonly decode: Decoder;
  readonly images: Images;
  readonly drift: Drift;
  readonly logger: Logger;
  /** Name of the installation, and of this instance. */
  readonly appId: string;
  readonly instance: string;
  /** Called after each page: progress for people. */
  readonly onPage?: (page: PageReport) => void;
  /** Called with what is committed beside pages: the deletes of a reconcile, dead letters that are records now. */
  readonly onOtherChanges?: (changes: PublishedChanges, observedAtMs: number) => void;
  /** Called for each record that came with nothing new but its `updated`. */
  readonly onTouch?: () => void;
  /** Told of the rows of every page of every round. */
  readonly witnesses: Set<(rows: readonly unknown[]) => void>;
}

/** What became of one page, once it is committed. */
export interface PageReport extends BatchPage {
  readonly feed: Feed;
  readonly state: FeedState;
}

export interface PollResult {
  readonly pages: number;
  readonly rows: number;
  readonly changes: number;
  readonly deadLetters: number;
  /** The scan reached its end; false when the signal came first. */
  readonly complete: boolean;
}

/** How long a page that was read waits for the next one, while a scan catches up, to share its transaction. */
const LINGER_MS = 200;

/**
 * One round of one feed. A page's events, images, dead letters and source offset commit together or not at all, alone or
 * with those of the pages next to it, and the state moves only then. The signal ends the poll after the page that is
 * under way.
 *
 * @param round what is read: see `pollRound` for the regular poll
 */
export async function poll(
  feed: Feed,
  deps: PollDeps,
  round: Round,
  signal: AbortSignal,
): Promise<PollResult> {
  const result = { pages: 0, rows: 0, changes: 0, deadLetters: 0, complete: false };
  const committed = (page: BatchPage) => {
    count(page, result);
    warnOfTooLarge(page, feed, deps.logger);
    noteDrift(page.changes, deps);
    deps.onPage?.({ ...page, feed, state: deps.state });
  };
  const batch = round.onRehearsed
    ? rehearsedBatch(feed, deps.state, round.onRehearsed)
    : openBatch(feed, deps, committed);

  try {
    for await (const ahead of oneAhead(round.pages, signal, round.readsAhead)) {
      const page = ahead.value;
      const context = changeContext(feed, page, round.origin(page), deps);
      const pending = batch.begin();
      const decoded = deps.decode(page.rows);
      pending.moveOffset(round.position(pending.offset, page, decoded));

      const doubtful: VendorRecord[] = [];
      const events = buildEvents(diff(decoded.records, pending, context, doubtful), pending, context);
      if (doubtful.length > 0) await batch.commit(); // pages before this one do not wait for a second read
      const confirmed = await confirm(doubtful, page, deps);
      events.push(...buildEvents(diff(confirmed, pending, context), pending, context));
      const letters = newDeadLetters(decoded, context, pending);
      batch.add(page, { events, letters, records: encode(events, letters, context) }, pending);
      for (const witness of deps.witnesses) witness(page.rows);

      if (batch.isDue() || signal.aborted || !(await ahead.isNextWithin(LINGER_MS))) {
        await batch.flush(); // the state moves when this is committed, and only then; the next page is compared meanwhile
      }
      if (round.between !== undefined) {
        await batch.commit();
        await round.between();
      }
      if (signal.aborted) break;
    }
  } finally {
    await batch.commit(); // what was read before something failed
  }
  round.end?.();
  return result;
}

function count(page: BatchPage, result: { -readonly [field in keyof PollResult]: PollResult[field] }): void {
  result.pages++;
  result.rows += page.rows;
  result.changes += page.changes.count;
  result.deadLetters += page.letters.length;
  result.complete = page.progress.complete;
}

/** What is committed has been said to readers: then it is counted. */
export function noteDrift({ extras }: PublishedChanges, { drift, codec }: PollDeps): void {
  for (const extra of extras) drift.note({ extra }, codec.schemas.record);
}

export function warnOfTooLarge({ letters }: Pick<BatchPage, 'letters'>, feed: Feed, logger: Logger): void {
  for (const { id, reason, bytes } of letters) {
    if (id === undefined) continue;
    // An id may be what is too large.
    const name = id.slice(0, 80).toWellFormed();
    logger.warn(
      `Record ${name} of feed ${feed.name} is not published, but kept as a dead letter: ${reason}.`,
      {
        feed: feed.name,
        id: name,
        bytes,
      },
    );
  }
}

type ChangeContext = EventContext & EncodeContext & DiffOptions & { readonly unfit: Unfit[] };

export function changeContext(
  feed: Feed,
  page: Pick<ScanPage, 'observedAtMs'>,
  origin: Origin,
  deps: PollDeps,
): ChangeContext {
  const { appId, topics, codec, images, onTouch } = deps;
  const { maxRecordBytes } = deps.session;
  const { observedAtMs } = page;
  const duringSnapshot = origin === 'snapshot';
  // Name by name: of an object that is spread V8 makes a class for each page, and the pipeline's code is compiled for it anew.
  const context: ChangeContext = {
    feed,
    topics,
    codec,
    observedAtMs,
    appId,
    images,
    onTouch,
    duringSnapshot,
    origin,
    // Of what a snapshot or a backfill sees for the first time, nobody knows since when it is there.
    firstSight: duringSnapshot || origin === 'backfill' ? 'r' : 'c',
    limit: { maxBytes: maxRecordBytes, bytesOf: (event) => largestRecordBytes(event, context) },
    tooLarge: [],
    unfit: [],
  };
  return context;
}
