import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { examineTransactions } from '../../src/log/kafka/admin/examine';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { appender } from '../../src/log/kafka/shared-topics';
import { commandLine } from '../support/cli';
import { kafkaWorld, plainKafka } from '../support/kafka-world';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const cli = commandLine();
const folder = tempFolder();
const onKafka = kafkaWorld();
const api = simulatedApi({ ipos: 5 });

it('a clock two hours ahead is named with the limit of the brokers', async () => {
  const cluster = plainKafka(onKafka.brokers());
  const { signal } = new AbortController();
  const kafka = kafkaClient(cluster, 'test', quietLogger());
  const writer = appender(kafka, cluster, signal);
  const spec = {
    name: `${onKafka.prefix()}commands`,
    partitions: 1,
    cleanup: 'delete',
    retentionMs: 86_400_000,
  } as const;
  const at = (timestamp: number) =>
    writer.append(
      spec,
      [{ topic: spec.name, key: 'k', value: Buffer.from('v'), headers: {}, timestamp }],
      signal,
    );
  try {
    await at(Date.now());
    await expect(at(Date.now() + 7_200_000)).rejects.toMatchObject({
      code: 'LOG_RECORD_REFUSED',
      message: expect.stringMatching(/INVALID_TIMESTAMP\); the clock of this machine says 20/),
      remedy: expect.stringMatching(/NTP.*message\.timestamp\.after\.max\.ms \(1 h by default\)/),
    });
  } finally {
    await writer.close();
  }
}, 90_000);

it('a publisher whose clock is two hours ahead names the topics, the record and its clock', async () => {
  const clock = path.join(folder(), 'clock.cjs');
  writeFileSync(clock, 'const { now } = Date; Date.now = () => now() + 7_200_000;');
  const env = { ...onKafka.env(), ...apiEnv(api()), NODE_OPTIONS: `--require=${clock}` };
  const run = cli(['run', '--once', '--feeds', 'ipos'], { cwd: folder(), env });
  expect((await run.ended()).code).toBe(1);
  const said = run.stderr().replace(/\s+/g, ' ');
  expect(said).toMatch(/INVALID_TIMESTAMP\); the clock of this machine says 20/);
  expect(said).toMatch(
    /the oldest record for .*\.current.* is of 20.* do: Set the clock of this machine by NTP/,
  );
}, 90_000);

it('a clock that is set two hours ahead ends the ownership, with the refusal of the brokers as the reason', async () => {
  const own = folder();
  const [clock, ahead] = [path.join(own, 'clock.cjs'), path.join(own, 'ahead')];
  writeFileSync(
    clock,
    `const { now } = Date; const { existsSync } = require('node:fs');
     Date.now = () => now() + (existsSync(${JSON.stringify(ahead)}) ? 7_200_000 : 0);`,
  );
  const intervals = { HIGHWATER_POLL_INTERVAL: '1s', NODE_OPTIONS: `--require=${clock}` };
  const env = { ...onKafka.env(), ...apiEnv(api()), ...intervals };
  const run = cli(['run', '--feeds', 'ipos'], { cwd: own, env });
  await run.sees(/ipos/, 'stderr');
  await until(() => api().requests('ipos').length > 3);
  writeFileSync(ahead, '');
  api().marketDay.start(30);
  await run.sees(/could not be learned: .*INVALID_TIMESTAMP/s, 'stderr');
  await run.sees(/INVALID_TIMESTAMP\); the clock of this machine says 20/, 'stderr');
  expect((await run.stop()).signal).toBeNull();
}, 90_000);

it.each([2, -2, 0])(
  'doctor measures that the own clock is %i hours ahead of the brokers',
  async (hours) => {
    const cluster = plainKafka(onKafka.brokers());
    const kafka = kafkaClient(cluster, 'test', quietLogger());
    const topicPrefix = onKafka.prefix();
    await onKafka.create({ topic: `${topicPrefix}ipos` });
    const apart = hours * 3_600_000;
    const now = () => Date.now() + apart;
    const examine = { kafka, cluster, appId: 'test', topicPrefix, topics: [`${topicPrefix}ipos`], now };
    const aheadMs = await examineTransactions(examine);
    // The way there and back is not counted.
    expect(Math.abs(aheadMs! / 60_000 - hours * 60)).toBeLessThan(1);
  },
  90_000,
);
