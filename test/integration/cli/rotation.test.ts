import { mkdirSync } from 'node:fs';
import { get } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Authority, authority } from '../../support/certificates';
import { type CliProcess, commandsInFolder } from '../../support/cli';
import { endsWithTest } from '../../support/ends';
import { sendJson, startHttpServer } from '../../support/http-server';
import {
  everySpelling,
  filesUnder,
  findSecrets,
  markedSecret,
  type Place,
} from '../../support/marked-secrets';
import { apiEnv, simulatedApi } from '../../support/simulated-api';
import { replaceFile } from '../../support/temp-folder';
import { until } from '../../support/until';

/** Secrets and certificates that are replaced under a publisher, as a real process. */

const { file, start } = commandsInFolder();
const data = () => file('data');

beforeEach(() => {
  mkdirSync(file('secrets'));
});

const write = (name: string, text: string) => replaceFile(file('secrets'), name, text);

function publisher(env: Readonly<Record<string, string>>, ...args: readonly string[]): CliProcess {
  const usual = { HIGHWATER_DATA_DIR: data(), HIGHWATER_REQUESTS_PER_SECOND: '1000' };
  return start(['run', '--feeds', 'ipos', '--poll-interval', '100ms', ...args], { ...usual, ...env });
}

const printed = (process: CliProcess) => process.stdout() + process.stderr();

describe('with a simulated API', () => {
  const api = simulatedApi({ ipos: 20 });

  const settings = () => apiEnv(api());

  it("the dashboard's token is the present content of its file", async () => {
    const [first, second] = ['first-admin-token-4711', 'second-admin-token-0815'];
    const running = publisher(
      { ...settings(), HIGHWATER_HTTP_TOKEN_FILE: write('admin', `${first}\n`) },
      '--http-port=0',
    );
    const [, url] = await running.sees(/Metrics at (\S+\/metrics)/, 'stderr');
    const status = async (token: string) =>
      (await fetch(url!, { headers: { authorization: `Bearer ${token}` } })).status;
    expect([await status(first), await status(second)]).toEqual([200, 401]);
    write('admin', `${second}\n`);
    await until(async () => (await status(second)) === 200);
    expect(await status(first)).toBe(401);
    // A file that is written at this moment locks nobody out.
    write('admin', '');
    await running.sees(/httpTokenFile has a new value/, 'stderr');
    expect(await status(second)).toBe(200);
    expect(printed(running)).not.toMatch(new RegExp(`${first}|${second}`));
  });

  it("the API's authority is the present content of its file: a feed that refuses a certificate goes on by itself", async () => {
    const [ours, next] = [await authority('ours'), await authority('next')];
    const front = await httpsFront(api().url, ours);
    endsWithTest(front.stop);
    const running = publisher({
      ...settings(),
      HIGHWATER_API_URL: front.url,
      HIGHWATER_API_CA_FILE: write('ca', next.cert),
    });
    await running.sees(/code=SOURCE_CERTIFICATE/, 'stderr');
    write('ca', ours.cert);
    await running.sees(/apiCaFile has a new value/, 'stderr');
    await running.sees(/ipos: (first )?snapshot complete/, 'stderr');

    await front.showCertificateOf(next);
    await until(() => printed(running).split('code=SOURCE_CERTIFICATE').length > 2);
    write('ca', next.cert);
    await running.sees(/Feed ipos is read again\..*after=SOURCE_CERTIFICATE/, 'stderr');
    const { length } = api().requests('ipos');
    await until(() => api().requests('ipos').length > length + 3);
  });
});

it('an API that repeats the token of before and the present one shows neither, in logs, errors, events and dead letters', async () => {
  const [first, second] = [markedSecret('the first token'), markedSecret('the second token')];
  let accepted = first;
  let spoken = 0;
  /** Only tokens that the publisher has used. */
  const used = new Set<string>();
  const refusal = () => {
    const spellings = [...used].flatMap(everySpelling);
    return spellings[spoken++ % spellings.length]!;
  };
  let pages = 0;
  const server = await startHttpServer(({ url = '' }, response) => {
    const query = new URL(url, 'http://host').searchParams;
    used.add(query.get('token')!);
    if (query.get('token') !== accepted.value)
      return sendJson(
        response,
        { ok: false, errors: [{ code: 'auth_failed', id: 'bad', value: refusal() }] },
        401,
      );
    if (pages % 3 === 1) {
      pages++;
      return sendJson(response, { message: refusal() }, 500);
    }
    const link = (token: string) => `/ipos?token=${encodeURIComponent(token)}`;
    const login = (token: string) => Buffer.from(`highwater:${token}`).toString('base64');
    const said = [...used].flatMap((token) => [token, link(token), login(token)]);
    const row = (id: string | null) => ({ id, updated: 1_700_000_000 + pages, ticker: said.at(-1), said });
    pages++;
    sendJson(response, { ipos: query.get('page') === '0' ? [row('a'), row(null)] : [] });
  });
  endsWithTest(server.stop);
  const env = {
    HIGHWATER_API_URL: server.url,
    HIGHWATER_API_TOKEN_FILE: write('token', first.value),
    HIGHWATER_DATA_DIR: data(),
    HIGHWATER_RETRY_TIME: '2s',
  };
  const running = publisher(env, '--log-level', 'debug');
  await until(() => pages > 5);
  accepted = second;
  await running.sees(/code=SOURCE_UNAUTHORIZED/, 'stderr');
  const places: Place[] = [];
  const read = async (...args: readonly string[]) => {
    const reader = start(args, env);
    await reader.ended();
    places.push({ name: args.join(' '), content: printed(reader) });
  };
  await read('status', '--json');
  write('token', second.value);
  const [before, spellings] = [spoken, 2 * everySpelling(first.value).length];
  await until(() => spoken > before + spellings);
  await read('tail', 'ipos', '--no-follow', '--json');
  await read('dead-letters', 'list', '--json');
  await running.stop();
  expect(places.map(({ content }) => /\[redacted\]/.test(String(content)))).toEqual([true, true, true]);
  places.push({ name: 'run', content: printed(running) }, ...filesUnder(data()));
  expect(findSecrets([first, second], places)).toStrictEqual([]);
});

/** An API over TLS, in front of another one. */
async function httpsFront(behind: string, signer: Authority) {
  const certificateOf = (by: Authority) => by.sign({ name: 'api' });
  const server: Server = createServer(await certificateOf(signer), ({ url = '' }, response) => {
    get(`${behind}${url}`, { agent: false }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** For the connections from now on. */
    async showCertificateOf(by: Authority) {
      server.setSecureContext(await certificateOf(by));
      server.closeAllConnections();
    },
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
