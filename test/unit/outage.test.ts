import { HighwaterError } from '../../src/errors';
import { Outage } from '../../src/logging/outage';

const said: string[] = [];
const logger = {
  error: () => undefined,
  warn: (message: string, facts?: object) =>
    void said.push(facts === undefined ? message : `${message} ${JSON.stringify(facts)}`),
  info: () => undefined,
  debug: () => undefined,
};
const reading = () => new Outage('Reading t', logger);

beforeEach(() => {
  said.length = 0;
  jest.useFakeTimers();
});
afterEach(() => jest.useRealTimers());

it('people are told once what has failed for 10 s, why and what to do, and when it succeeds again', () => {
  const outage = reading();
  const failure = new HighwaterError('KAFKA_UNREACHABLE', 'no broker answers', { remedy: 'Start one.' });
  for (let i = 0; i < 30; i++) {
    outage.failed(failure);
    jest.advanceTimersByTime(1_000);
  }
  outage.over();
  expect(said).toEqual([
    'Reading t has not succeeded for 10 s. It is tried again. {"why":"no broker answers","remedy":"Start one."}',
    'Reading t succeeds again.',
  ]);
});

it('a first try without an answer is told of as well', () => {
  const outage = reading();
  outage.began();
  jest.advanceTimersByTime(10_000);
  expect(said).toEqual([
    'Reading t has not succeeded for 10 s. It is tried again. {"why":"no answer has come yet"}',
  ]);
});

it('nobody is told of what succeeds or is given up within 10 s', () => {
  const outage = reading();
  for (const end of [() => outage.over(), () => outage.end()]) {
    outage.failed(new Error('once'));
    jest.advanceTimersByTime(9_000);
    end();
    jest.advanceTimersByTime(9_000);
  }
  expect(said).toEqual([]);
});

it('what is given up later does not succeed again', () => {
  const outage = reading();
  outage.began();
  jest.advanceTimersByTime(10_000);
  outage.end();
  expect(said).toHaveLength(1);
});
