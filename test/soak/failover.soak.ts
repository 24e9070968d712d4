import path from 'node:path';
import { type Blow, type Failover, runFailovers } from '../faults/failover-run';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { startKafkaBehindProxies } from '../support/proxied-kafka';
import { sharedServers, uniquePrefix } from '../support/servers';
import { expectGood, figuresOf, say, seed, setting, soakFolder } from './soak';

/**
 * Failover in its long form: three instances on one broker, each behind a proxy of its own, and a market that moves all the
 * time. Settings: TIMES that each blow falls (20), SESSION_TIMEOUT of the instances in ms (3000), REST before each in ms (0), SEED
 * (drawn).
 */
const times = setting('TIMES', 20);
const sessionTimeoutMs = setting('SESSION_TIMEOUT', 3_000);
const restMs = setting('REST', 0);
const blows: readonly Blow[] = ['kill', 'freeze', 'cut', 'stop'];

const folder = soakFolder();

it('others go on with the feeds of an instance that is killed, frozen, cut off or stopped', async () => {
  const { registryUrl } = await sharedServers();
  const kafka = await startKafkaBehindProxies(3, {}, path.join(folder, 'kafka'));
  const prefix = uniquePrefix();
  const { direct } = kafka;
  const log = await kafkaPublisherLog({ brokers: direct, direct, registryUrl, prefix, proxy: null });
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
      restMs,
      folder: path.join(folder, 'run'),
      blows: Array.from({ length: times }, () => blows).flat(),
      size: { records: { insights: 300, analysts: 150, ipos: 500 }, everyMs: 20 },
      onFailover: ({ blow, feeds, ms }) => say(`${blow} (${feeds}): ${Math.round(ms)} ms`),
    });
    const lines = [
      `seed ${seed}, session timeout ${sessionTimeoutMs} ms, ${Math.round((Date.now() - began) / 1000)} s`,
      ...blows.map((blow) => describe(blow, failovers)),
      `${figuresOf(verdict)}; feeds taken back from a successor: ${thefts.length}`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
    expectGood(verdict, ...exitCodes);
    expect(thefts).toStrictEqual([]);
  } finally {
    await log.stop();
    await kafka.stop();
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
