import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type CliProcess, examplePrograms } from '../support/cli';
import { cliPublisher } from '../support/cli-publisher';
import { until } from '../support/until';

const { folder, api, start: highwater, records } = cliPublisher(() => ({}));
const example = examplePrograms();

const start = (...args: readonly string[]) =>
  example(['rating-alerts/main.mts', ...args], { cwd: folder(), env: { HIGHWATER_DATA_DIR: 'data' } });

async function stop(program: CliProcess): Promise<void> {
  expect((await program.stop('SIGINT')).code).toBe(0);
}

let calls = 0;

/** A new call of one firm, published before this resolves. @param rating_id that of another call corrects it */
async function call(symbol: string, facts: Record<string, unknown>): Promise<void> {
  const before = await records('insights.rating-changes').catch(() => []);
  const [template] = api().truth('insights').values();
  const now = new Date();
  calls++;
  api().stores.insights.upsert({
    ...template,
    id: `call-${calls}`,
    rating_id: `rating-${calls}`,
    firm: 'Rosra & Co.',
    firm_id: 'rosra',
    security: { symbol, name: `${symbol} Inc.`, exchange: 'NYSE', cik: '1', isin: 'US1' },
    date: now.toISOString().slice(0, 10),
    updated: Math.floor(now.getTime() / 1000),
    ...facts,
  });
  await until(async () => (await records('insights.rating-changes').catch(() => [])).length > before.length);
}

it('tells of calls on the symbols that are watched: changes of rating, targets that move enough, corrections', async () => {
  const publisher = highwater(['run', '--feeds', 'insights'], {
    HIGHWATER_API_URL: api().url,
    HIGHWATER_API_TOKEN: api().token,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_POLL_INTERVAL: '50ms',
  });
  await publisher.sees(/insights: (first )?snapshot complete/, 'stderr');

  writeFileSync(path.join(folder(), 'list.txt'), '# ours\nAAA, WARM\n');
  const first = start('--file', 'list.txt');
  await first.sees(/Watching 2 symbols/, 'stderr');
  // Until its group has a place: from then on nothing is missed, whether or not it runs.
  await until(async () => {
    await call('WARM', { action: 'Initiates Coverage On', rating: 'Buy', pt: `${10 + calls}.00` });
    return first.stdout() !== '';
  });
  await stop(first);
  expect(first.stdout()).toContain('★ INITIATION   WARM    Rosra & Co.');

  await call('AAA', { action: 'Initiates Coverage On', rating: 'Buy', pt: '10.00' });
  await call('AAA', { action: 'Maintains', rating: 'Buy', pt: '11.0000' });
  await call('AAA', { action: 'Maintains', rating: 'Buy', pt: '12.1' });
  await call('BBB', { action: 'Upgrades', rating: 'Buy', pt: '5.00' });
  await call('AAA', { action: 'Downgrades', rating: 'Hold', pt: '9.00' });
  await call('AAA', { action: 'Downgrades', rating: 'Hold', pt: '9.10', rating_id: `rating-${calls}` });
  const second = start('AAA');
  await second.sees(/CORRECTION.*\n/);
  await stop(second);
  const lines = second.stdout().trimEnd().split('\n');
  expect(lines.map((line) => line.slice(10).replace(/ {2,}/g, '  '))).toEqual([
    '★ INITIATION  AAA  Rosra & Co.  Buy  10.00',
    '↑ TARGET UP  AAA  Rosra & Co.  Buy  11.00 → 12.10 (+1.10)',
    '▼ DOWNGRADE  AAA  Rosra & Co.  Buy → Hold  12.10 → 9.00 (-3.10)',
    '↻ CORRECTION  AAA  Rosra & Co.  Hold  9.00 → 9.10 (+0.10)',
  ]);
});

it('says how it is to be started', async () => {
  const program = start();
  expect((await program.ended()).code).toBe(2);
  expect(program.stderr()).toBe('usage: main.mts [SYMBOL…] [--file watch-list.txt] [--more-than 1.00]\n');
});
