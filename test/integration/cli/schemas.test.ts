import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { openLocalLog } from '../../../src/log/local/local-log';
import { commandsHere } from '../../support/cli';
import { transitionsOnFeedTopic } from '../../support/feeds';
import { type HttpServer, sendJson, startHttpServer } from '../../support/http-server';

const { folder, file, done } = commandsHere();

const schemas = (args: readonly string[], env: Record<string, string> = {}) =>
  done(['schemas', ...args], env);

const lines = (text: string) => text.split('\n').slice(0, -1);
const json = (text: string) => lines(text).map((line) => JSON.parse(line));

/** A schema under a subject of the embedded log, as another version of highwater would have registered it. */
async function registered(subject: string, fields: readonly object[], name = 'Ipo'): Promise<void> {
  const { registry, commitLog } = openLocalLog({ dataDir: file('data') });
  await registry.register(subject, { type: 'record', name, namespace: 'marketdata.ipos', fields });
  await commitLog.close();
}

const config = (text: string) => writeFileSync(file('highwater.yaml'), text);

describe('schemas print', () => {
  it('prints every subject of every feed with its schema, and asks no server', async () => {
    const { code, out } = await schemas(['print'], { SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' });

    expect(code).toBe(0);
    const printed = JSON.parse(out) as Record<string, { name: string }>;
    expect(Object.keys(printed).sort()).toEqual([
      'analysts-value',
      'analysts.current-value',
      'analysts.dead-letters-value',
      'analysts.source-offset-value',
      'highwater.commands-value',
      'insights-value',
      'insights.current-value',
      'insights.dead-letters-value',
      'insights.rating-changes-value',
      'insights.source-offset-value',
      'ipos-value',
      'ipos.current-value',
      'ipos.dead-letters-value',
      'ipos.deal-status-value',
      'ipos.source-offset-value',
    ]);
    expect(printed['ipos-value']).toMatchObject({ name: 'Envelope', namespace: 'marketdata.ipos' });
  });

  it('honours prefix and feeds, and transitions on the topic of their feed', async () => {
    config(transitionsOnFeedTopic);
    const { out } = await schemas(['print', '--feeds', 'ipos', '--topic-prefix', 'staging.']);

    expect(Object.keys(JSON.parse(out)).sort()).toEqual([
      'staging.highwater.commands-value',
      'staging.ipos-marketdata.ipos.DealStatusChanged',
      'staging.ipos-marketdata.ipos.Envelope',
      'staging.ipos.current-value',
      'staging.ipos.dead-letters-value',
      'staging.ipos.source-offset-value',
    ]);
  });

  it('prints the schema of one subject alone', async () => {
    const { out } = await schemas(['print', '--subject', 'ipos.current-value']);
    expect(JSON.parse(out)).toMatchObject({ type: 'record', name: 'Ipo' });

    const unknown = await schemas(['print', '--feeds', 'ipos', '--subject', 'insights-value']);
    expect(unknown.code).toBe(2);
    expect(unknown.err).toMatch(/no subject insights-value; there are ipos-value, /);
  });

  it('does not leave out a feed that is declared wrongly', async () => {
    config('feeds:\n  ipos:\n    schema: nowhere.avsc\n');
    const { code, err, out } = await schemas(['print']);

    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('feeds.ipos.schema');
  });

  it('does without the token that a publisher needs', async () => {
    const env = { HIGHWATER_API_TOKEN_FILE: '/nowhere/token', KAFKA_SSL_CA_FILE: '/nowhere/ca.pem' };
    expect((await schemas(['print'], env)).code).toBe(0);
  });
});

describe('schemas check and register, on the embedded log', () => {
  it('says that all is new, and makes nothing', async () => {
    const { code, out } = await schemas(['check', '--feeds', 'ipos']);

    expect(code).toBe(0);
    expect(lines(out)).toHaveLength(6);
    expect(lines(out)[0]).toMatch(/^ipos-value +\+ new$/);
    expect(readdirSync(folder())).toStrictEqual([]);
  });

  it('registers all, and finds them registered from then on', async () => {
    const first = await schemas(['register', '--feeds', 'ipos,insights']);
    expect(first.code).toBe(0);
    expect(lines(first.out)[0]).toMatch(/^ipos-value|^insights-value/);
    expect(lines(first.out).every((line) => / = registered +id \d+, version 1$/.test(line))).toBe(true);

    expect(await schemas(['register', '--feeds', 'ipos,insights'])).toEqual(first);
    expect((await schemas(['check', '--feeds', 'ipos,insights'])).out).toBe(first.out);
  });

  it('says by --json how each schema stands, to the letter of the contract', async () => {
    await registered('ipos.current-value', [
      { name: 'id', type: 'string' },
      { name: 'updated', type: 'long' },
    ]);
    const { code, out } = await schemas(['check', '--feeds', 'ipos', '--json']);

    expect(code).toBe(0);
    const found = json(out);
    expect(found[0]).toEqual({
      subject: 'ipos-value',
      type: 'marketdata.ipos.Envelope',
      state: 'new',
      id: null,
      version: null,
      level: null,
      breaks: null,
    });
    expect(Object.keys(found[0])).toEqual(['subject', 'type', 'state', 'id', 'version', 'level', 'breaks']);
    expect(found.find(({ subject }) => subject === 'ipos.current-value')).toMatchObject({
      state: 'compatible',
      level: 'FULL_TRANSITIVE',
    });
  });

  it('names what breaks, its version and its field, and registers nothing at all then', async () => {
    await registered('ipos.current-value', [{ name: 'id', type: 'long' }]);

    const check = await schemas(['check', '--feeds', 'ipos']);
    expect(check.code).toBe(1);
    expect(check.out).toMatch(/^ipos\.current-value +x incompatible +.*version 1.*field id/m);
    expect(check.err).toMatch(/SCHEMA_INCOMPATIBLE.*\n {2}ipos\.current-value: .*field id/);
    expect(check.err).toContain('now:  Nothing was changed.');

    const [broken] = json((await schemas(['check', '--feeds', 'ipos', '--json'])).out).filter(
      ({ breaks }) => breaks !== null,
    );
    expect(broken).toMatchObject({ state: 'incompatible', breaks: { version: 1, field: 'id' } });

    const register = await schemas(['register', '--feeds', 'ipos']);
    expect([register.code, register.out]).toEqual([1, '']);
    expect(register.err).toContain('now:  Nothing was registered.');
    const after = json((await schemas(['check', '--feeds', 'ipos', '--json'])).out);
    expect(after.filter(({ state }) => state === 'registered')).toStrictEqual([]);
  });
});

describe('schemas check --history', () => {
  it('says that every schema is a version that is kept, whatever the names of topics, and asks no server', async () => {
    const env = { SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1', HIGHWATER_APP_ID: 'mine' };
    const { code, out } = await schemas(['check', '--history', '--topic-prefix', 'staging.'], env);
    expect(code).toBe(0);
    expect(lines(out)).toHaveLength(15);
    expect(lines(out).filter((line) => !/^\S+ += {1,2}kept +version \d+$/.test(line))).toStrictEqual([]);
  });

  it('names field and version of what breaks, and what is not kept, in a folder of one’s own', async () => {
    const version = (subject: string, schema: unknown) => {
      mkdirSync(file('history', subject), { recursive: true });
      writeFileSync(file('history', subject, '1.avsc'), JSON.stringify(schema));
    };
    const fields = [{ name: 'id', type: 'string' }];
    version('ipos.current-value', { type: 'record', name: 'Ipo', namespace: 'marketdata.ipos', fields });
    const args = ['check', '--feeds', 'ipos', '--history', 'history'];
    const broken = await schemas(args);
    expect(broken.code).toBe(1);
    expect(broken.err).toMatch(
      /^error SCHEMA_INCOMPATIBLE[\s\S]*\n {2}ipos\.current-value: .*version 1.*field updated/,
    );
    const [, , image] = json((await schemas([...args, '--json'])).out);
    expect(image).toMatchObject({
      subject: 'ipos.current-value',
      state: 'incompatible',
      breaks: { version: 1 },
    });

    const schema = JSON.parse((await schemas(['print', '--subject', 'ipos.current-value'])).out);
    version('ipos.current-value', { ...schema, doc: 'As it was.' });
    const unkept = await schemas(args);
    expect(unkept.code).toBe(1);
    expect(unkept.err).toMatch(
      /^error SCHEMA_UNRECORDED[\s\S]*ipos\.current-value: it differs from version 1/,
    );

    version('ipos.current-value', schema);
    expect((await schemas(args)).code).toBe(0);
  });

  it('says so when there is no such folder', async () => {
    const { code, err } = await schemas(['check', '--history', 'nowhere']);
    expect(code).toBe(2);
    expect(err).toMatch(/^error USAGE_INVALID[\s\S]*nowhere is not a folder/);
  });
});

describe('schemas check, on a server', () => {
  let server: HttpServer;
  afterEach(() => server.stop());
  const absent = { error_code: 40401, message: 'Subject not found.' };

  it('goes to the server that is set, with user and password', async () => {
    server = await startHttpServer((_request, response) => sendJson(response, absent, 404));
    const env = {
      SCHEMA_REGISTRY_URL: `${server.url}/base`,
      SCHEMA_REGISTRY_USERNAME: 'publisher',
      SCHEMA_REGISTRY_PASSWORD: 'secret',
    };

    const { code, out } = await schemas(['check', '--feeds', 'ipos'], env);

    expect([code, lines(out).length]).toEqual([0, 6]);
    expect(server.requests[0]).toMatchObject({
      url: '/base/subjects/ipos-value',
      headers: { authorization: `Basic ${Buffer.from('publisher:secret').toString('base64')}` },
    });
  });

  it('fails when publishers only look up, and something is not registered', async () => {
    server = await startHttpServer((_request, response) => sendJson(response, absent, 404));
    const env = { SCHEMA_REGISTRY_URL: server.url, HIGHWATER_SCHEMA_REGISTRATION: 'lookup' };

    const { code, out, err } = await schemas(['check', '--feeds', 'ipos'], env);

    expect([code, lines(out).length]).toEqual([1, 6]);
    expect(err).toMatch(/SCHEMA_UNREGISTERED.*ipos-value, .* are not in http/);
  });

  it('tells of subjects that the server holds to less', async () => {
    server = await startHttpServer((request, response) => {
      if (request.method === 'POST') sendJson(response, { id: 7, version: 2 });
      else sendJson(response, { compatibilityLevel: 'NONE' });
    });

    const env = { SCHEMA_REGISTRY_URL: server.url };
    const { code, out, err } = await schemas(['check', '--feeds', 'ipos'], env);

    expect(code).toBe(0);
    expect(lines(out)[0]).toMatch(/^ipos-value +=.* id 7, version 2 +held to NONE only$/);
    expect(err).toMatch(/held to less than FULL_TRANSITIVE/);
  });

  it('says so when the server refuses, and that nothing was changed', async () => {
    server = await startHttpServer((_request, response) => sendJson(response, { message: 'who?' }, 401));

    const { code, out, err } = await schemas(['check'], { SCHEMA_REGISTRY_URL: server.url });

    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/REGISTRY_UNAUTHORIZED.*401: who\?/);
    expect(err).toContain('now:  Nothing was changed.');
  });
});

it('answers a wrong command line with exit 2 and what to do', async () => {
  const { code, err } = await schemas(['chekc']);

  expect(code).toBe(2);
  expect(err).toContain('highwater schemas --help');
});
