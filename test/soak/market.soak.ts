import path from 'node:path';
import { feedNames } from '../../src/simulator/endpoints';
import { collectedLog, shortenedTopics } from '../faults/collected-log';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { type MarketReport, runMarket } from '../faults/market-run';
import type { PublisherLog } from '../faults/publisher-log';
import { type Quarter, quartersOf, quarterTable } from '../faults/resources';
import type { JudgedLog } from '../support/judge/log';
import { sharedServers, uniquePrefix } from '../support/servers';
import { expectGood, figuresOf, say, seed, setting, soakFolder } from './soak';

/**
 * Weeks at the market with operators and kills. The embedded log keeps little and is read meanwhile, so that the judge sees all of
 * it. Settings: LOG (embedded, or kafka: a broker and a registry are started), MINUTES (5), WEEKS (1, or 2: in each minute), KEPT_MB
 * (2, of each topic), SEED (drawn), KEEP=1 to keep the embedded log of a run that failed. A year:
 * MINUTES=26 WEEKS=2.
 */
const kind = process.env.LOG ?? 'embedded';
const minutes = setting('MINUTES', 5);
const weeksPerMinute = setting('WEEKS', 1);
const keptMb = setting('KEPT_MB', 2);
let isBad = true;
const folder = soakFolder(
  () => stop(),
  () => isBad,
);
const embedded = kind === 'embedded' ? collectedLog(path.join(folder, 'data')) : null;
let stop = async () => embedded?.stop();

async function openKafka(): Promise<PublisherLog> {
  if (kind !== 'kafka') throw new Error(`LOG is embedded or kafka, not ${kind}`);
  const { brokers, registryUrl } = await sharedServers();
  const place = { brokers, direct: brokers, registryUrl, prefix: uniquePrefix(), proxy: null };
  const log = await kafkaPublisherLog(place);
  stop = log.stop;
  return log;
}

it(
  'ends with the records that the API shows, in a log that keeps little and stops growing',
  async () => {
    say(`seed ${seed}: ${minutes} minutes on ${kind}`);
    const report = await runMarket({
      seed,
      ms: minutes * 60_000,
      everyMs: 12,
      weeksPerMinute,
      say,
      sampled: true,
      settings: {
        HIGHWATER_HTTP_PORT: '0',
        ...(embedded === null ? {} : { HIGHWATER_RETENTION_SIZE: `${keptMb}MB` }),
      },
      records: { insights: 500, analysts: 250, ipos: 800 },
      log: embedded ?? (await openKafka()),
      folder: path.join(folder, 'data'),
    });
    say(figures(report));
    expectGood(report.verdict, report.exitCode);
    if (embedded !== null) {
      const { collected, kept, bytes } = embedded.checkTail();
      say(`retention      ${collected} events and transitions, ${collected - kept} of them removed`);
      say(`images         ${await embedded.read(imageCounts)}`);
      expect(collected - kept).toBeGreaterThan(minutes >= LONG ? collected / 2 : 0);
      for (const size of bytes.values()) expect(size).toBeLessThan(2e6 * keptMb);
    }
    if (minutes >= LONG) assertFlat(quartersOf(report.samples));
    isBad = false;
  },
  (minutes + 10) * 60_000,
);

function imageCounts(log: JudgedLog): string {
  const sum = (of: (topic: string) => number): number =>
    feedNames.reduce((total, feed) => total + of(`${feed}.current`), 0);
  const live = sum(log.tableSize);
  return `${live}, and ${sum(log.count) - live} tombstones of records that were removed`;
}

/** Minutes after which the log holds as much as it may, and processes grow old enough to be compared. */
const LONG = 10;
/** Descriptors of two helper threads, which a process starts with its first large commit and its first checkpoint. */
const THREADS = 10;
/** Requests of all feeds, the metrics, and Kafka's connections. */
const SOCKETS = 60;

/** Size of the file in values that retention keeps: keys, headers and indexes, images, and the room that bursts leave, come on top. */
const FILE = 4;

/** No bound depends on the speed of the machine. */
function assertFlat(quarters: readonly Quarter[]): void {
  say(quarterTable(quarters));
  const [, second, , last] = quarters as [Quarter, Quarter, Quarter, Quarter];
  const files = quarters.map((quarter) => quarter.files);
  expect(Math.max(...files) - Math.min(...files)).toBeLessThanOrEqual(THREADS);
  for (const { sockets } of quarters) expect(sockets).toBeLessThan(SOCKETS);
  expect(last.oldRssMb).toBeLessThan(1.3 * second.oldRssMb);
  if (kind === 'embedded') expect(last.logMb).toBeLessThan(FILE * keptMb * shortenedTopics.length);
}

function figures(report: MarketReport): string {
  const { verdict } = report;
  const feeds = Object.values(verdict.feeds);
  const byOp: Record<string, number> = {};
  for (const feed of feeds)
    for (const [op, count] of Object.entries(feed.byOp)) byOp[op] = (byOp[op] ?? 0) + count;
  const sum = (of: 'events' | 'commits' | 'incarnations'): number =>
    feeds.reduce((total, feed) => total + feed[of], 0);
  const list = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  return [
    `simulated      ${report.days.toFixed(1)} days (${(report.days / 7).toFixed(1)} weeks)`,
    `polls          ${report.polls} in ${report.requests} requests, ${report.faults} of them faulty`,
    `writes         ${list(report.writes)}`,
    `kills          ${report.kills}, ${report.killsInCommands} in the middle of a command`,
    `care           ${report.rotations} rotations of the token, ${report.backups} backups`,
    `commands       ${list(report.commands)}`,
    `outcomes       ${list(report.outcomes)}`,
    ...report.surprises.map((said) => `surprise       ${said}`),
    `events         ${sum('events')} (${list(byOp)}), ${sum('incarnations')} incarnations of ${feeds.length} feeds`,
    `judged         ${figuresOf(verdict)}`,
  ].join('\n');
}
