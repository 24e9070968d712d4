import { createFeedCodec, type FeedCodec } from '../../src/avro/codec/feed-codec';
import { recordShape } from '../../src/avro/record-shape';
import type { Feed } from '../../src/feeds/feed';
import { feedTopics } from '../../src/log/topics';
import { EarlierContents } from '../../src/pipeline/changes/earlier-contents';
import { FirstSights } from '../../src/pipeline/changes/first-sights';
import { createImages } from '../../src/pipeline/changes/images';
import { type ChangeDeps, PageChanges } from '../../src/pipeline/changes/page-changes';
import { createDecoder } from '../../src/pipeline/records/decode';
import { type FeedState, feedState } from '../../src/state/feed-state';
import { type ImageStore, imageStore } from '../../src/state/image-store';
import { firstSourceOffset, type SourceOffset } from '../../src/state/source-offset';
import { createRowReader } from '../../src/transcoder/transcoder';
import type { ChangeEvents, RecordValues, TooLarge } from '../../src/types';
import { bodyOf } from './body';
import { memoryRegistry } from './registry';

/** The pure middle of the pipeline with a state that starts empty: rows in, events out. */
export interface TestPipeline {
  readonly codec: FeedCodec;
  readonly changeDeps: ChangeDeps;
  state: FeedState;
  /** Rows as a source gives them: plain rows are `EncodedRecord`. */
  read(rows: readonly unknown[]): readonly unknown[];
  decode(rows: readonly unknown[]): ReturnType<ReturnType<typeof createDecoder>>;
  /** One page: decoded, compared, numbered, and settled as if it had been committed. */
  page(rows: readonly unknown[], options?: PageOptions): ChangeEvents[];
  /** The state after a restart: the images and the offset. */
  restart(): Promise<void>;
  /** An event's `before` and `after` as a consumer decodes them. */
  images(event: ChangeEvents): { before: RecordValues | null; after: RecordValues | null };
}

export interface PageOptions {
  readonly snapshot?: boolean;
  /** The largest record that the log takes: any, if it is not given. */
  readonly maxBytes?: number;
  /** How large the records of an event are going to be. */
  readonly bytesOf?: (event: ChangeEvents) => number;
  /** Changes that are larger are put there. */
  readonly tooLarge?: TooLarge[];
}

export const OBSERVED_AT_MS = 1_790_000_000_000;

/** A store of its own over these images. */
function stored(images: ReadonlyMap<string, Buffer>, { snapshot_seq }: SourceOffset): ImageStore {
  const store = imageStore();
  for (const [id, wire] of images) store.set(id, wire, { isUnshown: snapshot_seq > 0 });
  return store;
}

export async function testPipeline(feed: Feed): Promise<TestPipeline> {
  const topics = feedTopics(feed, '');
  const codec = await createFeedCodec(feed, topics, memoryRegistry());
  const decode = createDecoder(feed, recordShape(codec.schemas.record));
  const readRows = createRowReader(feed, codec.schemas.record, codec.image);
  const read = (rows: readonly unknown[]) =>
    readRows?.(bodyOf(JSON.stringify({ [feed.responseKey]: rows })), () => true, Infinity) ?? rows;
  const decoder = createImages(feed, codec.schemas.record, codec.image);
  const images = new Map<string, Buffer>();
  const ids = new Set<string>();
  const restored = (offset = firstSourceOffset(feed.name, 'abcd1234', 'scope')) =>
    feedState(feed, decoder, {
      offset,
      images: stored(images, offset),
      groups: new Map(),
      deadLetters: new Set(),
      partitionCounts: new Array(topics.current.partitions).fill(0),
    });

  const changeDeps: ChangeDeps = {
    feed,
    appId: 'test',
    session: { maxRecordBytes: () => Number.POSITIVE_INFINITY },
    codec,
    images: decoder,
    earlier: new EarlierContents(),
    firstSights: new FirstSights(0),
    encoder: { largestRecordBytes: () => 0 },
  };
  const pipeline: TestPipeline = {
    codec,
    changeDeps,
    state: await restored(),
    read,
    decode,
    page(rows, { snapshot = false, maxBytes = Infinity, bytesOf = () => 0, tooLarge = [] } = {}) {
      const pending = pipeline.state.begin();
      const deps = {
        ...changeDeps,
        session: { maxRecordBytes: () => maxBytes },
        encoder: { largestRecordBytes: bytesOf },
      };
      const changes = new PageChanges(deps, pending, OBSERVED_AT_MS, snapshot ? 'snapshot' : 'poll');
      const decoded = decode(read(rows));
      for (const record of decoded.records) changes.compare(record, true);
      tooLarge.push(...changes.tooLarge);
      const { events } = changes.news(null);
      for (const { change } of events) ids.add(change.id);
      expect(pending.settle()).toBeUndefined(); // with more changes it would not be done yet
      return [...events];
    },
    async restart() {
      images.clear();
      for (const id of ids) {
        const wire = pipeline.state.image(id);
        if (wire !== undefined) images.set(id, wire);
      }
      pipeline.state = await restored(pipeline.state.offset);
    },
    images: ({ change }) => ({
      before: change.before === null ? null : codec.image.decode(change.before).values,
      after: change.after === null ? null : codec.image.decode(change.after).values,
    }),
  };
  return pipeline;
}
