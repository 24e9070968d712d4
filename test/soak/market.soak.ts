import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { type MarketReport, runMarket } from '../faults/market-run';
import { embeddedLog, type PublisherLog } from '../faults/publisher-log';
import { countHarms, describeVerdict } from '../support/judge/verdict';
import { sharedServers, uniquePrefix } from '../support/servers';

/**
 * Weeks at the market, a week a minute, with operators and kills. Settings: LOG (embedded, or kafka: a broker and a registry
 * are started), MINUTES (5), SEED (drawn), KEEP=1 to keep the embedded log of a run that failed.
 */
const kind = process.env.LOG ?? 'embedded';
const minutes = Number(process.env.MINUTES ?? 5);
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e6));
const folder = mkdtempSync(path.join(tmpdir(), 'highwater-soak-'));
let stop: () => Promise<void> = async () => undefined;
let isKept = process.env.KEEP === '1';

afterAll(async () => {
  await stop();
  if (isKept) say(`log            ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
});

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function openLog(): Promise<PublisherLog> {
  if (kind === 'embedded') return embeddedLog(path.join(folder, 'data'));
  if (kind !== 'kafka') throw new Error(`LOG is embedded or kafka, not ${kind}`);
  const { brokers, registryUrl } = await sharedServers();
  const place = { brokers, direct: brokers, registryUrl, prefix: uniquePrefix(), proxy: null };
  const log = await kafkaPublisherLog(place);
  stop = log.stop;
  return log;
}

it(
  'ends with the records that the API shows',
  async () => {
    say(`seed ${seed}: ${minutes} minutes on ${kind}`);
    const report = await runMarket({
      seed,
      ms: minutes * 60_000,
      everyMs: 12,
      say,
      records: { insights: 500, analysts: 250, ipos: 800 },
      log: await openLog(),
      folder: path.join(folder, 'data'),
    });
    say(figures(report));
    expect(describeVerdict(report.verdict)).toBe('nothing to object to');
    expect(report.exitCode).toBe(0);
    isKept = false;
  },
  (minutes + 10) * 60_000,
);

function figures(report: MarketReport): string {
  const { verdict } = report;
  const harms = countHarms(verdict.violations);
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
    `harms          lost ${harms.lost}, twice ${harms.twice}, out of order ${harms.order}, torn ${harms.torn}, wrong ${harms.wrong}`,
    `verdict        ${describeVerdict(verdict)}`,
  ].join('\n');
}
