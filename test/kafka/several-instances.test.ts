import type { CliProcess } from '../support/cli';
import { jsonLines } from '../support/cli';
import { type CliPublisher, cliPublisher } from '../support/cli-publisher';
import { kafkaWorld } from '../support/kafka-world';
import { until } from '../support/until';

const kafka = kafkaWorld();
let sessionTimeout: string;

beforeEach(() => {
  sessionTimeout = '5s';
});

const publisher: CliPublisher = cliPublisher(() => ({
  ...kafka.env(),
  KAFKA_SESSION_TIMEOUT: sessionTimeout,
}));
const { api, done, records, start, stillPolled } = publisher;

interface Status {
  readonly feed: string;
  readonly owner: string | null;
  readonly paused: boolean;
}

async function status(): Promise<Map<string, Status>> {
  const { out, err } = await done(['status', '--json']);
  if (err !== '') throw new Error(err);
  return new Map(jsonLines<Status>(out).map((line) => [line.feed, line]));
}

/** Two instances, one feed each. */
async function two(): Promise<[CliProcess, CliProcess]> {
  const first = start(['run']);
  await first.sees(/This instance has analysts, ipos/, 'stderr');
  const second = start(['run']);
  await second.sees(/This instance has (analysts|ipos);/, 'stderr');
  // The topics are there by then.
  for (const feed of ['ipos', 'analysts'] as const) await stillPolled(feed);
  return [first, second];
}

it('a command reaches the instance that has the feed, and status names the owners', async () => {
  const instances = await two();
  const pids = instances.map(({ pid }) => `${pid}`);
  const before = await status();
  const ownerOf = (feed: string) => before.get(feed)!.owner!.split(':').at(-1)!;
  expect([ownerOf('ipos'), ownerOf('analysts')].sort()).toEqual([...pids].sort());

  for (const feed of ['ipos', 'analysts']) {
    const { code, err } = await done(['pause', feed]);
    expect(err).toContain(`:${ownerOf(feed)} has feed ${feed} and accepted pause.`);
    expect(code).toBe(0);
  }
  expect([...(await status()).values()].map(({ paused }) => paused)).toEqual([true, true]);
  expect((await done(['doctor'])).code).toBe(0);
});

it('a single poll leaves the feeds to the instances that have them, and names those', async () => {
  const [first, second] = await two();
  const { code, err } = await done(['run', '--once']);
  expect(code).toBe(1);
  for (const { pid } of [first, second])
    expect(err).toMatch(new RegExp(`is owned by \\S+:${pid}.*LOG_OWNED`));
  expect(first.stderr() + second.stderr()).not.toContain('LOG_FENCED');
});

it('instances that come and go all the time leave no gap and no double, and those that stay publish', async () => {
  const steady = start(['run']);
  await steady.sees(/ipos: (first )?snapshot complete/, 'stderr');
  api().marketDay.start(30);
  for (let i = 0; i < 4; i++) {
    const passing = start(['run']);
    await passing.sees(/This instance has (analysts|ipos);/, 'stderr');
    passing.signal(i % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
    await passing.ended();
  }
  api().marketDay.stop();
  await until(() =>
    /This instance has (analysts, ipos|ipos, analysts)\.\n(?!.*This instance)/s.test(steady.stderr()),
  );
  await stillPolled('ipos');
  await stillPolled('analysts');
  for (const feed of ['ipos', 'analysts'] as const) {
    const events = (await records(feed)).map(({ value }) => value!);
    const numbers = events.map(({ source }) => source.seq as number).sort((a, b) => a - b);
    expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  }
  expect(steady.stderr()).not.toMatch(/ERROR/);
});

it('a session timeout that the brokers do not allow ends the instance, with the setting to mend', async () => {
  sessionTimeout = '2h';
  const { code, err } = await done(['run']);
  expect(code).toBe(2);
  expect(err).toMatch(/CONFIG_INVALID.*session timeout of 7200 s[\s\S]*KAFKA_SESSION_TIMEOUT/);
});
