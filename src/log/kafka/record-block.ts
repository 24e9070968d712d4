import { CompressionTypes, type Message } from 'kafkajs';
import type { Logger } from '../../logger';
import type { ProducerRecord } from '../commit-log';
import { recordBytes } from '../record-bytes';
import { type EncodedRecords, RecordsEncoder } from './record-format';

/**
 * Records of one send, handed to kafkajs as the bytes that it would make of them. kafkajs makes an object with a buffer of its
 * own of each record, each header and each number, which costs more than all else that is done about a record; here a record
 * is written once. What is left to kafkajs is what it does for a request as a whole: the header of each batch, compression,
 * checksum, the connection.
 *
 * kafkajs sees an array of messages. It takes from it what `map` answers, and nothing else; that was read in its source, is checked
 * byte for byte once a process (`blocksAreTaken`), and holds for the version that package.json names. A send that is tried again
 * encodes the same object again: a block never changes.
 */
class RecordBlock extends Array<Message> {
  /** What is derived from it is no block. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  constructor(private readonly encoded: EncodedRecords) {
    super();
    // Sequence numbers and the offset of the last record are counted by it.
    this.length = encoded.count;
  }

  /** Asked for the timestamps, of which the least and the greatest are used, and for the encoded records. */
  override map(): never {
    return new Records(this.encoded) as never;
  }
}

/** All of them at the first place. The other places are empty: `every`, `some` and `forEach` pass over them. */
class Records extends Array<{ readonly buf: Buffer; readonly buffer: Buffer }> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  constructor(private readonly encoded: EncodedRecords) {
    super();
    this.length = encoded.count;
    this[0] = { buf: encoded.bytes, buffer: encoded.bytes };
  }

  /** Asked for those timestamps that there are. */
  override filter(): never {
    return [String(this.encoded.firstTimestamp), String(this.encoded.maxTimestamp)] as never;
  }
}

/** The messages of one send to one partition, record by record. */
export interface Send {
  /** @returns false, and nothing is done, where another send has to begin */
  add(record: ProducerRecord): boolean;
  /** Nothing can be added any more. */
  finish(): Message[];
}

/** How kafkajs is given records. @param maxBytes which a send stays below, unless it has a single record */
export type NewSend = (partition: number, maxBytes: number) => Send;

/** More take too much memory at a time. */
const MESSAGES_PER_SEND = 1_000;

/** Beside key, value and headers: lengths, deltas, and the record's share of the batch header. */
const RECORD_OVERHEAD_BYTES = 96;

/** Record by record: what any kafkajs takes, at a third of the speed. */
export const asMessages: NewSend = (partition, maxBytes) => {
  const messages: Message[] = [];
  let bytes = 0;
  return {
    add(record) {
      const { key, value, headers, timestamp } = record;
      const more = recordBytes(record) + RECORD_OVERHEAD_BYTES;
      if (messages.length > 0 && (messages.length >= MESSAGES_PER_SEND || bytes + more > maxBytes))
        return false;
      bytes += more;
      messages.push({ ...{ key, value, headers, partition }, timestamp: String(timestamp) });
      return true;
    },
    finish: () => messages,
  };
};

/** Below the limit by what the batch has beside its records. */
const BATCH_HEADER_BYTES = 128;

export const asBlock: NewSend = (_partition, maxBytes) => {
  const encoder = new RecordsEncoder();
  return {
    add: (record) => encoder.add(record, maxBytes - BATCH_HEADER_BYTES),
    finish: () => new RecordBlock(encoder.finish()),
  };
};

/** How kafkajs makes a produce request inside; not part of its published types. */
export type ProduceRequestEncoder = (of: object) => { encode(): Promise<{ readonly buffer: Buffer }> };

const installed = (): ProduceRequestEncoder => require('kafkajs/src/protocol/requests/produce/v3/request');

let checked: Promise<NewSend> | null = null;

/** Blocks where kafkajs takes them as it should, else messages, which is said once. Checked once a process. */
export function usableSends(logger: Logger): Promise<NewSend> {
  checked ??= blocksAreTaken().then((taken) => {
    if (taken) return asBlock;
    logger.warn(
      'The installed kafkajs encodes records otherwise than the version that highwater asks for: they are handed over one by one, ' +
        'which is several times slower. Install the version that highwater asks for.',
    );
    return asMessages;
  });
  return checked;
}

/** Whether a produce request with a block is byte for byte the one with its messages. */
export async function blocksAreTaken(kafkajs: () => ProduceRequestEncoder = installed): Promise<boolean> {
  try {
    const produceRequest = kafkajs();
    const partition = 2;
    const request = async (newSend: NewSend): Promise<Buffer> => {
      const send = newSend(partition, Number.POSITIVE_INFINITY);
      for (const record of samples) send.add(record);
      const messages = send.finish();
      const { buffer } = await produceRequest({
        ...{ acks: -1, timeout: 30_000, transactionalId: 'check', producerId: '7', producerEpoch: 3 },
        compression: CompressionTypes.None,
        topicData: [{ topic: 'check', partitions: [{ partition, firstSequence: 5, messages }] }],
      }).encode();
      return Buffer.concat([Buffer.from([messages.length]), buffer]);
    };
    const [block, messages] = await Promise.all([request(asBlock), request(asMessages)]);
    return block.equals(messages);
  } catch {
    return false;
  }
}

/** Of every kind: with and without headers and value, empty, beyond ASCII, short and long, in the order of their time but for the last. */
const samples: readonly ProducerRecord[] = [
  {
    key: 'key',
    value: Buffer.alloc(700, 'value'),
    headers: { op: 'c', ce_id: 'ipos:1:1' },
    timestamp: 1_760_000_000_000,
  },
  { key: '', value: null, headers: {}, timestamp: 1_760_000_000_007 },
  {
    key: 'Söhne 株 👍',
    value: Buffer.alloc(0),
    headers: { symbol: '株', none: '', name: 'Zoë' },
    timestamp: 1_760_000_001_000,
  },
  { key: 'k'.repeat(100), value: Buffer.alloc(9_000, 1), headers: {}, timestamp: 1_760_000_000_500 },
].map((record) => ({ topic: 'check', ...record }));
