import type { TopicPartition } from 'kafkajs';
import type { HighwaterError } from '../../../../errors';
import type { LogRecord } from '../../../commit-log';
import { abortCommand } from '../../connection/admin-commands';
import { drop, type ProducerIdentity, partitionName } from '../../connection/cluster';
import { brokersFailed, isRefusedProducer } from '../../connection/kafka-failure';
import { persistently } from '../../connection/persistently';
import {
  type TransactionalProducer,
  TransactionCoordinator,
  transactionTimeout,
} from '../../producer/producer';
import { type OffsetRange, partitionOffsets } from '../../reader/offsets';
import { committedRecords } from '../../reader/restore';
import {
  type CommitMark,
  changeOf,
  committedThrough,
  type FeedLog,
  isWithin,
  type OwnTransaction,
  openOfOthers,
  ownTransactions,
} from './committed-through';

/**
 * Connects the producer of a feed and leaves no transaction of its predecessors open in a partition. Brokers can complete a
 * transaction and leave out its marker in a partition that has no leader at that moment (KAFKA-20734). The transaction then hangs
 * there. The next marker of the same producer id would decide it, against the decision of the other partitions. Two requests a
 * broker, before and after InitProducerId, nearly always show that none hangs. `docs/decisions/0011`.
 * @param connect InitProducerId: resolves with the latest producer of the id
 * @param acknowledged the last transaction that this process knows to be committed; null: it knows none
 * @returns `lost`: records of a committed transaction that were aborted where its marker was missing. They must be written before
 * anything else
 * @throws HighwaterError KAFKA_*, LOG_*; what kafkajs throws; the signal's reason
 */
export async function connectToWholeLog(
  deps: FeedLog,
  connect: () => Promise<TransactionalProducer>,
  acknowledged: CommitMark | null,
): Promise<{ readonly producer: TransactionalProducer; readonly lost: readonly LogRecord[] }> {
  const before = await look(deps, LOOK_MS);
  const producer = await connect();
  try {
    const after = await look(deps, LOOK_MS);
    if (before.open.size === 0 && after.open.size === 0) return { producer, lost: [] };
    drop(producer);
    const lost = await endHanging(deps, before, acknowledged);
    return { producer: await connect(), lost };
  } catch (error) {
    drop(producer);
    throw error;
  }
}

/** The partitions with an open transaction of any program, and the ends of all partitions. By `topic/partition`. */
interface Look {
  /** Begins at the first record that readers are not shown. */
  readonly open: ReadonlyMap<string, OffsetRange>;
  readonly ends: ReadonlyMap<string, bigint>;
}

async function look(deps: FeedLog, forMs: number): Promise<Look> {
  const topics = [...deps.partitions.keys()];
  const asking = () =>
    Promise.all([
      partitionOffsets(deps.cluster, topics, 'end'),
      partitionOffsets(deps.cluster, topics, 'written'),
    ]);
  const [stable, written] = await lookFor(deps, asking, forMs);
  const ends = new Map(written.map((position) => [partitionName(position), position.next]));
  const open = new Map<string, OffsetRange>();
  for (const position of stable) {
    const { topic, partition, next: first } = position;
    const end = ends.get(partitionName(position)) ?? first;
    if (end > first) open.set(partitionName(position), { topic, partition, first, end });
  }
  return { open, ends };
}

/** @returns records that were committed and are lost */
async function endHanging(deps: FeedLog, before: Look, acknowledged: CommitMark | null) {
  const { cluster, topics, transactionalId } = deps;
  const isOffset = ({ topic }: LogRecord) => topic === topics.sourceOffset.name;
  const coordinator = new TransactionCoordinator(cluster, transactionalId);
  const noted = new Map(before.open);
  let mark: CommitMark | null | undefined;
  for (let tries = 0; ; tries++) {
    // After its answer the brokers end nothing of this id any more: a transaction that is open now stays open.
    const identity = await patiently(deps, () => coordinator.init(transactionTimeout));
    const now = await look(deps, END_MS);
    if (tries === 0) await warnOfOthers(deps, now, identity);
    for (const [name, tail] of now.open) if (!noted.has(name)) noted.set(name, tail);
    const unsettled = await lookFor(deps, async () => {
      const reading = [...noted].map(([name, tail]) => {
        const whole = { ...tail, end: now.ends.get(name) ?? tail.end };
        // Transactions that ended before the first look do not matter.
        return ownTransactions(cluster, whole, identity.producerId, before.ends.get(name) ?? tail.end);
      });
      return (await Promise.all(reading)).flat();
    });
    if (!unsettled.some(({ marker }) => marker?.commits !== true)) return [];
    // Settled once: the markers that are written below must not change it.
    mark ??= await lookFor(deps, () => committedThrough(deps, unsettled, acknowledged));
    const through = mark;
    const isCommitted = (record: LogRecord) => isWithin(record, through, isOffset(record));

    const open = unsettled.filter(({ marker }) => marker === null);
    if (open.length === 0) {
      const lost = unsettled
        .filter(({ marker }) => marker?.commits === false)
        .flatMap(({ records }) => records.filter(isCommitted));
      // A guess by time is good enough to end a transaction that must be ended, but not to write records again.
      const isKnown = lost.some(
        (record) => isOffset(record) || changeOf(record)?.incarnation === through?.incarnation,
      );
      if (!isKnown || (await wentOn(deps, before, now))) return [];
      warnOfLost(deps, lost);
      return lost;
    }
    if (tries >= TRIES) throw stillOpen(open);
    // If a committed transaction hangs together with the next one, which is not, both are aborted, and the first is written again.
    const committed = open.filter(({ records }) => records.length > 0 && records.every(isCommitted));
    const aborted = open.filter((one) => !committed.includes(one));
    warnOfHanging(deps, committed, aborted);
    await writeMarkers(committed, true);
    await writeMarkers(aborted, false);

    /** By a transaction without records. It ends every open transaction of the same producer id there, also of earlier epochs. */
    async function writeMarkers(places: readonly TopicPartition[], commits: boolean): Promise<void> {
      if (places.length === 0) return;
      await patiently(deps, () => coordinator.add(identity, places));
      // If the answer is lost, the same request gets the same answer again.
      await patiently(deps, () => coordinator.end(identity, commits));
    }
  }
}

