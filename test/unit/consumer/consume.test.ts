import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Decoder } from '../../../src/avro/codec/record-decoder';
import { takePart } from '../../../src/consumer/handling/consume';
import { eventJob } from '../../../src/consumer/handling/handlers';
import type { ConsumeOptions } from '../../../src/consumer/options';
import { refusalsOf } from '../../../src/consumer/refusals';
import { HighwaterError } from '../../../src/errors';
import type { LogRecord, ProducerRecord } from '../../../src/log/commit-log';
import type { AssignedPartition, ConsumerLog, GroupOptions } from '../../../src/log/consumer-log';
import { Rotation } from '../../../src/secrets/rotation';
import { quietLogger } from '../../support/source';
import { tempFolder } from '../../support/temp-folder';
import { until } from '../../support/until';

const decoder: Decoder = { prepare: () => undefined, decode: () => ({ type: null, value: null }) };

function record(logOffset: number): LogRecord {
  return { topic: 't', partition: 0, logOffset, timestamp: 0, key: 'k', headers: {}, value: null };
}

/** A group that gives one partition, which holds ten records, as often and in what state the test says. */
function scriptedLog() {
  let options: GroupOptions | null = null;
  let joins = 0;
  let refuse: (error: unknown) => void;
  const committed: number[] = [];
  const appended: ProducerRecord[] = [];
  const pauses: unknown[] = [];
  const log = {
    committed,
    appended,
    /** For how long the group rests after each refusal, in ms. */
    pauses,
    /** Offsets that a handler has, unless the test has one of its own. */
    handled: [] as number[],
    logger: {
      ...quietLogger(),
      debug(_: string, facts?: { readonly restMs?: unknown }) {
        if (facts?.restMs !== undefined) pauses.push(facts.restMs);
      },
    },
    commitFails: null as HighwaterError | null,
    appendFails: null as HighwaterError | null,
    /** @returns work on the partition, until it is revoked */
    give(from: number | null, topicId: string | null = null) {
      const revoking = new AbortController();
      const place: AssignedPartition = {
        topic: 't',
        topicId,
        isRecreated: false,
        partition: 0,
        committed: from,
        range: { first: 0, end: 10, sinceJoined: 10 },
        revoked: revoking.signal,
        async *records(next) {
          const records = Array.from({ length: 10 - next }, (_, i) => record(next + i));
          if (records.length > 0) yield records;
          if (!revoking.signal.aborted) await once(revoking.signal, 'abort');
        },
        settled: (next) => next,
        async commit(next) {
          if (log.commitFails !== null) throw log.commitFails;
          committed.push(next);
        },
      };
      const done = options!.work(place);
      return {
        done,
        /** Revokes it. */
        async take() {
          revoking.abort();
          await done;
        },
      };
    },
    port: {
      ends: async () => ({ topicId: null, ends: new Map([[0, 10]]) }),
      joinGroup(given) {
        options = given;
        joins++;
        const over = new Promise<void>((_, reject) => {
          refuse = reject;
        });
        return { over, leave: async () => undefined };
      },
      async append(_topic, records) {
        if (log.appendFails !== null) throw log.appendFails;
        appended.push(...records);
      },
    } as Pick<ConsumerLog, 'ends' | 'joinGroup' | 'append'> as ConsumerLog,
    /** Ends the membership. */
    refuse: (error: HighwaterError) => refuse(error),
    joins: () => joins,
    isJoined: () => options !== null,
    joined: () => until(() => options !== null),
  };
  return log;
}

function consume(
  log: ReturnType<typeof scriptedLog>,
  handler: (offset: number) => unknown = (offset) => void log.handled.push(offset),
  more: Partial<ConsumeOptions> = {},
  others: Partial<Parameters<typeof takePart>[2]> = {},
) {
  const stop = new AbortController();
  const options: ConsumeOptions = {
    group: 'g',
    topics: ['t'],
    signal: stop.signal,
    retry: { delayMs: 1 },
    ...more,
  };
  const deps = {
    log: log.port,
    decoder,
    logger: log.logger,
    topicPrefix: '',
    refusals: refusalsOf(null, new Rotation()),
    closing: new AbortController().signal,
    ...others,
  };
  const ended = takePart(
    options,
    (jobDeps) => eventJob(options, ({ offset }) => handler(offset), jobDeps),
    deps,
  );
  ended.catch(() => undefined);
  return {
    ended,
    async leave() {
      stop.abort();
      await ended;
    },
  };
}

