import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type RecordSchema, readSchema } from '../../src/avro/schemas';
import { type CliProcess, commandLine } from '../support/cli';
import { kafkaWorld } from '../support/kafka-world';
import type { Values } from '../support/published';
import { without } from '../support/schema-versions';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const cli = commandLine();
const folder = tempFolder();
const kafka = kafkaWorld();
const api = simulatedApi({ ipos: 200 });

const newer = { ...readSchema('ipo.avsc'), namespace: 'marketdata.deals' } as RecordSchema;
const older = without(newer, ['notes', 'lead_underwriters']);

/** The IPO calendar under another name, so that its schema is a setting. */
const section = `
feeds:
  deals:
    path: /api/v2.1/calendar/ipos
    responseKey: ipos
    schema: deal.avsc
    parameters: { page: page, pageSize: pagesize, updatedSince: "parameters[updated]" }
    pageSize: 50
    overlap: 5s
    pollInterval: 100ms
`;

function start(name: string, schema: RecordSchema, ...args: string[]): CliProcess {
  const home = path.join(folder(), name);
  mkdirSync(home, { recursive: true });
  writeFileSync(path.join(home, 'highwater.yaml'), section);
  writeFileSync(path.join(home, 'deal.avsc'), JSON.stringify(schema));
  const env = {
    ...kafka.env(),
    HIGHWATER_FEEDS: 'deals',
    HIGHWATER_APP_ID: `${kafka.prefix()}app`,
    KAFKA_SESSION_TIMEOUT: '5s',
    ...apiEnv(api()),
  };
  return cli(args.length === 0 ? ['run'] : args, { cwd: home, env });
}

/** A record as a consumer with the newer schema reads it, whichever wrote it. */
function asNewer(record: Values): Values {
  return { notes: null, lead_underwriters: null, ...record };
}

it('three instances are replaced one after the other by a newer version with more fields, and the feed goes on without a gap', async () => {
  const instances: CliProcess[] = [];
  for (const name of ['a', 'b', 'c']) {
    const instance = start(name, older);
    await instance.sees(/This instance (has deals|waits)/, 'stderr');
    instances.push(instance);
  }
  const following = start('reader', newer, 'tail', 'deals', '--from-beginning', '--json');
  const events = (): Values[] =>
    following
      .stdout()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).value as Values);
  await until(() => events().length >= 200);
  api().marketDay.start(30);

  const newerOnes: CliProcess[] = [];
  const ends: number[] = [];
  for (const [i, instance] of instances.entries()) {
    await commitsMore();
    instance.signal('SIGTERM');
    const { code } = await instance.ended();
    ends.push(code ?? -1);
    const next = start(`new-${i}`, newer);
    await next.sees(/This instance (has deals|waits)/, 'stderr');
    newerOnes.push(next);
  }
  await commitsMore();
  api().marketDay.stop();
  expect(ends).toEqual([0, 0, 0]);
  // Records that changed under the newer version have the field that the older one did not know.
  await until(() => events().some(({ op, after }) => op !== 'r' && after?.notes !== undefined));
  const settled = () => {
    const last = new Map(events().map(({ after }) => [after.id, after]));
    const rows = [...api().truth('ipos').values()];
    return rows.every(({ id, deal_status }) => last.get(id)?.deal_status === (deal_status || null));
  };
  await until(settled);
  for (const one of newerOnes) one.signal('SIGTERM');
  expect((await Promise.all(newerOnes.map((one) => one.ended()))).map(({ code }) => code)).toEqual([0, 0, 0]);
  following.signal('SIGINT');
  await following.ended();

  const numbers = events().map(({ source }) => source.seq as number);
  expect([...numbers].sort((a, b) => a - b)).toEqual(numbers.map((_, i) => i + 1));
  const known = new Map<string, Values>();
  for (const { op, before, after } of events()) {
    const { id } = after;
    if (op === 'u') expect(asNewer(before)).toEqual(known.get(id));
    else expect([before, known.has(id)]).toEqual([null, false]);
    known.set(id, asNewer(after));
  }

  async function commitsMore(): Promise<void> {
    const count = events().length;
    await until(() => events().length >= count + 20);
  }
});
