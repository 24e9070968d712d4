import { z } from 'zod';
import { HighwaterError } from '../errors';

/** TypeScript has seen this already. In a program without it a slip would be a consumer that waits for nothing, or never gives up. */

const text = z.string().min(1);
const texts = z.array(text);
const signal = z.custom<AbortSignal>(
  (value) => typeof (value as AbortSignal | null)?.addEventListener === 'function',
  'expected an AbortSignal',
);
const callback = z.custom((value) => typeof value === 'function', 'expected a function');
/** Numbers may be infinite here. */
const atLeast = (least: number) =>
  z.custom<number>(
    (value) => typeof value === 'number' && value >= least,
    `expected a number of at least ${least}`,
  );

const from = z.enum(['beginning', 'end']).optional();
const where = z
  .strictObject({
    op: z.array(z.enum(['c', 'u', 'd', 'r'])),
    symbol: texts,
    changedFields: texts,
    eventType: texts,
    key: z.array(z.string()),
  })
  .partial()
  .optional();
const retry = z
  .strictObject({ attempts: atLeast(1), delayMs: atLeast(0), maxDelayMs: atLeast(0), isRetriable: callback })
  .partial()
  .optional();
const groupOptions = {
  group: text,
  topics: texts.min(1),
  from: z.enum(['beginning', 'end', 'stored-or-fail']).optional(),
  onLost: z.enum(['stop', 'continue']).optional(),
  where,
  retry,
  signal: signal.optional(),
  positions: z.looseObject({ load: callback }).optional(),
  commitEveryMs: atLeast(0).optional(),
  sessionTimeoutMs: z.int().positive().optional(),
};
const eventOptions = z.strictObject({
  ...groupOptions,
  onFailure: z.enum(['stop', 'dead-letter']).optional(),
});
const batchOptions = z.strictObject({ ...groupOptions, maxBatch: z.int().positive().optional() });
const readOptions = z.strictObject({
  from,
  where,
  follow: z.boolean().optional(),
  signal: signal.optional(),
});

/** Letters of a topic of Kafka, which the dead letters of the group are to have. */
const TOPIC_LETTERS = /^[\w.-]+$/;

/**
 * @param feeds names of feeds, whose own dead letters are in `<feed>.dead-letters`
 * @throws HighwaterError CONFIG_INVALID
 */
export function checkConsume(options: unknown, handler: unknown, feeds: readonly string[]): void {
  const { group, onFailure } = checked('consume', eventOptions, options);
  checked('the handler of consume', callback, handler);
  if (onFailure !== 'dead-letter') return;
  if (!TOPIC_LETTERS.test(group) || feeds.includes(group)) {
    const why = feeds.includes(group) ? 'is that of a feed' : 'cannot be the name of a topic';
    refuse(`consume: group ${group}: ${group}.dead-letters, where failed events would go, ${why}`);
  }
}

/** @throws HighwaterError CONFIG_INVALID */
export function checkBatches(options: unknown, handler: unknown): void {
  checked('consumeBatches', batchOptions, options);
  checked('the handler of consumeBatches', callback, handler);
}

/** @throws HighwaterError CONFIG_INVALID */
export function checkRead(topic: unknown, options: unknown): void {
  checked('the topic of read', text, topic);
  checked('read', readOptions, options);
}

function checked<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const mistakes = error.issues.map(({ path, message }) => [...path.map(String), message].join(': '));
  return refuse(`${what}: ${mistakes.join('; ')}`);
}

function refuse(what: string): never {
  throw new HighwaterError('CONFIG_INVALID', what, {
    remedy: 'Correct the options named above in the program.',
  });
}
