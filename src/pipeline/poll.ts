import { oneAhead } from '../async/one-ahead';
import { inSlices } from '../async/slices';
import type { FeedCodec } from '../avro/codec/feed-codec';
import type { SchemaRegistry } from '../avro/registry/registry';
import type { Feed } from '../feeds/feed';
import type { FeedSession, FeedTopics } from '../log/commit-log';
import { traced } from '../logging/tracing';
import type { Source } from '../source/source';
import type { FeedState } from '../state/feed-state';
import type { FirstSights } from './changes/first-sights';
import type { Images } from './changes/images';
import { PageChanges, type PublishedChanges } from './changes/page-changes';
import { type DoubtDeps, Doubts } from './doubts';
import type { Decoder } from './records/decode';
import type { Drift } from './records/drift';
import { pollRound, type Round } from './round';
import { type BatchPage, openBatch, rehearsedBatch } from './transaction/batch';
import type { Encoder } from './transaction/encode';

/** A feed that this process owns, with the parts that are made once for it. */
export interface PollDeps extends DoubtDeps {
  /** For long work: requests of polls go before its requests. */
  readonly patientSource: Source;
  readonly session: FeedSession;
  readonly state: FeedState;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
  readonly registry: SchemaRegistry;
  readonly decode: Decoder;
  readonly images: Images;
  readonly firstSights: FirstSights;
  readonly encoder: Encoder;
  readonly drift: Drift;
  /** Name of the installation, and of this instance. */
  readonly appId: string;
  readonly instance: string;
  /** Called after each page: progress for people. */
  readonly onPage?: (page: PageReport) => void;
  /** Called with changes that belong to no page: the deletes of a reconcile, and dead letters that are records now. */
  readonly onOtherChanges?: (changes: PublishedChanges, observedAtMs: number) => void;
  /** Called for each record in which only `updated` differs. */
  readonly onTouch?: () => void;
}

/** A page that is committed. */
export interface PageReport extends BatchPage {
  readonly feed: Feed;
  readonly state: FeedState;
}

export interface PollResult {
  readonly pages: number;
  readonly rows: number;
  readonly changes: number;
  readonly deadLetters: number;
  /** The scan reached its end; false when the signal came first, when rows may be on no page, or too few came. */
  readonly complete: boolean;
}

/** How long a page that was read waits for the next page, while a scan catches up, to share its transaction. */
const LINGER_MS = 200;

/** The regular poll of a feed. */
export function pollFeed(deps: PollDeps, wide: boolean, signal: AbortSignal): Promise<PollResult> {
  const { name } = deps.feed;
  const options = () => ({ attributes: { 'highwater.feed': name, 'highwater.wide': wide }, parent: null });
  return traced(`poll ${name}`, options, async (span) => {
    const result = await poll(deps, pollRound(deps, wide), signal);
    for (const [what, value] of Object.entries(result)) span?.setAttribute(`highwater.${what}`, value);
    return result;
  });
}

/**
 * One round of one feed. A page's events, images, dead letters and source offset commit together or not at all, perhaps together
 * with the next pages. The state moves only then. The signal ends the poll after the page that is under way.
 *
 * @param round says which pages are read
 */
export async function poll(deps: PollDeps, round: Round, signal: AbortSignal): Promise<PollResult> {
  const { feed, state, witnesses } = deps;
  const result = { pages: 0, rows: 0, changes: 0, deadLetters: 0, complete: false };
  const committed = (page: BatchPage) => {
    count(page, result);
    deps.firstSights.noteChanges(page.changes.polledUpdated, page.observedAtMs);
    noteCommitted(page, deps);
    deps.onPage?.({ ...page, feed, state });
  };
  const batch = round.onRehearsed ? rehearsedBatch(state, round.onRehearsed) : openBatch(deps, committed);
  const doubts = new Doubts(deps, signal);

  try {
    for await (const ahead of oneAhead(round.pages, signal, round.readsAhead)) {
      const page = ahead.value;
      const pending = batch.begin();
      const decoded = deps.decode(page.rows);
      pending.moveOffset(round.position(pending.offset, page, decoded));

      const { records } = decoded;
      const changes = new PageChanges(deps, pending, page.observedAtMs, round.origin(page), records);
      await inSlices(records, (record) => changes.compare(record, false));
      if (changes.doubtful.length > 0) {
        await batch.commit(); // pages before this one do not wait for a second read
        for (const record of await doubts.confirmed(changes.doubtful, page, pending))
          changes.compare(record, true);
      }
      doubts.endPage(changes.outdated);
      batch.add(page, changes.news(decoded), pending);
      for (const witness of witnesses) witness(page.rows, page.progress);

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
    await batch.commit(); // the pages that were read before something failed
  }
  if (round.end?.() === false) result.complete = false;
  return result;
}

function count(page: BatchPage, result: { -readonly [field in keyof PollResult]: PollResult[field] }): void {
  result.pages++;
  result.rows += page.rows;
  result.changes += page.changes.count;
  result.deadLetters += page.letters.length;
  result.complete = page.progress.complete && !page.progress.repeats;
}

/** Counts the unknown members that are published now, and warns of changes that were too large for the log. */
export function noteCommitted(
  { changes, letters }: Pick<BatchPage, 'changes' | 'letters'>,
  { feed, drift, codec, logger }: PollDeps,
): void {
  for (const extra of changes.extras) drift.note(extra, codec.schemas.record);
  for (const { id, reason, bytes } of letters) {
    if (id === undefined) continue;
    // The id itself may be too large.
    const name = id.slice(0, 80).toWellFormed();
    const message = `Record ${name} of feed ${feed.name} is not published, but kept as a dead letter: ${reason}.`;
    logger.warn(message, { feed: feed.name, id: name, bytes });
  }
}
