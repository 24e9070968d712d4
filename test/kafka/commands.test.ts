import { operatorCommandContract } from '../contract/operator-commands';
import { cliPublisher } from '../support/cli-publisher';
import { kafkaWorld } from '../support/kafka-world';
import { until } from '../support/until';

const kafka = kafkaWorld();
const publisher = cliPublisher(kafka.env);
const { api, done, isPaused, running: startPublisher, records, start, stillPolled } = publisher;

operatorCommandContract(publisher);

it('commands reach the publisher that runs; without one, the command takes the feed over itself', async () => {
  const running = await startPublisher();

  const paused = await done(['pause', 'ipos']);
  expect(paused.code).toBe(0);
  expect(paused.err).toContain(`:${running.pid} has feed ipos and accepted pause.`);
  expect(await isPaused()).toBe(true);
  expect((await done(['resume', 'ipos'])).code).toBe(0);
  await stillPolled('ipos');

  running.signal('SIGTERM');
  expect((await running.ended()).code).toBe(0);
  const alone = await done(['pause', 'ipos', '--wait', '1s']);
  expect(alone.code).toBe(0);
  expect(alone.err).toContain('this command acquires the feed');

  const next = start(['run']);
  await stillPolled('analysts');
  expect(await isPaused()).toBe(true);
  next.signal('SIGTERM');
  await next.ended();

  const name = `${kafka.prefix()}highwater.commands`;
  const { resources } = await (await kafka.admin()).describeConfigs({
    includeSynonyms: false,
    resources: [{ type: 2, name }],
  });
  const entries = resources[0]!.configEntries.map(({ configName, configValue }) => [configName, configValue]);
  expect(Object.fromEntries(entries)).toMatchObject({
    'cleanup.policy': 'delete',
    'retention.ms': '86400000',
    'message.timestamp.type': 'CreateTime',
  });
});

it('a command that comes before the publisher has its feeds is accepted once it has them', async () => {
  const first = await startPublisher();
  first.signal('SIGTERM');
  expect((await first.ended()).code).toBe(0);

  const pausing = done(['pause', 'ipos', '--wait', '2m']);
  await until(async () => (await records('highwater.commands')).length > 0);
  const next = start(['run']);
  const paused = await pausing;
  expect(paused.err).toContain(`:${next.pid} has feed ipos and accepted pause.`);
  expect(paused.code).toBe(0);
});

it('a publisher that stands still does not carry out what was withdrawn, and takes over what the command left', async () => {
  const running = await startPublisher();
  running.signal('SIGSTOP');
  // Nobody accepts it: the feed is taken over, and reset by the command itself.
  const reset = await done(['reset', 'ipos', '--yes', '--wait', '1s', '--json']);
  expect(reset.code).toBe(0);
  const lines = reset.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ kind }) => kind)).toEqual(['acting', 'done']);
  const paused = await done(['pause', 'ipos', '--wait', '1s']);
  expect(paused.code).toBe(0);
  expect(paused.err).toContain('this command acquires the feed');
  running.signal('SIGCONT');

  // At its next commit it learns that it is fenced, acquires the feed again, and finds it paused.
  await until(async () => {
    api().marketDay.step();
    return isPaused();
  });
  const offset = await lastOffset();
  expect(offset).toMatchObject({ paused: true, incarnation: lines[1].facts.incarnation });
  // It gets the next command, so it has read both requests and carried out neither.
  const resumed = await done(['resume', 'ipos', '--wait', '2m']);
  expect(resumed.err).toContain(`:${running.pid} has feed ipos`);
  await stillPolled('ipos');
  expect((await lastOffset()).incarnation).toBe(offset.incarnation);
});

it('a record of a JSON schema on their topic does not keep commands from the publisher', async () => {
  const running = await startPublisher();
  expect((await done(['pause', 'ipos'])).code).toBe(0);

  const topic = `${kafka.prefix()}highwater.commands`;
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' };
  const answer = await fetch(`${kafka.registryUrl()}/subjects/${kafka.prefix()}foreign/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schemaType: 'JSON', schema: JSON.stringify(schema) }),
  });
  const { id } = (await answer.json()) as { id: number };
  const header = Buffer.alloc(5);
  header.writeUInt32BE(id, 1);
  const value = Buffer.concat([header, Buffer.from('{"pause":"ipos"}')]);
  await kafka.send(topic, [{ key: 'ipos', value }]);

  const resumed = await done(['resume', 'ipos']);
  expect(resumed.err).toContain(`:${running.pid} has feed ipos and accepted resume.`);
  expect(resumed.code).toBe(0);
  expect(running.stderr()).toContain(`with the schema id ${id} are passed over`);
});

const lastOffset = async () => (await records('ipos.source-offset')).at(-1)!.value!;
