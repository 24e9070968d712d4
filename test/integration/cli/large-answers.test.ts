import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { commandsInFolder } from '../../support/cli';
import { type HttpServer, startHttpServer } from '../../support/http-server';

const { file, start } = commandsInFolder();
let api: HttpServer | undefined;
afterEach(() => api?.stop());

const LIMIT_MB = 64;
/**
 * Memory for the program, and several times the answer: its pieces, the whole, its rows, and answers of earlier polls that are not
 * collected yet.
 */
const MOST_MB = 256 + 8 * LIMIT_MB;

const levels = 25_000_000;
const good = '{"id":"good","updated":1700000000,"name":"Good"}';

it.each([
  ['millions of empty rows', () => `{"ipos":[${'{},'.repeat(19_000_000)}{}]}`, /SOURCE_TOO_MANY_ROWS/],
  ['lists within each other', () => '['.repeat(60_000_000), /SOURCE_BODY_TRUNCATED/],
  ['objects within each other', () => '{"a":'.repeat(12_000_000), /SOURCE_BODY_TRUNCATED/],
  [
    'a row of lists within each other beside a good one',
    () => `{"ipos":[${good},{"id":"a","updated":1700000001,"x":${'['.repeat(levels)}${']'.repeat(levels)}}]}`,
    /ipos: (first )?snapshot complete/,
  ],
])(
  'an answer of %s takes memory of the order of its limit, and SIGTERM ends the process meanwhile',
  async (_, body, told) => {
    const answer = gzipSync(body(), { level: 1 });
    let onAnswer = () => {};
    api = await startHttpServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(answer, () => onAnswer());
    });
    const peakFile = file('peak');
    const publisher = start(['run'], {
      HIGHWATER_API_URL: api.url,
      HIGHWATER_API_TOKEN: 'a-token-of-some-length',
      HIGHWATER_FEEDS: 'ipos',
      HIGHWATER_POLL_INTERVAL: '100ms',
      HIGHWATER_REQUESTS_PER_SECOND: '1000',
      HIGHWATER_BODY_LIMIT: `${LIMIT_MB}MB`,
      NODE_OPTIONS: `--require ${path.join(__dirname, '../../support/peak-memory.cjs')}`,
      PEAK_FILE: peakFile,
    });
    await publisher.sees(told, 'stderr');
    const isAnswered = new Promise<void>((resolve) => {
      onAnswer = resolve;
    });
    await isAnswered;
    expect(await publisher.stop()).toEqual({ code: 0, signal: null });
    expect(Number(readFileSync(peakFile, 'utf8')) / 1_000).toBeLessThan(MOST_MB);
  },
);
