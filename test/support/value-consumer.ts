import type { Decoder } from '../../src/avro/codec/record-decoder';
import { takePart } from '../../src/consumer/handling/consume';
import type { GroupConsumeOptions } from '../../src/consumer/options';
import { refusalsOf } from '../../src/consumer/refusals';
import type { HighwaterError } from '../../src/errors';
import type { ConsumerLog } from '../../src/log/consumer-log';
import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { Rotation } from '../../src/secrets/rotation';
import { plainKafka } from './kafka-world';
import { quietLogger } from './source';

/** @param logger default: says nothing */
export function openConsumerLog(brokers: string, logger = quietLogger()): ConsumerLog {
  return openKafkaConsumerLog({ kafka: plainKafka(brokers), appId: 'test', topicPrefix: '', logger });
}

/** A consumer on Kafka that records the values that it is shown, as they are. */
export interface ValueConsumer {
  readonly seen: readonly string[];
  readonly warnings: readonly string[];
  /** Null while it runs well. */
  failure(): HighwaterError | null;
  /** Resolves when it has ended, also by a failure. */
  readonly ended: Promise<void>;
  /** Ends it and closes its log. */
  stop(): Promise<void>;
}

/** @param handle awaited before a value is done */
export function consumeValues(
  brokers: string,
  options: GroupConsumeOptions,
  handle: (value: string, logOffset: number, topicId: string | null) => unknown = () => null,
): ValueConsumer {
  const logger = quietLogger();
  const log = openConsumerLog(brokers, logger);
  const seen: string[] = [];
  const stop = new AbortController();
  const job =
    () =>
    async (
      records: readonly { value: Buffer | null; logOffset: number }[],
      { topicId, revoked }: { topicId: string | null; revoked: AbortSignal },
      advance: (next: number) => Promise<void>,
    ) => {
      for (const { value, logOffset } of records) {
        if (revoked.aborted) return;
        seen.push(String(value));
        await handle(String(value), logOffset, topicId);
        await advance(logOffset + 1);
      }
    };
  let failure: HighwaterError | null = null;
  const ended = takePart({ ...options, signal: stop.signal }, job, {
    log,
    decoder: {} as Decoder,
    logger,
    topicPrefix: '',
    refusals: refusalsOf(null, new Rotation()),
    closing: new AbortController().signal,
  }).catch((error: HighwaterError) => {
    failure = error;
  });
  return {
    seen,
    warnings: logger.warnings,
    failure: () => failure,
    ended,
    async stop() {
      stop.abort();
      await ended;
      await log.close();
    },
  };
}
