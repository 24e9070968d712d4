import { codecForImages, createFeedCodec } from '../avro/codec/feed-codec';
import { recordShape } from '../avro/record-shape';
import type { Feed } from '../feeds/feed';
import type { CommitLog, FeedSession } from '../log/commit-log';
import type { Grant } from '../log/membership';
import { EarlierContents } from '../pipeline/changes/earlier-contents';
import { FirstSights } from '../pipeline/changes/first-sights';
import { createImages } from '../pipeline/changes/images';
import type { PollDeps } from '../pipeline/poll';
import { createDecoder } from '../pipeline/records/decode';
import { createDrift, type Drift } from '../pipeline/records/drift';
import { Encoder } from '../pipeline/transaction/encode';
import { type Source, sourceReading } from '../source/source';
import { feedState, type RestoredState } from '../state/feed-state';
import { type RestoreDeps, restore } from '../state/restore';
import { createRowReader } from '../transcoder/transcoder';
import { noteTopics } from './note-topics';

type OfPoll = 'appId' | 'instance' | 'onPage' | 'onTouch' | 'onOtherChanges' | 'pause';
type OfRestore = 'registry' | 'logger' | 'topics' | 'scope' | 'stateDir' | 'onRestore';

export interface OwnedFeedDeps extends Pick<PollDeps, OfPoll>, Pick<RestoreDeps, OfRestore> {
  readonly log: CommitLog;
  readonly source: Source;
  readonly patientSource?: Source;
  /** Drift of the feed in this process, over all its ownerships; if left out, only over this ownership. */
  readonly drift?: Drift;
  /** This process has just said that a topic of the feed was lost. */
  readonly isLossTold?: boolean;
}

/** A feed that this process owns: its session, its restored state, and all that a poll needs. */
export interface OwnedFeed {
  readonly session: FeedSession;
  readonly deps: PollDeps;
  /** Ends the state, and lets others have the feed. May be called again. */
  release(): Promise<void>;
  /** Releases the feed, and resolves when its images are kept. The next owner need not wait for that. */
  close(): Promise<void>;
}

/**
 * Fences the previous owner, then reads the state back. The order matters, because only a fenced state no longer changes. A
 * registry apart from the log is asked first: an instance that cannot encode must not take the feed from an owner that can.
 *
 * @throws HighwaterError LOG_OWNED, SCHEMA_INCOMPATIBLE, STATE_DAMAGED, KAFKA_*, REGISTRY_*
 */
export async function acquireFeed(
  feed: Feed,
  deps: OwnedFeedDeps,
  signal: AbortSignal,
  grant?: Grant,
): Promise<OwnedFeed> {
  const { topics, registry } = deps;
  const prepared = registry.isPartOfLog ? null : await createFeedCodec(feed, topics, registry);
  const session = await deps.log.acquire(topics, signal, grant);
  let restored: RestoredState | null = null;
  try {
    const own = prepared ?? (await createFeedCodec(feed, topics, registry));
    const decoder = createImages(feed, own.schemas.record, own.image);
    restored = await restore({ ...deps, feed, session, codec: own, decoder, signal });
    const writers = restored.images.writers.keys();
    const codec = await codecForImages(feed, topics, registry, own, writers, deps.logger);
    // Groups that were kept were read from the images by the feed's own schema.
    if (codec !== own) restored.groups.clear();
    const { record } = codec.schemas;
    const images = codec === own ? decoder : createImages(feed, record, codec.image);
    const state = await feedState(feed, images, restored);
    let closed: Promise<void> | null = null;
    const release = async (): Promise<void> => {
      const topic = topics.current.name;
      const end = session.endOf(topic);
      const keep = end === null ? null : { topic, end, schemaId: codec.image.schemaId };
      await session.release().finally(() => {
        closed ??= state.close(keep);
      });
    };
    const decode = createDecoder(feed, recordShape(record));
    const readRows = createRowReader(feed, record, codec.image);
    const patientSource = deps.patientSource ?? deps.source;
    const pollDeps: PollDeps = {
      ...deps,
      feed,
      source: sourceReading(deps.source, readRows),
      patientSource: sourceReading(patientSource, readRows),
      session,
      state,
      codec,
      decode,
      images,
      earlier: new EarlierContents(),
      firstSights: new FirstSights(feed.updatedField === null ? state.offset.ts_ms : 0),
      encoder: new Encoder(feed, topics, codec),
      drift: deps.drift ?? createDrift(feed, deps.logger),
      witnesses: new Set(),
    };
    await noteTopics(pollDeps, deps.isLossTold ?? false);
    return { session, release, close: () => release().finally(() => closed), deps: pollDeps };
  } catch (error) {
    // The first error has the reason.
    restored?.images.close();
    await session.release().catch(() => {});
    throw error;
  }
}
