import path from 'node:path';
import { feedNames } from '../../src/simulator/endpoints';
import { createRandom } from '../../src/simulator/random';
import { type StrikeReport, strikeBroker, transactionTimeoutMs } from '../faults/broker-strikes';
import { cutCommits } from '../faults/commit-cuts';
import { type CrashReport, type CrashRunOptions, runCrashes } from '../faults/crash-run';
import { type KafkaPublisherLog, kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { watchPages } from '../faults/page-commits';
import { tearMessages } from '../faults/torn-messages';
import type { ProxyWatch } from '../support/kafka-proxy';
import { type ProxiedKafka, startProxiedKafka } from '../support/proxied-kafka';
import { sharedServers, uniquePrefix } from '../support/servers';
import { until } from '../support/until';
import { expectGood, figuresOf, say, seed, setting, soakFolder } from './soak';

/**
 * The crash test on Kafka and the lost commits in their long form. Each part has topics and a market of its own, on one
 * broker, and is judged for itself. Settings: KILLS of the publisher (60), STRIKES against the broker (8: the first eight
 * are all kinds), CUTS of requests to commit and as many of their answers (200), TEARS of messages of any kind at any byte, as
 * many of requests as of answers (200), under publishers that are killed now and then, SOAK_MINUTES after which a part gets no
 * further one (10), SEED (drawn), KEEP=1 to keep the broker's data of a run that failed.
 */
const wanted = {
  kills: setting('KILLS', 60),
  strikes: setting('STRIKES', 8),
  cuts: setting('CUTS', 200),
  tears: setting('TEARS', 200),
};
const minutes = setting('SOAK_MINUTES', 10);
const size = { records: { insights: 500, analysts: 250, ipos: 900 }, everyMs: 20 };
const partMs = minutes * 60_000;
const timeoutMs = partMs + 5 * 60_000;

const figures: string[] = [];
let isClean = true;
let kafka: ProxiedKafka;
const folder = soakFolder(
  () => kafka?.stop(),
  () => !isClean,
);

beforeAll(async () => {
  say(`seed ${seed}`);
  kafka = await startProxiedKafka({}, path.join(folder, 'kafka'));
}, 180_000);

afterAll(() => void process.stdout.write(`${figures.join('\n')}\n`));

/** The faults of a part, once it is over. */
interface Done {
  /** `60 kills of the publisher` */
  readonly what: string;
  readonly recoveredMs: readonly number[];
}

type Run = (
  options: Pick<CrashRunOptions, 'kills' | 'earlyKills'> & Partial<CrashRunOptions>,
) => Promise<CrashReport>;

async function part(act: (run: Run, log: KafkaPublisherLog) => Promise<[CrashReport, Done]>): Promise<void> {
  const { registryUrl } = await sharedServers();
  const { brokers, direct, proxy } = kafka;
  const prefix = uniquePrefix();
  const log = await kafkaPublisherLog({ brokers, direct, registryUrl, prefix, proxy });
  const common = { seed, size, log, folder: path.join(folder, prefix) };
  const wasClean = isClean;
  isClean = false;
  try {
    const [{ verdict, exitCode }, { what, recoveredMs }] = await act(
      (options) => runCrashes({ ...common, ...options }),
      log,
    );
    const line = `${what}: ${figuresOf(verdict)}; ${recoveries(recoveredMs)}`;
    figures.push(line);
    say(line);
    expectGood(verdict, exitCode);
    isClean = wasClean;
  } finally {
    await log.stop();
  }
}

function recoveries(ms: readonly number[]): string {
  if (ms.length === 0) return 'times were not taken';
  const sorted = [...ms].sort((a, b) => a - b);
  const seconds = (at: number): string => `${((sorted[at] ?? Number.NaN) / 1_000).toFixed(2)} s`;
  const [median, worst] = [seconds(Math.floor((sorted.length - 1) / 2)), seconds(sorted.length - 1)];
  return `back after ${median} (median of ${sorted.length}), ${worst} (worst)`;
}

/** One after the other, while there is time. */
async function repeat(times: number, act: (i: number) => Promise<void>): Promise<void> {
  const end = Date.now() + partMs;
  for (let i = 0; i < times && Date.now() < end; i++) await act(i);
}

const itIf = (count: number) => (count > 0 ? it : it.skip);

itIf(wanted.kills)(
  'survives kills of the publisher',
  () =>
    part(async (run) => {
      const recoveredMs: number[] = [];
      const back = new Set<string>();
      let startedAt = 0;
      const pages = watchPages(kafka.proxy, (feed) => {
        if (back.has(feed)) return;
        back.add(feed);
        if (back.size === feedNames.length) recoveredMs.push(performance.now() - startedAt);
      });
      const report = await run({
        kills: wanted.kills,
        earlyKills: Math.floor(wanted.kills / 6),
        killUntilMs: partMs,
        onStart() {
          back.clear();
          startedAt = performance.now();
        },
        onKill({ number }) {
          if (number % 10 === 0) say(`${number} kills`);
        },
      });
      pages.remove();
      const { kills } = report;
      const torn = kills.filter(({ tornCommit }) => tornCommit).length;
      const first = kills.filter(({ snapshots }) => snapshots.length > 0).length;
      const what = `${kills.length} kills of the publisher (${torn} within a commit, ${first} within a first snapshot)`;
      return [report, { what, recoveredMs }];
    }),
  timeoutMs,
);

itIf(wanted.strikes)(
  'survives kills and freezes of the broker',
  () =>
    part(async (run, log) => {
      const random = createRandom(seed);
      const reports: StrikeReport[] = [];
      const report = await run({
        kills: 0,
        earlyKills: 0,
        strikes: (publisher) =>
          repeat(wanted.strikes, async (i) => {
            const does = i % 2 === 0 ? 'kill' : 'freeze';
            const at = (['begun', 'end-lost', 'end-late', 'ended'] as const)[Math.floor(i / 2) % 4]!;
            const forMs =
              does === 'kill' ? random.int(0, 3_000) : transactionTimeoutMs + random.int(1_000, 5_000);
            const struck = await strikeBroker({ does, at, forMs }, publisher, { kafka, log });
            reports.push(struck);
            say(`${does} at ${at} for ${forMs} ms: back after ${struck.recoveredMs} ms`);
          }),
      });
      const count = (which: StrikeReport['does']): number =>
        reports.filter(({ does }) => does === which).length;
      const what = `${count('kill')} kills and ${count('freeze')} freezes of the broker`;
      return [report, { what, recoveredMs: reports.map(({ recoveredMs }) => recoveredMs) }];
    }),
  timeoutMs,
);

for (const where of ['request', 'answer'] as const)
  itIf(wanted.cuts)(
    where === 'request' ? 'survives lost commits' : 'survives lost answers to commits',
    () =>
      part(async (run) => {
        let done: Done | null = null;
        const report = await run({
          kills: 0,
          earlyKills: 0,
          async strikes(publisher) {
            const plan = { where, every: 4, times: wanted.cuts, cutForMs: partMs };
            const { cuts, recoveredMs } = await cutCommits(plan, publisher, kafka.proxy);
            const ofPages = cuts.filter(({ ofPage }) => ofPage);
            const spread = feedNames.map(
              (name) => `${name} ${ofPages.filter(({ feed }) => feed === name).length}`,
            );
            const what = `${cuts.length} cuts of ${where}s (${spread.join(', ')}, fences ${cuts.length - ofPages.length})`;
            done = { what, recoveredMs };
          },
        });
        return [report, done!];
      }),
    timeoutMs,
  );

itIf(wanted.tears)(
  'survives messages that are cut in the middle',
  () =>
    part(async (run) => {
      let tearing: ProxyWatch | null = null;
      let lives = 0;
      let torn = 0;
      const begin = (times: number): void => {
        torn += tearing?.met() ?? 0;
        tearing?.remove();
        tearing = tearMessages({ seed: seed + lives++, every: 40, times }, kafka.proxy);
      };
      const kills = Math.ceil(wanted.tears / 20);
      const report = await run({
        kills,
        earlyKills: Math.floor(kills / 3),
        killUntilMs: partMs / 2,
        onStart: () => begin(wanted.tears),
        async strikes(publisher) {
          const end = Date.now() + partMs / 2;
          await until(() => {
            if (publisher.hasExited()) throw new Error(`the publisher has ended: ${publisher.output()}`);
            return tearing?.met() === 2 * wanted.tears || Date.now() > end;
          }, partMs);
          begin(0);
        },
      });
      const what = `${torn} messages cut in the middle, and ${report.kills.length} kills`;
      return [report, { what, recoveredMs: [] }];
    }),
  timeoutMs,
);