/** A consumer that has joined. @param given as for `consume` */
async function joined(...given: Parameters<typeof consume> extends [unknown, ...infer Rest] ? Rest : never) {
  const log = scriptedLog();
  const consumer = consume(log, ...given);
  await log.joined();
  return { log, ...consumer };
}

const fails = () => {
  throw new Error('unheard of');
};

it('does not do again what the group could not be told of, when it gets the partition back', async () => {
  const { log, leave } = await joined();
  log.commitFails = new HighwaterError('GROUP_LOST', 'the group has gone on');
  const first = log.give(4);
  await until(() => log.handled.length === 6);
  await first.take();
  log.commitFails = null;
  const second = log.give(4);
  await until(() => log.committed.includes(10));
  await second.take();
  // Another member has got further in the meantime, so its position counts.
  const third = log.give(10);
  await third.take();
  await leave();
  expect(log.handled).toEqual([4, 5, 6, 7, 8, 9]);
});

it('commits after each event if it is to', async () => {
  const { log, leave } = await joined(() => undefined, { from: 'beginning', commitEveryMs: 0 });
  const given = log.give(4);
  await until(() => log.committed.includes(10));
  await given.take();
  await leave();
  expect(log.committed).toEqual([5, 6, 7, 8, 9, 10]);
});

it('does not do again what it has done, if the group knows no position at all', async () => {
  const { log, leave } = await joined(undefined, { from: 'beginning' });
  const first = log.give(null, 'one topic');
  await until(() => log.committed.includes(10));
  await first.take();
  const told = log.committed.length;
  const second = log.give(null, 'one topic');
  await until(() => log.committed.length > told);
  await second.take();
  await leave();
  expect(log.committed[told]).toBe(10);
  expect(log.handled).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it('begins anew in a topic without an id, if the group knows no position: it may be another topic', async () => {
  const { log, leave } = await joined(undefined, { from: 'beginning' });
  for (const times of [1, 2]) {
    const given = log.give(null);
    await until(() => log.handled.length === times * 10);
    await given.take();
  }
  await leave();
});

describe('a position that no event moves', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate'] }));
  afterEach(() => jest.useRealTimers());

  /** A consumer that has handled everything. */
  async function upToDate(failure: HighwaterError | null) {
    const log = scriptedLog();
    const { leave } = consume(log);
    while (!log.isJoined()) await jest.advanceTimersByTimeAsync(1);
    log.commitFails = failure;
    const given = log.give(4);
    while (log.handled.length < 6) await jest.advanceTimersByTimeAsync(1);
    log.commitFails = null;
    return {
      log,
      async leave() {
        await given.take();
        await leave();
      },
    };
  }

  it('is committed again if the group could not be told', async () => {
    const { log, leave } = await upToDate(new HighwaterError('KAFKA_UNREACHABLE', 'no broker answers'));
    expect(log.committed).toEqual([]);
    await jest.advanceTimersByTimeAsync(15_000);
    expect(log.committed).toEqual([10]);
    await leave();
  });

  it('is committed again, ever more seldom, since brokers may remove it with an earlier topic of the name', async () => {
    const { log, leave } = await upToDate(null);
    const commits = [];
    for (const seconds of [15, 15, 120, 3_600]) {
      await jest.advanceTimersByTimeAsync(seconds * 1_000);
      commits.push(log.committed.length);
    }
    // The first, and after 10, 30, 70, 150, 310, 630, 1,270 and 2,550 s.
    expect(commits).toEqual([2, 3, 5, 9]);
    expect(new Set(log.committed)).toEqual(new Set([10]));
    await leave();
  });
});

it('gives up what it is trying when the partition is taken away, and leaves it to the next one', async () => {
  const tries: number[] = [];
  const { log, leave } = await joined(
    (offset) => {
      tries.push(offset);
      if (offset === 2) throw new Error('not now');
    },
    { retry: { attempts: 1_000, delayMs: 60_000 } },
  );
  const given = log.give(0);
  await until(() => tries.includes(2));
  await given.take();
  await leave();
  expect([tries, log.committed.at(-1)]).toEqual([[0, 1, 2], 2]);
});

it('waits with a dead letter until the log takes it, and does not go on without', async () => {
  const { log, leave } = await joined(
    (offset) => {
      if (offset === 3) throw new Error('unheard of');
      log.handled.push(offset);
    },
    { onFailure: 'dead-letter', retry: { attempts: 2, delayMs: 1, maxDelayMs: 5 } },
  );
  log.appendFails = new HighwaterError('KAFKA_UNREACHABLE', 'no broker answers');
  const given = log.give(0);
  await until(() => log.handled.length === 3);
  log.appendFails = null;
  await until(() => log.committed.includes(10));
  await given.take();
  await leave();
  expect(log.handled).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9]);
  expect(log.appended.map(({ headers }) => headers['error.offset'])).toEqual(['3']);
});

