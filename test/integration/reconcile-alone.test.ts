import { setTimeout as wait } from 'node:timers/promises';
import { avroRecord } from '../support/avro';
import { commandsHere } from '../support/cli';
import { endsWithTest } from '../support/ends';
import { sendJson, startHttpServer } from '../support/http-server';
import { declareFeed } from '../support/own-feed';

const { folder, done } = commandsHere();

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
  declareFeed(folder(), 'rows', avroRecord('Row'), {
    apiUrl: server.url,
    parameters: { updatedSince: 'since', pageSize: null },
    paging: { style: 'none' },
  });
  const env = { HIGHWATER_REQUESTS_PER_SECOND: '1000', HIGHWATER_POLL_INTERVAL: '200ms' };
  const highwater = (...args: string[]) => done(args, env);
  expect((await highwater('run', '--once')).code).toBe(0);
  rows = rows.filter(({ id }) => id !== 'r7');
  asked.length = 0;
  expect((await highwater('reconcile', 'rows')).out).toContain('1 record deleted');
  const firstPoll = asked.findIndex(isPoll);
  const secondScan = asked.findIndex((since, i) => i > firstPoll && !isPoll(since));
  expect(secondScan - firstPoll).toBeGreaterThanOrEqual(least);
  expect(secondScan - firstPoll).toBeLessThanOrEqual(most);
});
