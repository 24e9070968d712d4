import { createRandom } from '../../src/simulator/random';
import { type FaultReport, runBrokerFaults } from '../faults/broker-fault-run';
import { brokerFaults } from '../faults/broker-faults';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { type ProxiedBrokers, startProxiedBrokers } from '../support/proxied-brokers';
import { sharedServers, uniquePrefix } from '../support/servers';
import { expectGood, figuresOf, say, seed, setting, soakFolder } from './soak';

/**
 * Two publishers share the feeds of a restless market on three brokers. Every fault happens to the brokers, in another order each
 * round. Settings: ROUNDS (2), SOAK_MINUTES after which no further fault comes (8), SEED (drawn).
 */
const rounds = setting('ROUNDS', 2);
const minutes = setting('SOAK_MINUTES', 8);

const reports: FaultReport[] = [];
let brokers: ProxiedBrokers;
const folder = soakFolder(() => brokers?.stop());

beforeAll(async () => {
  say(`seed ${seed}`);
  brokers = await startProxiedBrokers();
}, 180_000);

afterAll(() => void process.stdout.write(`${table(reports)}\n`));

it(
  'publishers go on by themselves, whatever happens to the brokers, and the log is as it must be',
  async () => {
    const { registryUrl } = await sharedServers();
    const [prefix, { proxied, direct }, random] = [uniquePrefix(), brokers, createRandom(seed)];
    const log = await kafkaPublisherLog({ brokers: proxied, direct, registryUrl, prefix, proxy: null });
    const inTurn = () =>
      brokerFaults
        .map((fault) => ({ fault, at: random.next() }))
        .sort((a, b) => a.at - b.at)
        .map(({ fault }) => fault);
    const { verdict, exitCodes } = await runBrokerFaults({
      seed,
      brokers,
      registryUrl,
      prefix,
      log,
      folder,
      size: { records: { insights: 300, analysts: 150, ipos: 500 }, everyMs: 40 },
      faults: Array.from({ length: rounds }, inTurn).flat(),
      untilMs: minutes * 60_000,
      onFault(report) {
        reports.push(report);
        say(`${report.fault}: back after ${report.recoveredMs} ms, longest pause ${report.pauseMs} ms`);
      },
    }).finally(() => log.stop());

    say(figuresOf(verdict));
    expectGood(verdict, ...exitCodes);
  },
  (minutes + 8) * 60_000,
);

/** `fault | times | back after: median, worst | longest pause` */
function table(all: readonly FaultReport[]): string {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const rows = brokerFaults.map((fault) => {
    const own = all.filter((report) => report.fault === fault);
    if (own.length === 0) return `| ${fault} | 0 | | | |`;
    const times = own.map(({ recoveredMs }) => recoveredMs).sort((a, b) => a - b);
    const [median, worst] = [times[Math.floor((times.length - 1) / 2)]!, times.at(-1)!];
    const pause = Math.max(...own.map(({ pauseMs }) => pauseMs));
    return `| ${fault} | ${own.length} | ${seconds(median)} | ${seconds(worst)} | ${seconds(pause)} |`;
  });
  return [
    '| fault | times | back after (median) | worst | longest pause |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}
