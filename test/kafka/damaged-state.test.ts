import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Admin } from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, LogRecord } from '../../src/log/commit-log';
import { settingsOf } from '../../src/log/kafka/admin/topic-rules';
import { feedTopics } from '../../src/log/topics';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { commandLine, outcome } from '../support/cli';
import { createTopics } from '../support/create-topics';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld } from '../support/kafka-world';
import { readAll } from '../support/log-records';
import { namedRows } from '../support/named-rows';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const cli = commandLine();
const folder = tempFolder();
const records = 50;
/** Longer than a publisher tries to write to a partition that is gone in the middle of a transaction, and then asks for the outcome. */
const OUTCOME_MS = 300_000;
const kafka = kafkaWorld();
let admin: Admin;
let log: CommitLog;
let simulator: Simulator;

beforeEach(async () => {
  admin = await kafka.admin();
  simulator = await startSimulator({ records: { insights: 0, analysts: 20, ipos: records } });
  log = kafka.log();
});
afterEach(() => simulator?.stop());

const topics = () => feedTopics(ipos, kafka.prefix());
const current = () => topics().current.name;

function run(...args: string[]) {
  const env = {
    ...kafka.env(),
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_API_URL: simulator.url,
    HIGHWATER_API_TOKEN: simulator.token,
    // One that is stopped for longer would lose its feed before it could lose a topic.
    KAFKA_SESSION_TIMEOUT: '60s',
  };
  return cli(['run', ...args], { cwd: folder(), env });
}

const runOnce = (feeds = 'ipos') => outcome(run('--once', '--feeds', feeds));

/** Events that consumers have seen, and the publisher's position. */
async function published() {
  const { changes, transitions, sourceOffset } = topics();
  const names = [changes, ...transitions, sourceOffset].map(({ name }) => name);
  const place = ({ topic, partition, logOffset, headers }: LogRecord) =>
    `${topic}/${partition} ${String(logOffset).padStart(6)} ${headers.op ?? ''}`;
  return (await readAll(log, names)).map(place).sort();
}

async function drop(topic: string): Promise<void> {
  await admin.deleteTopics({ topics: [topic] });
  await until(async () => !(await admin.listTopics()).includes(topic));
}

async function make(topic: string, numPartitions: number): Promise<void> {
  const configEntries = Object.entries(settingsOf('current')).map(([name, value]) => ({ name, value }));
  await createTopics(admin, [{ topic, numPartitions, configEntries }]);
}

/** Everything that happens to records: new ones, changes, deletes. */
function happen(steps: number): void {
  for (let i = 0; i < steps; i++) simulator.marketDay.step();
}

