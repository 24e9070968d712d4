import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Blow, type Failover, runFailovers } from '../faults/failover-run';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { countHarms, describeVerdict } from '../support/judge/verdict';
import { startKafkaBehindProxies } from '../support/proxied-kafka';
import { sharedServers, uniquePrefix } from '../support/servers';

/**
 * Failover in its long form: three instances on one broker, each behind a proxy of its own, and a market that moves all the
 * time. Settings: TIMES that each blow falls (20), SESSION_TIMEOUT of the instances in ms (3000), SEED (drawn).
 */
const times = Number(process.env.TIMES ?? 20);
const sessionTimeoutMs = Number(process.env.SESSION_TIMEOUT ?? 3_000);
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e6));
const blows: readonly Blow[] = ['kill', 'freeze', 'cut', 'stop'];

it('others go on with the feeds of an instance that is killed, frozen, cut off or stopped', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-soak-'));
  const { registryUrl } = await sharedServers();
  const kafka = await startKafkaBehindProxies(3, {}, path.join(folder, 'kafka'));
  const prefix = uniquePrefix();
  const { direct } = kafka;
  const log = await kafkaPublisherLog({ brokers: direct, direct, registryUrl, prefix, proxy: null });
  const say = (text: string) => process.stderr.write(`${text}\n`);
  say(`seed ${seed}`);
  try {
    const began = Date.now();
    const { failovers, verdict, thefts, exitCodes } = await runFailovers({
      seed,
      kafka,
      log,
      registryUrl,
      prefix,
      sessionTimeoutMs,
      folder: path.join(folder, 'run'),
      blows: Array.from({ length: times }, () => blows).flat(),
      size: { records: { insights: 300, analysts: 150, ipos: 500 }, everyMs: 20 },
      onFailover: ({ blow, feeds, ms }) => say(`${blow} (${feeds}): ${Math.round(ms)} ms`),
    });
    const harms = countHarms(verdict.violations);
    const sum = (of: 'commits' | 'events'): number =>
      Object.values(verdict.feeds).reduce((total, counts) => total + counts[of], 0);
    const lines = [
      `seed ${seed}, session timeout ${sessionTimeoutMs} ms, ${Math.round((Date.now() - began) / 1000)} s`,
      ...blows.map((blow) => describe(blow, failovers)),
      `${sum('commits')} commits, ${sum('events')} events; lost ${harms.lost}, twice ${harms.twice}, out of order ${harms.order}, torn ${harms.torn}, wrong ${harms.wrong}; feeds taken back from a successor: ${thefts.length}`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
    expect(describeVerdict(verdict)).toBe('nothing to object to');
    expect(thefts).toStrictEqual([]);
    expect(new Set(exitCodes)).toEqual(new Set([0]));
  } finally {
    await log.stop();
    await kafka.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 3_600_000);

function describe(blow: Blow, failovers: readonly Failover[]): string {
  const all = failovers
    .filter((one) => one.blow === blow)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
  const seconds = (ms: number | undefined): string => `${((ms ?? Number.NaN) / 1_000).toFixed(2)} s`;
  return `${blow} ${all.length} times: others go on after ${seconds(all[0])} (best), ${seconds(all[Math.floor((all.length - 1) / 2)])} (median), ${seconds(all.at(-1))} (worst)`;
}
