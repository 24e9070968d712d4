import { mkdirSync, readdirSync } from 'node:fs';
import type { ChangeView } from '../../../src/admin/dashboard/view';
import { freePort } from '../../../tools/servers/ports';
import { commandsInFolder } from '../../support/cli';
import { eventsOf } from '../../support/event-stream';
import { sampleOf } from '../../support/samples';
import { until } from '../../support/until';

const { file, start, done } = commandsInFolder();

/** The demo's lines in the README. */
const sampleLines = timeless(sampleOf('demo').text)
  .split('\n')
  .filter((line) => line.trim() !== '');

/** The text without what differs between runs of one seed: times, dates, ports, and how long something took. */
function timeless(text: string): string {
  return text
    .replaceAll(/\d\d:\d\d:\d\d/g, 'TIME')
    .replaceAll(/\d{4}-\d\d-\d\d/g, 'DATE')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replaceAll(/in [\d.]+ s\b/g, 'in SECONDS');
}

function demo(...args: string[]) {
  const temporary = file('tmp');
  mkdirSync(temporary, { recursive: true });
  return { temporary, process: start(['demo', '--interval', '200ms', ...args], { TMPDIR: temporary }) };
}

async function isGone(url: string): Promise<boolean> {
  return fetch(url).then(
    () => false,
    () => true,
  );
}

it('shows the snapshot, changes and transitions, then what it published, and leaves nothing behind', async () => {
  const { temporary, process } = demo();
  const [, url = ''] = await process.sees(/API runs at (http:\S+)\.\n/);
  for (const feed of ['insights +1,200', 'analysts +400', 'ipos +800'])
    await process.sees(new RegExp(`${feed} records in [0-9.]+ s`));
  expect(readdirSync(temporary)).toHaveLength(1);
  await process.sees(/▲ UPGRADE +\S+ +.*: .* → /);
  await process.sees(/~ ipos +\S+ +.* deal_status .* → Withdrawn/);
  await process.sees(/⚠ WITHDRAWN +.* → WITHDRAWN\n/);
  expect(await process.stop('SIGINT')).toEqual({ code: 0, signal: null });
  expect(sampleLines.filter((line) => !timeless(process.stdout()).includes(line))).toStrictEqual([]);
  expect(process.stdout()).toMatch(
    /\n {2}2,4\d\d events published: 1,2\d\d insights, 40\d analysts, 80\d ipos, \d+ transitions\n$/,
  );
  expect(process.stderr()).toBe('');
  expect(readdirSync(temporary)).toStrictEqual([]);
  expect(await isGone(url)).toBe(true);
});

it('says what to try in a second terminal, and that works', async () => {
  const { process } = demo();
  const command = /npx highwater (tail ipos --json .*)\n/;
  const [, args = ''] = await process.sees(command);
  const { code, out } = await done(args.split(' '));
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ topic: 'ipos', type: 'marketdata.ipos.Envelope' });
});

it('ends by itself and keeps the log where it was told to', async () => {
  const kept = file('kept');
  const { temporary, process } = demo('--for', '2s', '--data-dir', kept);
  expect(await process.ended()).toEqual({ code: 0, signal: null });
  expect(process.stdout()).toContain(`The log stays in ${kept}.`);
  expect(readdirSync(kept)).toContain('highwater.db');
  expect(readdirSync(temporary)).toStrictEqual([]);
});

it('names a temporary folder that cannot be used, and what else to name', async () => {
  const none = start(['demo'], { TMPDIR: file('not', 'there') });
  expect(await none.ended()).toEqual({ code: 2, signal: null });
  expect(none.stderr()).toContain('LOG_UNWRITABLE');
  expect(none.stderr()).toContain('--data-dir');
});

it('has a dashboard that shows what the terminal shows, on a port that may be chosen', async () => {
  const port = String(await freePort());
  const { process } = demo('--http-port', port);
  const [, url = ''] = await process.sees(/Dashboard +(http:\S+)\n/);
  expect(url).toBe(`http://127.0.0.1:${port}/`);
  expect(await (await fetch(url)).text()).toContain('<html');
  const isWithdrawn = ({ transitions }: ChangeView) => transitions[0]?.after === 'Withdrawn';
  const events = await eventsOf(url, ({ changes }) => changes.some(isWithdrawn));
  const withdrawn = events.changes.find(isWithdrawn)!;
  await until(() => process.stdout().includes(withdrawn.title));

  const taken = demo('--http-port', port).process;
  expect(await taken.ended()).toEqual({ code: 1, signal: null });
  expect(taken.stderr()).toContain('PORT_UNAVAILABLE');
  expect(await process.stop('SIGINT')).toEqual({ code: 0, signal: null });
});