describe('a publisher that starts', () => {
  it.each(
    namedRows<[() => Promise<unknown>, RegExp]>({
      'whose current topic was deleted': [
        () => drop(current()),
        /ipos\.current holds 0 images .*feed ipos counts 50 \(\d+ \+ \d+ \+ \d+\): it was deleted, or created again\./,
      ],
      'whose current topic was deleted, and made anew by somebody': [
        async () => {
          await drop(current());
          await make(current(), 3);
        },
        /ipos\.current holds 0 images .*feed ipos counts 50 .*: it was deleted, or created again\./,
      ],
      'whose current topic was made anew with other partitions': [
        async () => {
          await drop(current());
          await make(current(), 2);
        },
        /ipos\.current holds 0 images \(0 \+ 0 in .*feed ipos counts 50 .*: it had 3 partitions and has 2/,
      ],
      'whose current topic was given more partitions': [
        () => admin.createPartitions({ topicPartitions: [{ topic: current(), count: 5 }] }),
        /ipos\.current holds 50 images .*feed ipos counts 50 .*: it had 3 partitions and has 5/,
      ],
      'whose source offset topic was deleted': [
        () => drop(topics().sourceOffset.name),
        /ipos\.current holds an image of incarnation \w+ .*there is no source offset for feed ipos/,
      ],
    }),
  )(
    '%s says so and publishes nothing, however often it is started; other feeds go on',
    async (_name, damage, text) => {
      expect((await runOnce()).code).toBe(0);
      await damage();
      const before = await published();
      expect(before.filter((place) => place.startsWith(`${topics().changes.name}/`))).toHaveLength(records);
      happen(20);

      const { code, said } = await runOnce('ipos,analysts');

      expect(code).toBe(1);
      expect(said).toMatch(/ERROR ipos: .*code=STATE_DAMAGED/);
      expect(said).toMatch(text);
      expect(said).toMatch(/analysts: (first )?snapshot complete/);
      expect(await published()).toEqual(before);
      // Not even after the program itself has made the topic that was missing.
      expect((await runOnce()).said).toMatch(text);
      expect(await published()).toEqual(before);
    },
  );

  it('goes on when there was nothing in the topic', async () => {
    await simulator.stop();
    simulator = await startSimulator({ records: { insights: 0, analysts: 0, ipos: 0 } });
    expect((await runOnce()).code).toBe(0);
    await drop(current());

    expect((await runOnce()).code).toBe(0);
  });

  it('begins anew with the command of the runbook: all records again, as reads of another life', async () => {
    await runOnce();
    const [first] = await readAll(log, [topics().changes.name]);
    await drop(current());
    expect((await runOnce()).code).toBe(1);
    const page = readFileSync(
      path.join(__dirname, '..', '..', 'docs', 'runbook', 'state-damaged.md'),
      'utf8',
    );
    const [, command = ''] = /`(kafka-topics\.sh .*--delete --topic 'ipos.*?)`/.exec(page)!;
    const asAdmin = await kafkaTools({ folder: folder() });
    await asAdmin(
      command
        .replace('broker-1:9092', kafka.brokers())
        .replace(`'ipos`, `'${kafka.prefix().replaceAll('.', '\\.')}ipos`),
    );

    expect((await runOnce()).code).toBe(0);

    const life = ({ headers }: LogRecord) => headers.ce_id!.split(':')[1]!;
    const again = (await readAll(log, [topics().changes.name])).filter(
      (event) => life(event) !== life(first!),
    );
    expect(again).toHaveLength(records);
    expect(again.every(({ headers }) => headers.op === 'r')).toBe(true);
    expect(again.map(({ headers }) => Number(headers.ce_id!.split(':')[2])).sort((a, b) => a - b)).toEqual(
      Array.from({ length: records }, (_, i) => i + 1),
    );
    const names = await admin.listTopics();
    expect(names.filter((name) => name.startsWith(`${kafka.prefix()}ipos`))).toHaveLength(5);
  });
});

describe('a publisher that runs', () => {
  it.each(
    namedRows<[string, () => Promise<void>, RegExp, RegExp]>({
      'its current topic is deleted': [
        'current',
        async () => undefined,
        // Brokers do not say which partition of a running transaction is gone, and may not answer its commit at all.
        /(Partition \d of topic \S+ipos\.current is|One of these partitions is) not there any more|outcome of commit \d+ of feed ipos/,
        /ipos\.current holds 0 images .*it was deleted/,
      ],
      'its current topic is deleted and made anew': [
        'current',
        () => make(current(), 3),
        /Partition \d of topic \S+ipos\.current stands at offset \d, although this publisher wrote there up to offset \d+/,
        /ipos\.current holds 0 images .*it was deleted/,
      ],
      'its source offset topic is deleted and made anew': [
        'sourceOffset',
        () => make(topics().sourceOffset.name, 1),
        /Partition 0 of topic \S+ipos\.source-offset stands at offset \d, although this publisher wrote there up to offset \d+/,
        /ipos\.current holds an image of incarnation .*there is no source offset/,
      ],
    }),
  )('lets go of the feed and says why when %s', async (_name, which, then, lost, damaged) => {
    const running = run('--feeds', 'ipos', '--poll-interval', '100ms');
    await running.sees(/snapshot complete/, 'stderr');
    simulator.marketDay.start(20);
    const events = () => readAll(log, [topics().changes.name]);
    await until(async () => (await events()).length > records + 20);
    running.signal('SIGSTOP');
    await drop(topics()[which as 'current'].name);
    await then();
    running.signal('SIGCONT');

    await running.sees(lost, 'stderr', OUTCOME_MS);
    await running.sees(damaged, 'stderr', OUTCOME_MS);

    expect(running.stderr()).toMatch(/ERROR ipos: .*[Pp]artition.*code=(LOG_TOPIC_LOST|LOG_OUTCOME_UNKNOWN)/);
    expect(running.stderr()).toMatch(/ERROR ipos: Topic .*code=STATE_DAMAGED/);
    assertChained(await events());
    running.signal('SIGTERM');
    expect(await running.ended()).toEqual({ code: 0, signal: null });
  });
});

/** Nothing is created that was there, and nothing changed or deleted that was not. */
function assertChained(events: readonly LogRecord[]): void {
  const live = new Set<string>();
  for (const { key, headers } of events) {
    expect([key, headers.op, live.has(key)]).toEqual([key, headers.op, 'ud'.includes(headers.op!)]);
    if (headers.op === 'd') live.delete(key);
    else live.add(key);
  }
}
