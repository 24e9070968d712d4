import type { ConsumerLog } from '../log/consumer-log';
import { type Delivery, groupOf } from './delivery';
import { isForgotten } from './first-start';

/**
 * How a delivery stands, by what the log says, wherever it runs: the same for `status`, metrics and the dashboard. It is the contract
 * of `status --json`, with these members in this order.
 */
export interface DeliveryStatus {
  readonly delivery: string;
  /** Events that it has not looked at yet; null: it has never run. */
  readonly lag: number | null;
  /** The last failure, until an event is delivered, or events that are gone; null: nothing. */
  readonly waits_for: string | null;
  /** Kept dead letters. */
  readonly dead_letters: number;
}

/** How a delivery that cannot go on where it stopped goes on. @param group of the delivery */
export const resetRemedy = (group: string): string =>
  `\`highwater groups reset ${group} --to beginning\` goes on with the first event that is kept`;

/** @throws HighwaterError KAFKA_*, LOG_*; the signal's reason */
export async function deliveryStatus(
  deliveries: readonly Pick<Delivery, 'name' | 'topics' | 'from'>[],
  { log, topicPrefix }: { readonly log: Pick<ConsumerLog, 'groups' | 'ends'>; readonly topicPrefix: string },
  signal: AbortSignal,
): Promise<readonly DeliveryStatus[]> {
  if (deliveries.length === 0) return [];
  const lettersOf = (delivery: Pick<Delivery, 'name'>) => `${topicPrefix}${groupOf(delivery)}.dead-letters`;
  /** Before the groups, as `isForgotten` needs it. */
  const letters = new Map(
    await Promise.all(
      deliveries.map(
        async (delivery) =>
          [delivery.name, (await log.ends(lettersOf(delivery), 'reachable', signal)).ends] as const,
      ),
    ),
  );
  const groups = await log.groups(`${topicPrefix}${groupOf({ name: '' })}`, signal);
  return Promise.all(
    deliveries.map(async (delivery) => {
      const group = `${topicPrefix}${groupOf(delivery)}`;
      const read = delivery.topics.map((name) => `${topicPrefix}${name}`);
      const stored = groups.find(({ groupId }) => groupId === group)?.places ?? [];
      // It may have had other topics before.
      const places = stored.filter(({ topic }) => read.includes(topic));
      const reached = new Map(places.map(({ topic, partition, next }) => [`${topic} ${partition}`, next]));
      let lag = 0;
      let lost: string | null = null;
      for (const topic of read) {
        const { ends: first } = await log.ends(topic, 'beginning', signal);
        for (const [partition, end] of (await log.ends(topic, 'reachable', signal)).ends) {
          const next = reached.get(`${topic} ${partition}`);
          lag += Math.max(0, (end ?? 0) - (next ?? 0));
          if (next !== undefined && next < (first.get(partition) ?? 0))
            lost ??= `events of ${topic}, partition ${partition}, that were removed before they were delivered; ${resetRemedy(groupOf(delivery))}`;
        }
      }
      const kept = letters.get(delivery.name)!;
      const isLost = delivery.from === 'end' && isForgotten(group, kept.size > 0, groups);
      if (isLost) lost = `its position, which the log does not show; ${resetRemedy(groupOf(delivery))}`;
      return {
        delivery: delivery.name,
        lag: places.length === 0 && !isLost ? null : lag,
        waits_for: lost ?? places.map(({ note }) => note ?? '').find((note) => note !== '') ?? null,
        dead_letters: await keptIn(lettersOf(delivery), kept),
      };
    }),
  );

  async function keptIn(topic: string, ends: ReadonlyMap<number, number | null>): Promise<number> {
    if (ends.size === 0) return 0;
    const { ends: first } = await log.ends(topic, 'beginning', signal);
    return [...ends].reduce((sum, [partition, end]) => sum + (end ?? 0) - (first.get(partition) ?? 0), 0);
  }
}
