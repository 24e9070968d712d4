import { text } from 'node:stream/consumers';
import { type CliProcess, examplePrograms } from '../support/cli';
import { cliPublisher, type ReadRecord } from '../support/cli-publisher';
import { startHttpServer } from '../support/http-server';
import { until } from '../support/until';

const { folder, api, running, records } = cliPublisher(() => ({}));
const example = examplePrograms();

const start = (webhook = '') =>
  example(['ipo-alerts/main.mts'], {
    cwd: folder(),
    env: { HIGHWATER_DATA_DIR: 'data', ALERT_WEBHOOK_URL: webhook, TZ: 'UTC' },
  });

async function stop(program: CliProcess): Promise<void> {
  expect(await program.stop('SIGINT')).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toMatch(/^Watching \d+ IPOs. Ctrl-C ends it.\n$/);
}

/** Writes the parts of a terminal line next to the fields of the record. */
function move(id: string, change: Record<string, unknown>): void {
  const before = api().truth('ipos').get(id);
  const now = Math.floor(Date.now() / 1000);
  api().stores.ipos.upsert({ ...before, ...change, updated: now }, { key: id });
}

/** Until the program's place is known to its groups: from then on nothing is missed, whether or not it runs. */
async function seen(program: CliProcess, alerts: () => number): Promise<void> {
  await program.sees(/Watching/, 'stderr');
  const [id] = onTheirWay();
  let wanted = 'Withdrawn';
  await until(async () => {
    wanted = wanted === 'Priced' ? 'Withdrawn' : 'Priced';
    move(id!, { name: 'Warm-up', deal_status: wanted });
    await until(
      async () => statusOf((await records('ipos.current')).find(({ key }) => key === id)) === wanted,
    );
    return alerts() > 0 && program.stdout().includes('Warm-up');
  });
}

const statusOf = (record: ReadRecord | undefined): unknown => record?.value?.deal_status;

/** Ids of IPOs that can be priced, postponed and withdrawn yet. */
function onTheirWay(): string[] {
  const found = [...api().truth('ipos')].filter(([, { deal_status }]) => deal_status === 'Initial Filing');
  return found.map(([id]) => id);
}

it('tells of IPOs that are new, priced, postponed and withdrawn, also of those that came while it did not run', async () => {
  await running();
  const first = start();
  await seen(first, () => 1);
  await stop(first);

  const ids = onTheirWay().slice(1, 5) as [string, string, string, string];
  const priced = { name: 'Calmar Robotics Inc.', ticker: 'CMR', exchange: 'NYSE', currency: 'USD' };
  const shares = { offering_shares: 12_300_000, lead_underwriters: ['Dortis Securities'] };
  move(ids[0], {
    ...priced,
    ...shares,
    deal_status: 'Priced',
    price_public_offering: '14.000',
    price_min: '13.000',
    price_max: '17.250',
  });
  move(ids[1], { name: 'A', deal_status: 'Postponed' });
  move(ids[2], { name: 'B', deal_status: 'Withdrawn' });
  move(ids[3], { name: 'C', deal_status: 'Amended' });
  move('brand-new', { ...priced, id: 'brand-new', name: 'D', deal_status: 'Initial Filing' });
  await until(async () => (await records('ipos')).filter(({ key }) => key === 'brand-new').length === 1);

  const second = start();
  await until(() =>
    ['NEW', 'PRICED', 'POSTPONED', 'WITHDRAWN'].every((kind) => second.stdout().includes(kind)),
  );
  await stop(second);
  // The last one of the warm-up may have been too late for the first program.
  const lines = second
    .stdout()
    .trimEnd()
    .split('\n')
    .filter((line) => !line.includes('Warm-up'));
  expect(lines.map((line) => line.slice(10, 20).trim()).sort()).toEqual([
    'NEW',
    'POSTPONED',
    'PRICED',
    'WITHDRAWN',
  ]);
  expect(lines.find((line) => line.includes('PRICED'))?.slice(8)).toBe(
    '  PRICED     CMR     Calmar Robotics Inc.            NYSE     14.00 USD (range 13.00–17.25) · 12.3M shares · Dortis Securities',
  );
});

it('posts each alert until the receiver takes it, and keeps what the receiver refuses', async () => {
  const got: { id: unknown; alert: { name: string; kind: string }; status: number }[] = [];
  const server = await startHttpServer(async (request, response) => {
    const alert = JSON.parse(await text(request));
    const id = request.headers['idempotency-key'];
    const isFirst = !got.some((one) => one.id === id);
    const status = alert.name === 'Refused' ? 422 : isFirst && alert.name === 'Outage' ? 503 : 204;
    got.push({ id, alert, status });
    response.writeHead(status).end();
  });
  try {
    await running();
    const program = start(server.url);
    await seen(program, () => got.length);
    const ids = onTheirWay().slice(1, 3) as [string, string];
    move(ids[0], { name: 'Refused', deal_status: 'Priced' });
    move(ids[1], { name: 'Outage', deal_status: 'Postponed' });
    await until(() => got.some(({ alert, status }) => alert.name === 'Outage' && status === 204));
    await until(() => got.some(({ alert }) => alert.name === 'Refused'));
    await stop(program);
  } finally {
    await server.stop();
  }
  const answers = (name: string) => got.filter(({ alert }) => alert.name === name);
  expect(answers('Refused').map(({ status }) => status)).toEqual([422]);
  expect(answers('Outage').map(({ status }) => status)).toEqual([503, 204]);
  const [refused] = answers('Refused');
  expect(refused).toMatchObject({
    id: expect.stringMatching(/^ipos:\w+:\d+:deal_status$/),
    alert: { kind: 'priced' },
  });
  const letters = await records('ipo-alerts.webhook.dead-letters');
  expect(letters.map(({ value }) => value?.name)).toEqual(['Refused']);
});
