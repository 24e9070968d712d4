import { CompressionTypes } from 'kafkajs';
import type { Logger } from '../../logger';
import type { ProducerRecord } from '../commit-log';
import type { ApiVersion, ProduceRequest } from './cluster';
import { encodeProduce } from './produce-request';
import { asEncoded, asMessages, type NewSend } from './sends';

/** How kafkajs makes a produce request inside; not part of its published types. */
export interface KafkajsProduce {
  readonly versions: readonly string[];
  protocol(of: { readonly version: number | string }): ProduceRequestEncoder;
}

export type ProduceRequestEncoder = (of: object) => {
  readonly request: ApiVersion & { encode(): Promise<{ readonly buffer: Buffer }> };
};

/** How kafkajs makes what goes over the wire of it. */
const frame: (of: object) => Promise<{ readonly buffer: Buffer }> = require('kafkajs/src/protocol/request');

const installed = (): KafkajsProduce => require('kafkajs/src/protocol/requests/produce');

/** From this version on there are transactions. */
const FIRST_VERSION = 3;

let checked: Promise<NewSend> | null = null;

/** Encoded records where that is what kafkajs would send, else messages, which is said once. Checked once a process. */
export function usableSends(logger: Logger): Promise<NewSend> {
  checked ??= isEncodedAlike().then((alike) => {
    if (alike) return asEncoded;
    logger.warn(
      'The installed kafkajs encodes records otherwise than the version that highwater asks for: they are handed over one by one, ' +
        'which is several times slower. Install the version that highwater asks for.',
    );
    return asMessages;
  });
  return checked;
}

/** Whether a produce request of encoded records is byte for byte the one that kafkajs makes of them, in each version that it may pick. */
export async function isEncodedAlike(kafkajs: () => KafkajsProduce = installed): Promise<boolean> {
  try {
    const { versions, protocol } = kafkajs();
    const asked = {
      ...{ acks: -1 as const, timeout: 30_000, compression: CompressionTypes.None },
      ...{ transactionalId: 'check', producerId: '7', producerEpoch: 3 },
    };
    const place = { partition: 2, firstSequence: 5 };
    const { messages } = sent(asMessages);
    const records = sent(asEncoded);
    const request: ProduceRequest<typeof records> = {
      ...asked,
      topicData: [{ topic: 'check', partitions: [{ ...place, records }] }],
    };
    const encoded = await encodeProduce(request);
    const theirs = { ...asked, topicData: [{ topic: 'check', partitions: [{ ...place, messages }] }] };
    for (const version of versions.filter((one) => Number(one) >= FIRST_VERSION)) {
      const { request: call } = protocol({ version })(theirs);
      const { buffer } = await call.encode();
      if (!encoded.equals(buffer)) return false;
      const header = { correlationId: 9, clientId: 'chéck' };
      const framed = await frame({ ...header, request: call });
      if (!framed.buffer.equals(await encodeProduce(request, { ...header, ...call }))) return false;
    }
    return versions.some((one) => Number(one) >= FIRST_VERSION);
  } catch {
    return false;
  }
}

function sent<T extends ReturnType<ReturnType<NewSend>['finish']>>(newSend: NewSend<T>): T {
  const send = newSend(2, Number.POSITIVE_INFINITY);
  for (const record of samples) send.add(record);
  return send.finish();
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
