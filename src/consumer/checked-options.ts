import { HighwaterError } from '../errors';
import type { ConsumeOptions } from './options';

/** Letters of a topic of Kafka, which the dead letters of the group are to have. */
const TOPIC_LETTERS = /^[\w.-]+$/;

/**
 * Refuses options that TypeScript takes, and with which a consumer would wait for nothing, or fail at its first dead letter.
 * @param feeds names of feeds, whose own dead letters are in `<feed>.dead-letters`
 * @throws HighwaterError CONFIG_INVALID
 */
export function checkConsume(
  { group, topics, onFailure, maxBatch = 1 }: ConsumeOptions & { readonly maxBatch?: number },
  feeds: readonly string[],
): void {
  if (!group) throw refused('consume: group: a name is needed');
  if (topics.length === 0) throw refused('consume: topics: at least one is needed');
  if (!(Number.isInteger(maxBatch) && maxBatch > 0))
    throw refused(`consumeBatches: maxBatch: ${maxBatch} is not a number of events`);
  if (onFailure !== 'dead-letter') return;
  if (!TOPIC_LETTERS.test(group) || feeds.includes(group)) {
    const why = feeds.includes(group) ? 'is that of a feed' : 'cannot be the name of a topic';
    throw refused(`consume: group ${group}: ${group}.dead-letters, where failed events would go, ${why}`);
  }
}

function refused(what: string): HighwaterError {
  return new HighwaterError('CONFIG_INVALID', what, {
    remedy: 'Correct the options named above in the program.',
  });
}
