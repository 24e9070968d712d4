import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { type ChangeWriter, changeWriter } from '../support/change-writer';
import { commandLine, outcome } from '../support/cli';
import { endsWithTest } from '../support/ends';
import { kafkaWorld } from '../support/kafka-world';
import { ok, startReceiver } from '../support/receiver';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const kafka = kafkaWorld();
const cli = commandLine();
const folder = tempFolder();

async function publisher(): Promise<ChangeWriter> {
  const config = { url: kafka.registryUrl(), auth: null, registration: 'register' } as const;
  const registry = confluentRegistry(config, { logger: quietLogger() });
  const writer = await changeWriter({ commitLog: kafka.log(), registry }, kafka.prefix());
  endsWithTest(() => writer.close());
  return writer;
}

function deliver(url: string, from = 'beginning') {
  const section = `desk: { topics: [ipos.deal-status], from: ${from}, to: { webhook: "${url}" } }`;
  writeFileSync(path.join(folder(), 'highwater.yaml'), `deliveries:\n  ${section}\n`);
  return cli(['deliver'], { cwd: folder(), env: kafka.env() });
}

const round = (status: string) => Array.from({ length: 30 }, (_, key) => ({ id: `k${key}`, status }));

it('two processes share a delivery, and when one is killed the other has its partitions', async () => {
  const { write } = await publisher();
  const receiver = await startReceiver();
  await write(...round('1'));
  const processes = [deliver(receiver.url), deliver(receiver.url)];
  await until(() => receiver.received.length >= 30);
  for (let status = 2; status < 6; status++) await write(...round(String(status)));
  processes[0]!.signal('SIGKILL');
  for (let status = 6; status < 9; status++) await write(...round(String(status)));
  const ids = () => new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
  await until(() => ids().size === 8 * 30);
  const last = new Map<string, string>();
  const seen = new Set<unknown>();
  for (const { headers, body } of receiver.received) {
    const { data } = JSON.parse(body) as { data: { id: string; status: string } };
    if (!seen.has(headers['webhook-id'])) {
      expect(data.status > (last.get(data.id) ?? '')).toBe(true);
      last.set(data.id, data.status);
    }
    seen.add(headers['webhook-id']);
  }
});

it('the reason why a delivery waits stands beside its position until the receiver takes the event', async () => {
  const { write } = await publisher();
  const receiver = await startReceiver((response) => response.writeHead(503).end());
  await write({ id: 'a', status: 'Filed' });
  const run = deliver(receiver.url);
  const admin = await kafka.admin();
  const topic = `${kafka.prefix()}ipos.deal-status`;
  const offsets = async () => {
    const [found] = await admin.fetchOffsets({ groupId: `${kafka.prefix()}delivery-desk`, topics: [topic] });
    return found!.partitions.filter(({ offset }) => Number(offset) >= 0);
  };
  await until(async () => (await offsets()).some(({ metadata }) => metadata?.includes('answered 503')));
  receiver.answers(ok);
  await until(async () => (await offsets()).some(({ offset }) => Number(offset) > 0));
  expect((await offsets()).map(({ metadata }) => metadata)).toEqual(
    (await offsets()).map(() => expect.stringMatching(/^topic-id=[\w-]{22}$/)),
  );
  run.signal('SIGTERM');
  expect(await run.ended()).toEqual({ code: 0, signal: null });
});

it('a delivery whose position the brokers forgot skips nothing: it says so, in status as well, and waits for a reset', async () => {
  const { write } = await publisher();
  const receiver = await startReceiver();
  await write({ id: 'a', status: 'Rumored' });
  const status = async () => {
    const { out } = await outcome(
      cli(['status', '--feeds', 'ipos', '--json'], { cwd: folder(), env: kafka.env() }),
    );
    return JSON.parse(out.trim().split('\n').at(-1)!) as unknown;
  };
  const first = deliver(receiver.url, 'end');
  const admin = await kafka.admin();
  const groupId = `${kafka.prefix()}delivery-desk`;
  await until(async () => (await admin.listTopics()).includes(`${groupId}.dead-letters`));
  await first.sees(/INFO +The delivery desk has no position in \S+ipos.deal-status yet/, 'stderr');
  expect(first.stderr()).not.toContain('WARN');
  await write({ id: 'a', status: 'Filed' });
  await until(() => receiver.received.length === 1);
  await first.stop();

  await write({ id: 'a', status: 'Priced' });
  // As the brokers do after offsets.retention.minutes.
  await admin.deleteGroups([groupId]);
  const second = deliver(receiver.url, 'end');
  await second.sees(/The delivery desk rests: the group \S+ has no position in partition \d/, 'stderr');
  const reset = ['groups', 'reset', 'delivery-desk', '--to', 'beginning'];
  expect(second.stderr()).toContain(`highwater ${reset.join(' ')}`);
  expect(await status()).toMatchObject({
    delivery: 'desk',
    waits_for: expect.stringMatching(
      /^its position, .*`highwater groups reset delivery-desk --to beginning`/,
    ),
  });
  const again = (...more: string[]) =>
    outcome(cli([...reset, '--yes', ...more], { cwd: folder(), env: kafka.env() }));
  expect(await again('--topic', 'ipos')).toMatchObject({
    code: 2,
    err: expect.stringContaining('has no position in ipos.deal-status either') as string,
  });
  await until(async () => (await again()).code === 0);
  await until(() => receiver.received.length >= 4);
  const statuses = receiver.received.map(
    ({ body }) => (JSON.parse(body) as { data: { status: string } }).data.status,
  );
  expect(statuses).toEqual(['Filed', 'Rumored', 'Filed', 'Priced']);
  expect(await status()).toMatchObject({ waits_for: null });
}, 120_000);