it('tells of a dead letter that the log does not take, by name', async () => {
  jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate'] });
  const { log, leave } = await joined(fails, { onFailure: 'dead-letter', retry: { attempts: 1 } });
  try {
    while (!log.isJoined()) await jest.advanceTimersByTimeAsync(1);
    log.appendFails = new HighwaterError('KAFKA_UNREACHABLE', 'no broker answers');
    const given = log.give(9);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(log.logger.warnings).toEqual([
      'Writing the dead letter of offset 9 of t, partition 0, has not succeeded for 10 s. It is tried again.',
    ]);
    await given.take();
  } finally {
    jest.useRealTimers();
  }
  await leave();
});

it('ends if a dead letter is refused for good, also without the value of its event', async () => {
  const { log, ended } = await joined(fails, { onFailure: 'dead-letter', retry: { attempts: 1 } });
  log.appendFails = new HighwaterError('LOG_RECORD_REFUSED', 'INVALID_TIMESTAMP');
  await log.give(9).done;
  await expect(ended).rejects.toMatchObject({ code: 'LOG_RECORD_REFUSED' });
});

it('ends when the log refuses what only a person can mend, also while others of its partitions go on', async () => {
  const { log, ended } = await joined(() => undefined);
  log.commitFails = new HighwaterError('KAFKA_FORBIDDEN', 'not allowed');
  const given = log.give(null);
  await given.done;
  await expect(ended).rejects.toMatchObject({ code: 'KAFKA_FORBIDDEN' });
});

it('tells of a handler that does not return', async () => {
  jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate'] });
  const log = scriptedLog();
  let goOn = (): void => undefined;
  const { leave } = consume(log, () => new Promise<void>((resolve) => (goOn = resolve)));
  try {
    while (!log.isJoined()) await jest.advanceTimersByTimeAsync(1);
    const given = log.give(9);
    await jest.advanceTimersByTimeAsync(130_000);
    expect(log.logger.warnings).toEqual([
      'A handler has been at work for 60 s; the next events of its partition wait.',
      'A handler has been at work for 120 s; the next events of its partition wait.',
    ]);
    goOn();
    await given.take();
    await jest.advanceTimersByTimeAsync(130_000);
    expect(log.logger.warnings).toHaveLength(2);
  } finally {
    jest.useRealTimers();
  }
  await leave();
});

it('rejects also when what fails it is nothing', async () => {
  const positions = { load: () => Promise.reject(null) };
  const { log, ended } = await joined(() => undefined, { positions });
  await log.give(0).done;
  await expect(ended).rejects.toBeNull();
});

it('tells of a topic that is not there', async () => {
  const log = scriptedLog();
  log.port.ends = async () => ({ topicId: null, ends: new Map() });
  const { leave } = consume(log);
  await log.joined();
  await leave();
  expect(log.logger.warnings).toEqual(['The topic t does not exist yet; it is read once it exists.']);
});

