import { CompressionCodecs } from 'kafkajs';
import { kafkaClient } from '../../../../src/log/kafka/connection/client';
import type { Broker, RequestQueue } from '../../../../src/log/kafka/connection/cluster';
import { queueWatch, restWhenEmpty } from '../../../../src/log/kafka/connection/guards/throttling';
import { quietLogger } from '../../../support/source';

/** As the connections of kafkajs use it. */
interface Queue extends Omit<RequestQueue, 'push'> {
  push(request: { entry: object; expectResponse: boolean; sendRequest: () => void }): void;
  fulfillRequest(answer: { correlationId: number; payload: Buffer; size: number }): void;
  destroy(): void;
}

let queue: Queue;
let sent: number[];

beforeEach(() => {
  jest.useFakeTimers();
  const KafkajsQueue = require('kafkajs/src/network/requestQueue') as new (options: object) => Queue;
  queue = new KafkajsQueue({
    maxInFlightRequests: 1,
    requestTimeout: 1_000,
    logger: quietLogger(),
    clientId: 'a client',
    broker: 'a broker',
  });
  restWhenEmpty(queue);
  sent = [];
});
afterEach(() => {
  queue.destroy();
  jest.useRealTimers();
});

function ask(correlationId: number): void {
  const entry = { correlationId, resolve: () => {}, reject: () => {} };
  queue.push({ entry, expectResponse: true, sendRequest: () => void sent.push(correlationId) });
}

function answer(correlationId: number): void {
  queue.fulfillRequest({ correlationId, payload: Buffer.alloc(0), size: 0 });
}

it('a connection that has nothing to send sets no timer', () => {
  ask(1);
  answer(1);
  expect(jest.getTimerCount()).toBe(0);
});

it('a request that a quota holds back is sent when that ends, and then the connection rests', () => {
  ask(1);
  answer(1);
  queue.maybeThrottle(500);
  ask(2);
  jest.advanceTimersByTime(499);
  expect(sent).toEqual([1]);
  jest.advanceTimersByTime(2);
  expect(sent).toEqual([1, 2]);
  answer(2);
  expect(jest.getTimerCount()).toBe(0);
});

it('a quota that grows meanwhile is kept to', () => {
  queue.maybeThrottle(500);
  ask(1);
  queue.maybeThrottle(900);
  jest.advanceTimersByTime(899);
  expect(sent).toStrictEqual([]);
  jest.advanceTimersByTime(2);
  expect(sent).toEqual([1]);
});

it('a request that waits for another one is sent when that is answered', () => {
  ask(1);
  ask(2);
  expect(sent).toEqual([1]);
  answer(1);
  expect(sent).toEqual([1, 2]);
  answer(2);
  jest.advanceTimersByTime(20);
  expect(jest.getTimerCount()).toBe(0);
});

it('each spell of a quota is named once, and its end is told', () => {
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const watch = queueWatch({ ...quietLogger(), warn: say, info: say }, () => undefined);
  watch({ connectionPool: { pool: [{ requestQueue: queue }] } } as unknown as Broker);
  const begins = 'A quota of the brokers holds this client back, now for 2 s.';
  const ends = 'Quotas of the brokers no longer hold this client back.';
  const answers = (ms: number) => {
    queue.maybeThrottle(ms);
    queue.maybeThrottle(0);
  };
  answers(2_000);
  answers(1_500);
  expect(said).toEqual([begins]);
  jest.advanceTimersByTime(100_000);
  answers(500);
  jest.advanceTimersByTime(100_000);
  answers(0);
  expect(said).toEqual([begins]);
  jest.advanceTimersByTime(21_000);
  answers(0);
  expect(said).toEqual([begins, ends]);
  jest.advanceTimersByTime(200_000);
  answers(2_000);
  expect(said).toEqual([begins, ends, begins]);
});

it('the kafkajs of an application that imports highwater stays as it is', () => {
  const { prototype } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
  const before = { schedule: prototype.scheduleCheckPendingRequests, codecs: { ...CompressionCodecs } };
  const settings = { brokers: ['127.0.0.1:1'], ssl: null, sasl: null, compression: 'zstd' } as const;
  kafkaClient(settings, 'test', quietLogger()).producer();
  expect(prototype.scheduleCheckPendingRequests).toBe(before.schedule);
  expect({ ...CompressionCodecs }).toEqual(before.codecs);
});
