import type { Broker } from '../connection/cluster';
import { AnswerReader, flexibleBody, NO_TAGS, sendFlexible, speaks, writeArray } from './answer-reader';

/** https://kafka.apache.org/protocol#The_Messages_DescribeTransactions, of Kafka 3.0 */
const [DESCRIBE_TRANSACTIONS, VERSION] = [65, 0];

/**
 * When the open transaction of an id began, by the clock of its coordinator, in ms since 1970.
 * @returns null: none is open, it may not be seen, or the broker is older
 * @throws errors of kafkajs
 */
export async function transactionStart(coordinator: Broker, transactionalId: string): Promise<number | null> {
  if (!speaks(coordinator, DESCRIBE_TRANSACTIONS, VERSION)) return null;
  return sendFlexible(coordinator, {
    request: {
      apiKey: DESCRIBE_TRANSACTIONS,
      apiName: 'DescribeTransactions',
      apiVersion: VERSION,
      encode: async () => {
        const body = flexibleBody();
        writeArray(body, [transactionalId], (id) => body.writeUVarIntString(id));
        return body.writeUVarInt(NO_TAGS);
      },
    },
    response: {
      decode: async (payload) => decodeStart(payload),
      parse: async (decoded) => (decoded as ReturnType<typeof decodeStart>).start,
    },
  });
}

/** Reads no further than the start of the first transaction. */
function decodeStart(payload: Buffer): { clientSideThrottleTime: number; start: number | null } {
  const reader = new AnswerReader(payload);
  reader.skipTags();
  const clientSideThrottleTime = reader.int32();
  const described = reader.compactLength();
  const error = described === 0 ? null : reader.int16();
  if (error !== 0) return { clientSideThrottleTime, start: null };
  const [_id, _state] = [reader.compactText(), reader.compactText()];
  reader.skip(4);
  const start = Number(reader.int64());
  return { clientSideThrottleTime, start: start < 0 ? null : start };
}