describe('a refused password', () => {
  const folder = tempFolder();
  const file = () => path.join(folder(), 'password');
  const refusal = () => new HighwaterError('KAFKA_UNAUTHENTICATED', 'joining the group g: wrong password');

  function fromFile(settledMs?: number) {
    const rotation = new Rotation();
    writeFileSync(file(), 'first');
    const read = () => ({ value: readFileSync(file(), 'utf8') });
    rotation.file('kafkaSaslPasswordFile', file(), 'first', read);
    const sasl = { mechanism: 'plain', username: 'me', password: 'first' } as const;
    return refusalsOf({ sasl }, rotation, settledMs);
  }

  it('from a file lets the group rest; it goes on where it was once the file is replaced', async () => {
    const { log, leave } = await joined(undefined, {}, { refusals: fromFile() });
    const first = log.give(4);
    await until(() => log.handled.length === 6);
    await first.take();
    for (let refused = 1; refused <= 3; refused++) {
      log.refuse(refusal());
      await until(() => log.pauses.length === refused);
      writeFileSync(file(), `password-${refused}`);
      await until(() => log.joins() === refused + 1);
    }
    const again = log.give(4);
    await until(() => log.committed.includes(10));
    await again.take();
    await leave();
    expect(log.handled).toEqual([4, 5, 6, 7, 8, 9]);
    // Once, though the file was replaced each time: tokens change by themselves.
    expect(log.logger.warnings).toEqual(['The group g rests: joining the group g: wrong password']);
  });

  it('that is refused again and again is tried ever more slowly, until the signal', async () => {
    const { log, leave } = await joined(() => undefined, {}, { refusals: fromFile() });
    const began = performance.now();
    log.refuse(refusal());
    await until(() => log.joins() === 2);
    log.refuse(refusal());
    await until(() => log.joins() === 3);
    expect(performance.now() - began).toBeGreaterThan(2_900);
    log.refuse(refusal());
    await until(() => log.pauses.length === 3);
    await leave();
    expect(log.pauses).toEqual([1_000, 2_000, 4_000]);
    expect(log.logger.warnings).toHaveLength(1);
  });

  it('is over when the group has joined again, and the next one is told of as the first', async () => {
    const { log, leave } = await joined(() => undefined, {}, { refusals: fromFile(1) });
    for (let outage = 1; outage <= 2; outage++) {
      log.refuse(refusal());
      await until(() => log.joins() === outage + 1);
      const place = log.give(4);
      await place.take();
      await until(() => log.logger.warnings.length === 2 * outage);
    }
    await leave();
    expect(log.pauses).toEqual([1_000, 1_000]);
    const [rests, goesOn] = [
      'The group g rests: joining the group g: wrong password',
      'The group g goes on.',
    ];
    expect(log.logger.warnings).toEqual([rests, goesOn, rests, goesOn]);
  });

  it('of a group that was given work is tried ever more slowly as well', async () => {
    const { log, leave } = await joined(() => undefined, {}, { refusals: fromFile() });
    for (let refused = 1; refused <= 3; refused++) {
      const place = log.give(4);
      log.refuse(refusal());
      await place.take();
      await until(() => log.pauses.length === refused);
      if (refused < 3) await until(() => log.joins() === refused + 1);
    }
    await leave();
    expect([log.pauses, log.logger.warnings.length]).toEqual([[1_000, 2_000, 4_000], 1]);
  });

  it('that no file holds ends the consumer with what to do', async () => {
    const { log, ended } = await joined(() => undefined);
    log.refuse(refusal());
    await expect(ended).rejects.toMatchObject({
      code: 'KAFKA_UNAUTHENTICATED',
      now: 'The consumer of the group g ends. The group keeps its position.',
      remedy: expect.stringMatching(/KAFKA_SASL_PASSWORD.* Then start the program again\.$/),
    });
  });

  it('of the registry makes no event a dead letter', async () => {
    const refusing = jest.fn(() => {
      throw new HighwaterError('REGISTRY_UNAUTHORIZED', 'GET /schemas/ids/1 answered 401');
    });
    const ofRegistry = { decoder: { ...decoder, prepare: refusing } };
    const { log, ended } = await joined(() => undefined, { onFailure: 'dead-letter' }, ofRegistry);
    await log.give(0).done;
    await expect(ended).rejects.toMatchObject({ code: 'REGISTRY_UNAUTHORIZED' });
    expect(log.appended).toEqual([]);
  });
});