/** Whether an owner wrote on between the first look and the end of its ownership. Then that owner aborted, and knew why. */
async function wentOn({ cluster, topics, signal }: FeedLog, before: Look, now: Look): Promise<boolean> {
  const place = { topic: topics.sourceOffset.name, partition: 0 };
  const next = before.ends.get(partitionName(place)) ?? 0n;
  const end = now.ends.get(partitionName(place)) ?? next;
  const stable = now.open.get(partitionName(place))?.first ?? end;
  return (await committedRecords(cluster, { ...place, next, end: stable }, signal)).length > 0;
}

function warnOfHanging(
  { logger, topics: { feed } }: FeedLog,
  committed: readonly OwnTransaction[],
  aborted: readonly OwnTransaction[],
): void {
  logger.warn(
    `the brokers left a transaction of feed ${feed} open in ${committed.length + aborted.length} partitions (KAFKA-20734); it is ended as the rest of it was`,
    {
      feed,
      ...(committed.length > 0 && { committed: committed.map(placeText).join(', ') }),
      ...(aborted.length > 0 && { aborted: aborted.map(placeText).join(', ') }),
    },
  );
}

function warnOfLost({ logger, topics: { feed } }: FeedLog, lost: readonly LogRecord[]): void {
  logger.warn(
    `the brokers left a committed transaction of feed ${feed} open and then aborted it in part (KAFKA-20734); the missing records are written again`,
    { feed, records: lost.length, partitions: [...new Set(lost.map(partitionName))].join(', ') },
  );
}

/** The coordinator does not let this feed end transactions of others, so a person must. */
async function warnOfOthers(deps: FeedLog, { open }: Look, { producerId }: ProducerIdentity): Promise<void> {
  const { cluster, logger, target } = deps;
  const { feed } = deps.topics;
  for (const tail of open.values()) {
    const offsets = await lookFor(deps, () => openOfOthers(cluster, tail, producerId));
    for (const offset of offsets)
      logger.warn(
        `a transaction that feed ${feed} cannot end is open in ${partitionName(tail)} from offset ${offset} on; it is of another program, or of a producer id that the brokers have replaced since. Committed readers stand still there; the feed is published all the same. If it stays open, end it: ${abortCommand(target, tail, offset)}`,
        { feed },
      );
  }
}

function stillOpen(open: readonly OwnTransaction[]): HighwaterError {
  const where = open.map(placeText).join(', ');
  return brokersFailed(`transactions stay open although they were ended: ${where}`);
}

function placeText(one: OwnTransaction): string {
  return `${partitionName(one)} from offset ${one.firstOffset} to ${one.lastOffset}`;
}

/**
 * Asks a coordinator that moves, loads, or still ends an earlier transaction.
 * @throws the refusal of a producer that is not the latest, as kafkajs throws it; HighwaterError KAFKA_*, LOG_FAILED; the signal's reason
 */
async function patiently<T>({ cluster, transactionalId, signal }: FeedLog, ask: () => Promise<T>) {
  const doing = `ending transactions of ${transactionalId}`;
  const tried = async () => {
    try {
      return { given: await ask() };
    } catch (refusal) {
      // To ask again changes nothing.
      if (isRefusedProducer(refusal)) return { refusal };
      throw refusal;
    }
  };
  const answer = await persistently(tried, { cluster, doing, forMs: END_MS, signal });
  if ('refusal' in answer) throw answer.refusal;
  return answer.given;
}

/** The outage that makes transactions hang also moves leaders. */
function lookFor<T>({ cluster, topics: { feed }, signal }: FeedLog, work: () => Promise<T>, forMs = END_MS) {
  const doing = `looking for open transactions of feed ${feed}`;
  return persistently(work, { cluster, doing, forMs, signal });
}

/** The caller tries again by itself. In ms. */
const LOOK_MS = 2_000;
/** Only this process knows which records it aborted, until it has written them again: so it is patient. In ms. */
const END_MS = 15_000;
/** How often markers are written, since brokers may leave them out again. */
const TRIES = 5;
