import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { stringify } from 'yaml';
import { commandLineHere, outcome } from '../support/cli';
import { endsWithTest } from '../support/ends';
import { sendJson, startHttpServer } from '../support/http-server';
import { tempFolder } from '../support/temp-folder';

const cli = commandLineHere();
const folder = tempFolder();

it.each([
  ['polls in its pause, as a publisher would', 0, [3, Number.POSITIVE_INFINITY]],
  ['does not add the time of slow polls to its pause', 500, [1, 2]],
] as const)('a reconcile without a publisher %s', async (_, answerMs, [least, most]) => {
  const began = Math.floor(Date.now() / 1_000);
  const isPoll = (since: number) => since > began - 900;
  let rows = Array.from({ length: 30 }, (_, i) => ({ id: `r${i}`, updated: began - 900 + i }));
  const asked: number[] = [];
  const server = await startHttpServer(async (request, response) => {
    const { searchParams } = new URL(request.url!, 'http://host');
    const since = Number(searchParams.get('since'));
    asked.push(since);
    if (isPoll(since)) await wait(answerMs);
    sendJson(response, { rows: rows.filter(({ updated }) => updated >= since) });
  });
  endsWithTest(server.stop);
  const fields = [
    { name: 'id', type: 'string' },
    { name: 'updated', type: 'long' },
    { name: 'extra', type: { type: 'map', values: 'string' }, default: {} },
  ];
  writeFileSync(
    path.join(folder(), 'row.avsc'),
    JSON.stringify({ type: 'record', name: 'Row', namespace: 'rows', fields }),
  );
  const feed = {
    ...{ apiUrl: server.url, auth: { scheme: 'none' }, path: '/rows', responseKey: 'rows' },
    ...{ idField: 'id', updatedField: 'updated', updatedFormat: 'seconds', schema: 'row.avsc' },
    parameters: { updatedSince: 'since', pageSize: null },
    paging: { style: 'none' },
  };
  writeFileSync(
    path.join(folder(), 'highwater.yaml'),
    stringify({ enabledFeeds: ['rows'], feeds: { rows: feed } }),
  );
  const env = { HIGHWATER_REQUESTS_PER_SECOND: '1000', HIGHWATER_POLL_INTERVAL: '200ms' };
  const highwater = (...args: string[]) => outcome(cli(args, { cwd: folder(), env }));
  expect((await highwater('run', '--once')).code).toBe(0);
  rows = rows.filter(({ id }) => id !== 'r7');
  asked.length = 0;
  expect((await highwater('reconcile', 'rows')).out).toContain('1 record deleted');
  const firstPoll = asked.findIndex(isPoll);
  const secondScan = asked.findIndex((since, i) => i > firstPoll && !isPoll(since));
  expect(secondScan - firstPoll).toBeGreaterThanOrEqual(least);
  expect(secondScan - firstPoll).toBeLessThanOrEqual(most);
});
