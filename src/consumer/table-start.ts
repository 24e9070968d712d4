import type { FeedTopics, LogRecord } from '../log/commit-log';
import type { ConsumerLog } from '../log/consumer-log';

/** A feed's images, and from where its changes are to be followed so that nothing lies between. */
export type TableStart = Awaited<ReturnType<typeof startTable>>;

/**
 * The order of the questions is what makes it right:
 *
 * 1. Where the committed changes end. All before is committed, so its images were written by then (a transaction's records lie in
 *    their partitions before it is committed), whether or not their partition shows them yet.
 * 2. The images, through all that is written by now, which waits for open transactions: with 1, no change is missed.
 * 3. Which incarnation the feed is in, then where the changes end, then the incarnation again. When it is the same, all before
 *    that end is of this incarnation or an earlier one, and images of another are of an earlier one. Else it begins again.
 */
export async function startTable(
  log: ConsumerLog,
  { changes, current, sourceOffset }: Pick<FeedTopics, 'changes' | 'current' | 'sourceOffset'>,
  signal: AbortSignal,
) {
  for (;;) {
    const { topicId, ends: from } = await log.ends(changes.name, 'committed', signal);
    const images = new Map<string, { record: LogRecord; seq: number }>();
    const lives = new Map<string, string>();
    for await (const record of log.load(current.name, signal, true)) {
      const place = imagePlace(record);
      if (place === null) {
        images.delete(record.key);
        continue;
      }
      images.set(record.key, { record, seq: place.seq });
      lives.set(record.key, place.incarnation);
    }
    const incarnation = await incarnationOf(log, sourceOffset.name, signal);
    const { ends } = await log.ends(changes.name, 'written', signal);
    if (incarnation !== (await incarnationOf(log, sourceOffset.name, signal))) continue;
    for (const [id, life] of lives) if (life !== incarnation) images.delete(id);
    return {
      /** Null while the feed has none. */
      incarnation,
      /** By record id; deleted records too, while the topic still has their tombstones. */
      images,
      /** The topic of the changes that `from` belongs to, as `TopicEnds.topicId`. */
      topicId,
      /** By partition of the changes: offset to go on from. */
      from,
      /** By partition of the changes: no change before this offset is of a later incarnation than `incarnation`. */
      ends,
    };
  }
}

/** The present incarnation of a feed; null if it has none. @throws as load */
export async function incarnationOf(
  log: ConsumerLog,
  topic: string,
  signal: AbortSignal,
): Promise<string | null> {
  let found: string | null = null;
  for await (const { headers } of log.load(topic, signal, true)) found = headers.incarnation ?? found;
  return found;
}

interface ChangePlace {
  readonly incarnation: string;
  readonly seq: number;
}

/** The change that made an image or its tombstone. Null for a reset's tombstones, which no change made. */
function imagePlace({ headers: { incarnation, seq } }: LogRecord): ChangePlace | null {
  return incarnation === undefined || seq === undefined ? null : { incarnation, seq: Number(seq) };
}

/** `ipos:3f2a91c0:802`, but not the longer id of an event that the change caused. */
const EVENT_ID = /^[^:]+:([^:]+):(\d+)$/;

/** The place of a change event, by its id. Null for other events, such as a transition that is routed onto the same topic. */
export function changePlace({ headers }: LogRecord): ChangePlace | null {
  const [, incarnation, seq] = EVENT_ID.exec(headers.ce_id ?? '') ?? [];
  return incarnation === undefined ? null : { incarnation, seq: Number(seq) };
}
