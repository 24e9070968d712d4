import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { isScalar, parseDocument } from 'yaml';
import { CliCommand, variablesWithoutFlag } from '../../src/cli/process/cli-command';
import { addOpposites } from '../../src/cli/program';
import { emptyConfig } from '../../src/config/files/config-file';
import { type ConfigWithApi, loadConfig } from '../../src/config/load-config';
import { environmentSecrets, readSettings } from '../../src/config/raw-settings';
import type { FeedDefinition } from '../../src/feeds/definition';
import { usualShape } from '../../src/feeds/definition';
import { scopeFingerprint } from '../../src/feeds/scope';
import { createRedactor } from '../../src/secrets/redaction';
import { exampleFile } from '../../tools/generate/config-reference';
import { avroEvent, avroRecord } from '../support/avro';
import { authority } from '../support/certificates';
import { configMistakes } from '../support/config-mistakes';
import { namedRows } from '../support/named-rows';
import { runs } from '../support/runs';
import { tempFolder } from '../support/temp-folder';
import { feed as ipos } from './source/client-fixture';

const insights: FeedDefinition = {
  ...ipos,
  name: 'insights',
  path: '/api/v1/analyst/insights',
  responseKey: 'analyst-insights',
  topic: 'insights',
  query: { date_from: '1970-01-01' },
};
const definitions = [insights, ipos];
const api = { HIGHWATER_API_URL: 'https://api.example.com', HIGHWATER_API_TOKEN: 'T0KEN' };
const folder = tempFolder();
let cwd: string;

beforeEach(() => {
  cwd = folder();
});

interface Given {
  flags?: Record<string, unknown>;
  env?: Record<string, string>;
  file?: string;
}

function load({ flags = {}, env = api, file }: Given = {}): ConfigWithApi {
  if (file !== undefined) writeFileSync(join(cwd, 'highwater.yaml'), file);
  return loadConfig({ flags, env, cwd, definitions });
}

const mistakesOf = (given: Given) => configMistakes(() => load(given));

it('a setting of yes or no is a flag and its opposite', () => {
  const parsed = (...args: string[]) => {
    const command = new CliCommand().settings().exitOverride();
    addOpposites(command);
    return readSettings({
      flags: command.parse(args, { from: 'user' }).opts(),
      env: { KAFKA_SSL: 'yes' },
      file: emptyConfig(''),
    });
  };
  const [plain, yes, no] = [parsed(), parsed('--kafka-ssl'), parsed('--no-kafka-ssl')];
  expect([plain, yes, no].map(({ values }) => values.kafkaSsl)).toEqual([true, true, false]);
  expect([plain, yes].map(({ origins }) => origins.get('kafkaSsl')?.where)).toEqual([
    'KAFKA_SSL',
    '--kafka-ssl',
  ]);
});

describe('the file with settings', () => {
  const given = () => {
    writeFileSync(join(cwd, 'named.yaml'), 'appId: named\n');
    writeFileSync(join(cwd, 'other.yaml'), 'appId: other\n');
    return { env: { ...api, HIGHWATER_CONFIG: 'named.yaml' }, file: 'appId: usual\n' };
  };

  it('is the one that HIGHWATER_CONFIG names, unless --config names another', () => {
    expect(load(given()).appId).toBe('named');
    expect(load({ ...given(), flags: { config: 'other.yaml' } }).appId).toBe('other');
    expect(load({ ...given(), env: { ...api, HIGHWATER_CONFIG: '' } }).appId).toBe('usual');
  });

  it('has to exist when HIGHWATER_CONFIG names it', () => {
    const mistakes = mistakesOf({ env: { ...api, HIGHWATER_CONFIG: 'gone.yaml' } });
    expect(mistakes).toEqual(['config (gone.yaml): cannot be read (ENOENT)']);
  });

  it('is named in a mistake when its variable is misspelt', () => {
    const mistakes = mistakesOf({ env: { ...api, HIGHWATER_CONFG: 'named.yaml' } });
    expect(mistakes).toEqual([
      'HIGHWATER_CONFG (environment): is not a setting; did you mean HIGHWATER_CONFIG?',
    ]);
  });
});

describe('precedence', () => {
  const file = 'logLevel: error\nappId: from-file\ntopicPrefix: from-file.\n';
  it('is flags over environment over file over defaults', () => {
    const config = load({
      flags: { logLevel: 'debug' },
      env: { ...api, HIGHWATER_LOG_LEVEL: 'warn', HIGHWATER_APP_ID: 'from-env' },
      file,
    });
    expect(config.log).toEqual({ level: 'debug', format: 'pretty' });
    expect(config.appId).toBe('from-env');
    expect(config.topicPrefix).toBe('from-file.');
  });

  it('counts an empty variable as not set', () => {
    expect(load({ env: { ...api, HIGHWATER_APP_ID: '', KAFKA_BROKERS: '' }, file }).appId).toBe('from-file');
  });
});

describe('with defaults alone', () => {
  it('everything runs on the embedded log', () => {
    const config = load();
    expect(config).toMatchObject({
      dataDir: join(cwd, 'data'),
      topicPrefix: '',
      appId: 'highwater',
      log: { level: 'info', format: 'pretty' },
      secrets: ['T0KEN'],
    });
    expect([...config.api.access.values()]).toEqual(
      definitions.map(() => ({
        baseUrl: 'https://api.example.com',
        token: 'T0KEN',
        auth: { scheme: 'query', name: 'token' },
      })),
    );
    expect(config.feeds).toEqual(
      definitions.map((definition) => ({
        ...definition,
        pollIntervalMs: 60_000,
        overlapSeconds: 5,
        wideOverlapSeconds: 3_600,
        widePollEveryMs: 900_000,
        reconcileEveryMs: 86_400_000,
        deleteShare: 0.05,
        snapshotMode: 'initial',
      })),
    );
  });

  it('a page with all its retries ends within a minute', () => {
    expect(load().api.limits.retry.totalMs).toBeLessThan(60_000);
  });
});

describe('durations and sizes', () => {
  it.each([
    ['500ms', 500],
    ['60s', 60_000],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['1h', 3_600_000],
  ])('%s', (written, ms) => {
    expect(load({ flags: { pollInterval: written } }).feeds[0]!.pollIntervalMs).toBe(ms);
  });

  it.each(['60', '0s', '-5s', '5 minutes', 's', '48h', ''])('"%s" is refused', (written) => {
    expect(mistakesOf({ flags: { pollInterval: written } })).toEqual([
      expect.stringContaining(
        `pollInterval (--poll-interval): found ${JSON.stringify(written)}, expected a duration`,
      ),
    ]);
  });

  it('64MB and 1MiB', () => {
    expect(load().api.limits.bodyLimitBytes).toBe(64_000_000);
    expect(load({ flags: { bodyLimit: '1MiB' } }).api.limits.bodyLimitBytes).toBe(1_048_576);
  });
});

describe('mistakes', () => {
  it('are reported all at once, each with its place, what was found and what is expected', () => {
    const file =
      'apiUrl: nowhere\nlogLevel: loud\n\nfeeds:\n  ipos:\n    pageSize: many\n    overlap: 1500ms\n';
    const env = { HIGHWATER_LOG_FORMAT: 'xml', HIGHWATER_REQUESTS_PER_SECOND: 'fast' };
    expect(mistakesOf({ file, env, flags: { feeds: 'ipos,isnights' } })).toEqual([
      expect.stringMatching(/^apiUrl \(highwater.yaml, line 1\): found "nowhere", expected an address/),
      'requestsPerSecond (HIGHWATER_REQUESTS_PER_SECOND): found "fast", expected a number from 0.01 to 1000',
      'logLevel (highwater.yaml, line 2): found "loud", expected one of error, warn, info, debug',
      'logFormat (HIGHWATER_LOG_FORMAT): found "xml", expected one of pretty, json',
      'feeds.ipos.pageSize (highwater.yaml, line 6): found "many", expected a whole number from 1 to 100000',
      expect.stringMatching(
        /^feeds.ipos.overlap \(highwater.yaml, line 7\): found "1500ms", expected .* whole seconds/,
      ),
      'enabledFeeds (--feeds): "isnights" is not a feed; did you mean insights?',
      expect.stringMatching(/^apiToken: is not set, expected the access token in HIGHWATER_API_TOKEN/),
    ]);
  });

  it('exit with 2 and say that nothing was started', () => {
    expect(() => load({ env: {} })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        now: 'Nothing was started.',
        kind: expect.objectContaining({ exit: 2 }),
      }),
    );
  });

  it.each(
    namedRows({
      'a misspelt key': [
        { file: 'poll_intervall: 5s' },
        'poll_intervall (highwater.yaml, line 1): is not a setting; did you mean pollInterval?',
      ],
      'a key from nowhere': [
        { file: '\nkafka: {}' },
        /^kafka \(highwater.yaml, line 2\): is not a setting; known are apiUrl, /,
      ],
      'a misspelt variable': [
        { env: { ...api, HIGHWATER_DATADIR: 'x' } },
        'HIGHWATER_DATADIR (environment): is not a setting; did you mean HIGHWATER_DATA_DIR?',
      ],
      brokers: [
        { env: { ...api, KAFKA_BROKERS: 'b:9092' } },
        'schemaRegistryUrl: is not set, expected SCHEMA_REGISTRY_URL, since KAFKA_BROKERS is set',
      ],
      'a standby without Kafka': [
        { env: { ...api, HIGHWATER_STANDBY: 'yes' } },
        'kafkaBrokers: is not set, expected KAFKA_BROKERS, since HIGHWATER_STANDBY is set',
      ],
      'a broker without a port': [
        { env: { ...api, KAFKA_BROKERS: 'a:9092,b', SCHEMA_REGISTRY_URL: 'http://r' } },
        'kafkaBrokers (KAFKA_BROKERS): found "a:9092,b", expected addresses such as broker-1:9092,broker-2:9092',
      ],
      'a misspelt variable of Kafka': [
        { env: { ...api, KAFKA_BROKER: 'b:9092' } },
        'KAFKA_BROKER (environment): is not a setting; did you mean KAFKA_BROKERS?',
      ],
      'a user without a password': [
        { env: { ...api, KAFKA_SASL_USERNAME: 'me' } },
        'kafkaSaslPassword: is not set, expected KAFKA_SASL_PASSWORD, since KAFKA_SASL_USERNAME is set',
      ],
      'a password that is set twice': [
        {
          env: {
            ...api,
            KAFKA_SASL_USERNAME: 'me',
            KAFKA_SASL_PASSWORD: 'one!',
            KAFKA_SASL_PASSWORD_FILE: 'x',
          },
        },
        'kafkaSaslPassword (KAFKA_SASL_PASSWORD and KAFKA_SASL_PASSWORD_FILE): is set twice, expected a password or a file of one',
      ],
      'a certificate that is not there': [
        { env: { ...api, KAFKA_SSL_CA_FILE: 'ca.pem' } },
        'kafkaSslCaFile (KAFKA_SSL_CA_FILE): the file "ca.pem" cannot be read (ENOENT)',
      ],
      'an authority of the API that is not there': [
        { env: { ...api, HIGHWATER_API_CA_FILE: 'ca.pem' } },
        'apiCaFile (HIGHWATER_API_CA_FILE): the file "ca.pem" cannot be read (ENOENT)',
      ],
      'an authority of the API without a certificate': [
        { file: 'apiCaFile: highwater.yaml' },
        'apiCaFile (highwater.yaml, line 1): the file "highwater.yaml" holds no certificate in PEM (-----BEGIN CERTIFICATE-----)',
      ],
      'a list of feeds in the file': [
        { file: 'feeds: [ipos]' },
        /^feeds \(highwater.yaml, line 1\): found \["ipos"\], expected a section for each feed; .* enabledFeeds/,
      ],
      'a misspelt member': [
        { file: 'feeds:\n  ipos:\n    page_size: 5' },
        'feeds.ipos.page_size (highwater.yaml, line 3): is not a setting of a feed; did you mean pageSize?',
      ],
      'a misspelt parameter': [
        { file: 'feeds: {ipos: {parameters: {pagesise: p}}}' },
        'feeds.ipos.parameters.pagesise (highwater.yaml, line 1): is not a setting of a feed; did you mean pageSize?',
      ],
      'a misspelt feed': [
        { file: 'feeds:\n  ipo:\n    pageSize: 5' },
        'feeds.ipo (highwater.yaml, line 2): is not a feed; did you mean ipos?',
      ],
      'half a feed': [
        { file: 'feeds:\n  dividends:\n    path: /d\n    parameters: {page: p}' },
        'feeds.dividends (highwater.yaml, line 2): a new feed needs responseKey, schema, parameters.pageSize, parameters.updatedSince too (known feeds are insights, ipos)',
      ],
      'a token among the parameters': [
        { file: 'feeds: {ipos: {query: {token: abc}}}' },
        'feeds.ipos.query.token (highwater.yaml, line 1): carries a secret, which must not stand in the file, expected it in auth (scheme query, with tokenEnv, tokenFile or tokenCommand)',
      ],
      'one topic for two feeds': [
        { file: 'feeds: {ipos: {topic: insights}}' },
        'feeds.ipos.topic (highwater.yaml, line 1): "insights" is the topic of insights already',
      ],
      'broken YAML': [
        { file: 'appId: a\nfeeds: [' },
        /^config \(highwater.yaml, line [23]\): is not valid YAML/,
      ],
      'a key twice': [
        { file: 'appId: a\nappId: b' },
        'config (highwater.yaml, line 2): is not valid YAML (duplicate key)',
      ],
      'a file that is no mapping': [{ file: 'hello' }, /^config \(highwater.yaml\): holds no settings/],
      'a missing file': [{ flags: { config: 'other.yaml' } }, 'config (other.yaml): cannot be read (ENOENT)'],
    }),
  )('%s', (_, given: Given, expected) => {
    expect(mistakesOf(given)).toEqual([
      expected instanceof RegExp ? expect.stringMatching(expected) : expected,
    ]);
  });

  it('are not seen in variables that Kubernetes sets for a service of this name', () => {
    const env = { ...api, HIGHWATER_SERVICE_HOST: '10.0.0.1', HIGHWATER_PORT: 'tcp://10.0.0.1:80' };
    expect(mistakesOf({ env })).toStrictEqual([]);
  });
});

describe('a text in the file', () => {
  /** The loaded values of a text in several places of the file. */
  const written = (scalar: string) => {
    // A shorter text is not a password.
    const password = scalar.length < 4 ? 'long enough' : scalar;
    const file = `
kafkaBrokers: a:9092
schemaRegistryUrl: http://registry
kafkaSaslUsername: ${scalar}
kafkaSaslPassword: ${password}
feeds:
  ipos:
    responseKey: ${scalar}
    query:
      ${scalar}: ${scalar}
`;
    const { kafka, feeds } = load({ file });
    const { responseKey, query } = feeds.find(({ name }) => name === 'ipos')!;
    expect(kafka!.sasl!.password).toBe(password);
    return { ...kafka!.sasl, responseKey, query };
  };

  it.each([
    '0012345678901234567890',
    '0xCAFE',
    '0o17',
    '0000320193',
    '1.10',
    '1e3',
    '-0',
    '+5',
    '.5',
    '.inf',
    '.NaN',
    'TRUE',
    'True',
    'false',
    'yes',
    'NO',
    'on',
    'y',
    'NULL',
    'Null',
    '2026-01-31',
    '2026-01-31T10:00:00Z',
    '1_000',
    '12:30:45',
    '=',
    '<<',
    'constructor',
    'toString',
  ])('%s arrives as it was written', (scalar) => {
    expect(written(scalar)).toMatchObject({ username: scalar, responseKey: scalar });
    expect(written(scalar).query).toEqual({ ...ipos.query, [scalar]: scalar });
    if (scalar.length < 4) return;
    const token = `apiUrl: https://api.example.com\napiToken: ${scalar}\n`;
    expect(load({ env: {}, file: token }).api.access.get('ipos')!.token).toBe(scalar);
  });

  it('of a JSON body is a number or a boolean unless it is in quotes', () => {
    const file = `
kafkaBrokers: a:9092
schemaRegistryUrl: http://registry
feeds:
  ipos:
    method: POST
    body: { top: 1, 2: -1.5e3, flag: true, texts: ["1", 'false', 0012, 1_0, yes, 12345678901234567890, a], none: null }
`;
    expect(load({ file }).feeds.find(({ name }) => name === 'ipos')!.body).toStrictEqual({
      ...{ top: 1, 2: -1500, flag: true, none: null },
      texts: ['1', 'false', '0012', '1_0', 'yes', '12345678901234567890', 'a'],
    });
  });

  it('arrives as it was written, if YAML allows it without quotes (property)', () => {
    const isPlain = (text: string) => {
      const { errors, contents } = parseDocument(`a:\n  ${text}: ${text}\n`, { schema: 'failsafe' });
      const pair = (contents as { items?: { value: { items?: { key: unknown; value: unknown }[] } }[] })
        .items?.[0]?.value.items?.[0];
      return (
        errors.length === 0 &&
        [pair?.key, pair?.value].every(
          (node) => isScalar(node) && node.type === 'PLAIN' && node.source === text,
        )
      );
    };
    const digits = fc.string({
      unit: fc.constantFrom(...'0123456789.+-eExo_:aA~'),
      minLength: 1,
      maxLength: 24,
    });
    const text = fc
      .oneof(
        digits,
        fc.string({ minLength: 1, maxLength: 24 }),
        fc.string({ unit: 'grapheme', minLength: 1 }),
      )
      .filter(
        (one) => one.trim() === one && !['null', '~', 'token', '__proto__'].includes(one) && isPlain(one),
      );
    fc.assert(
      fc.property(text, (scalar) => {
        const { username, responseKey, query } = written(scalar) as Record<string, unknown>;
        expect([username, responseKey]).toEqual([scalar, scalar]);
        expect(query).toEqual(Object.fromEntries([...Object.entries(ipos.query), [scalar, scalar]]));
      }),
      { numRuns: runs(40) },
    );
  });

  it('may be quoted, fold over lines, or stand at an anchor', () => {
    const file = `
appId: &id 1.10
topicPrefix: *id
kafkaSaslUsername: "0012\\x41"
kafkaSaslPassword: 'null'
kafkaBrokers: [a:9092]
schemaRegistryUrl: http://registry
schemaRegistryUsername: 007
  008
schemaRegistryPassword: |-
  1e3
  ~
feeds:
  ipos: { query: { plain: "null", away: ~ } }
`;
    expect(load({ file })).toMatchObject({
      appId: '1.10',
      topicPrefix: '1.10',
      kafka: { brokers: ['a:9092'], sasl: { username: '0012A', password: 'null' } },
      schemaRegistry: { auth: { username: '007 008', password: '1e3\n~' } },
      feeds: [{}, { query: { plain: 'null' } }],
    });
  });

  it('is no number, and no yes or no, of settings that are', () => {
    const file = `
httpPort: 0x1F
requestsPerSecond: 1e2
concurrentRequests: 007
kafkaSsl: TRUE
feeds: { ipos: { pageSize: 500, deleteShare: .5, unknowns: { emptyText: true } } }
`;
    const { http, api: asked, feeds } = load({ file });
    expect([http!.port, asked.budget]).toEqual([31, { requestsPerSecond: 100, maxConcurrent: 7 }]);
    expect(feeds[1]).toMatchObject({ pageSize: 500, deleteShare: 0.5, unknowns: { emptyText: true } });
  });

  it.each(
    namedRows({
      null: ['appId: null', 'appId (highwater.yaml, line 1): is null, which sets nothing: '],
      '~': ['appId: a\nkafkaSaslPassword: ~', 'kafkaSaslPassword (highwater.yaml, line 2): is null, which'],
      '~ in a feed': [
        'feeds: { ipos: { responseKey: ~ } }',
        'feeds.ipos.responseKey (highwater.yaml, line 1): found null',
      ],
      'a tag': [
        'appId: !!int 0012',
        'config (highwater.yaml, line 1): is not valid YAML (tag resolve failed)',
      ],
      'a key that objects cannot have': [
        'feeds: { ipos: { query: { __proto__: x } } }',
        'config (highwater.yaml, line 1): has the key __proto__',
      ],
      'a tag of its own': [
        'appId: !vault x',
        'config (highwater.yaml, line 1): is not valid YAML (tag resolve',
      ],
    }),
  )('%s is refused by name', (_, file, mistake) => {
    expect(mistakesOf({ file })).toEqual([expect.stringContaining(mistake)]);
  });

  it('without a value is not set', () => {
    expect(load({ file: 'appId:\ntopicPrefix: \nfeeds:\n' })).toMatchObject({
      appId: 'highwater',
      topicPrefix: '',
    });
    expect(load({ file: 'feeds:\n  ipos:\n    query:\n      gone:\n' }).feeds[1]!.query).toEqual(ipos.query);
  });
});

describe('metrics and health', () => {
  const port = { ...api, HIGHWATER_HTTP_PORT: '0' };

  it('are off until a port is set', () => {
    expect(load({ env: { ...api, HIGHWATER_HTTP_TOKEN: 'abcd' } }).http).toBeNull();
    expect(load({ env: port }).http).toEqual({ host: '127.0.0.1', port: 0, token: null });
  });

  it.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'LocalHost'])(
    'need no token at %s, which is of this machine alone',
    (host) => {
      expect(load({ env: port, flags: { httpHost: host } }).http).toEqual({ host, port: 0, token: null });
    },
  );

  it.each(['0.0.0.0', '::', '10.0.0.7', 'localhost.example.com', '128.0.0.1'])(
    'need a token at %s, which other machines can reach',
    (host) => {
      const env = { ...port, HIGHWATER_HTTP_HOST: host };
      expect(mistakesOf({ env })).toEqual([
        `httpToken: is not set, expected a token in HIGHWATER_HTTP_TOKEN, or a file of it in HIGHWATER_HTTP_TOKEN_FILE, since other machines can reach ${host}`,
      ]);
      expect(load({ env: { ...env, HIGHWATER_HTTP_TOKEN: 'http-T0KEN' } }).http?.token).toBe('http-T0KEN');
    },
  );

  it('have a token that is a secret, and may lie in a file', () => {
    writeFileSync(join(cwd, 'http-token'), 'from-file\n');
    const config = load({ env: { ...port, HIGHWATER_HTTP_TOKEN_FILE: 'http-token' } });
    expect(config.http?.token).toBe('from-file');
    expect(config.secrets).toEqual(['T0KEN', 'from-file']);
    const [mistake] = mistakesOf({ env: { ...port, HIGHWATER_HTTP_TOKEN: 'two words' } });
    expect(mistake).toMatch(/^httpToken \(HIGHWATER_HTTP_TOKEN\): expected a token/);
    expect(mistake).not.toContain('two words');
    writeFileSync(join(cwd, 'http-token'), 'with,comma');
    expect(mistakesOf({ env: { ...port, HIGHWATER_HTTP_TOKEN_FILE: 'http-token' } })).toEqual([
      'httpTokenFile (HIGHWATER_HTTP_TOKEN_FILE): the file "http-token" holds something else, expected a token of at least 4 letters, digits and ._~+/-, at the end perhaps =; a shorter one is a part of ordinary words, which would be hidden with it',
    ]);
  });

  it('refuse what is no port', () => {
    expect(mistakesOf({ env: { ...api, HIGHWATER_HTTP_PORT: 'tcp://10.0.0.1:80' } })).toEqual([
      expect.stringContaining('expected a whole number from 0 to 65535'),
    ]);
  });

  it('are of no matter to a command that publishes nothing', () => {
    const env = { ...port, HIGHWATER_HTTP_HOST: '0.0.0.0' };
    const input = { flags: {}, env, cwd, definitions };
    expect(loadConfig(input, 'feeds').http).toBeNull();
    expect(loadConfig(input, 'nothing').http).toBeNull();
  });
});

describe('Kafka', () => {
  const kafka = { KAFKA_BROKERS: 'a:9092, b:9093', SCHEMA_REGISTRY_URL: 'http://registry:8081/' };

  it('is where records go once brokers are set', () => {
    expect(load({ env: { ...api, ...kafka } })).toMatchObject({
      kafka: {
        brokers: ['a:9092', 'b:9093'],
        ssl: null,
        sasl: null,
        compression: 'gzip',
        sessionTimeoutMs: 10_000,
      },
      schemaRegistry: { url: 'http://registry:8081', auth: null, registration: 'register' },
    });
    expect(load()).toMatchObject({ kafka: null, schemaRegistry: null });
  });

  it('is logged in to as the settings say', async () => {
    const { cert: ca } = await authority('ours');
    writeFileSync(join(cwd, 'ca.pem'), ca);
    const env = {
      ...api,
      ...kafka,
      KAFKA_SSL_CA_FILE: 'ca.pem',
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: 'me',
      KAFKA_SASL_PASSWORD: 'SECRET-1',
      SCHEMA_REGISTRY_USERNAME: 'you',
      SCHEMA_REGISTRY_PASSWORD: 'SECRET-2',
    };
    const config = load({ env });

    expect(config).toMatchObject({
      kafka: {
        ssl: { ca, cert: null, key: null, passphrase: null },
        sasl: { mechanism: 'scram-sha-512', username: 'me', password: 'SECRET-1' },
      },
      schemaRegistry: { auth: { username: 'you', password: 'SECRET-2' } },
    });
    expect(config.secrets).toEqual(expect.arrayContaining(['SECRET-1', 'SECRET-2']));
  });
});

describe('a secret that is a part of ordinary words', () => {
  const kafka = {
    ...api,
    KAFKA_BROKERS: 'b:9092',
    SCHEMA_REGISTRY_URL: 'http://r',
    KAFKA_SASL_USERNAME: 'me',
  };

  it.each([
    ['HIGHWATER_API_TOKEN', 'apiToken', api],
    ['HIGHWATER_HTTP_TOKEN', 'httpToken', api],
    ['KAFKA_SASL_PASSWORD', 'kafkaSaslPassword', kafka],
    ['KAFKA_SSL_KEY_PASSWORD', 'kafkaSslKeyPassword', api],
    [
      'SCHEMA_REGISTRY_PASSWORD',
      'schemaRegistryPassword',
      { ...kafka, SCHEMA_REGISTRY_USERNAME: 'me', KAFKA_SASL_PASSWORD: 'secret' },
    ],
  ])('is refused as %s, unseen, and takes nothing out of the error', (variable, key, env) => {
    for (const short of ['e', 'xyz']) {
      const given = { ...env, [variable]: short };
      const [mistake, ...others] = mistakesOf({ env: given });
      expect(others).toStrictEqual([]);
      expect(mistake).toMatch(
        new RegExp(
          `^${key} \\(${variable}\\): expected a .* of at least 4 .*; a shorter one is a part of ordinary words`,
        ),
      );
      expect(mistake).not.toContain('xyz');
      expect(createRedactor(environmentSecrets(given))(mistake!)).toBe(mistake);
    }
  });

  it('is refused in a file, unseen', () => {
    writeFileSync(join(cwd, 'token'), 'a\n');
    expect(
      mistakesOf({
        env: { HIGHWATER_API_URL: 'https://api.example.com', HIGHWATER_API_TOKEN_FILE: 'token' },
      }),
    ).toEqual([expect.stringMatching(/^apiTokenFile .*the file "token" holds .* at least 4 characters/)]);
  });
});

describe('a command that only reads the log', () => {
  const read = (env: Record<string, string>, file: string) => {
    writeFileSync(join(cwd, 'highwater.yaml'), file);
    return loadConfig({ flags: {}, env, cwd, definitions }, 'nothing');
  };

  it('is not kept from it by mistakes elsewhere', () => {
    const file = 'pollInterval: x\napiUrl: y\nnonsense: 1\ndataDir: there\nfeeds: {ipos: {pageSize: many}}';
    expect(read({ HIGHWATER_API_TOKEN: 'two words', HIGHWATER_FEEDS: 'none' }, file)).toMatchObject({
      dataDir: join(cwd, 'there'),
      api: null,
    });
  });

  it.each([
    ['a misspelt variable that it uses', { HIGHWATER_DATADIR: 'x' }, ''],
    ['a wrong prefix', {}, 'topicPrefix: a b'],
    ['another log', { KAFKA_BROKERS: 'b:9092' }, ''],
    ['a broken file', {}, 'feeds: ['],
  ])('is kept from it by %s', (_, env, file) => {
    expect(() => read(env as Record<string, string>, file)).toThrow(/^One setting is wrong/);
  });
});

describe('the address', () => {
  it.each(['https://api.example.com/v/', 'http://127.0.0.1:8080'])('may be %s', (apiUrl) => {
    expect(load({ flags: { apiUrl } }).api.access.get('ipos')!.baseUrl).toBe(apiUrl.replace(/\/$/, ''));
  });

  it.each([
    'https://api.example.com/?token=SECRET',
    'https://me:SECRET@api.example.com',
    'https://SECRET@api.example.com',
    'api.example.com?token=SECRET',
    'https:/me:SECRET@api.example.com',
    'https://api.example.com/#SECRET',
    'ftp://api.example.com',
  ])('is refused, without showing what it holds, when it is %s', (apiUrl) => {
    const mistakes = mistakesOf({ flags: { apiUrl } });
    expect(mistakes).toEqual([expect.stringContaining('without user, query or fragment')]);
    expect(mistakes.join()).not.toContain('SECRET');
  });
});

describe('the token', () => {
  const url = { HIGHWATER_API_URL: api.HIGHWATER_API_URL };
  it('comes from a file too, relative to the working directory', () => {
    writeFileSync(join(cwd, 'token'), ' FROM-FILE\n');
    const config = load({ env: { ...url, HIGHWATER_API_TOKEN_FILE: 'token' } });
    expect(config.api.access.get('ipos')!.token).toBe('FROM-FILE');
    expect(config.secrets).toEqual(['FROM-FILE']);
  });

  it('is what was set nearer to the command line', () => {
    writeFileSync(join(cwd, 'token'), 'FROM-FILE');
    expect(load({ flags: { apiTokenFile: 'token' }, env: api }).api.access.get('ipos')!.token).toBe(
      'FROM-FILE',
    );
    expect(load({ env: api, file: 'apiTokenFile: nowhere' }).api.access.get('ipos')!.token).toBe('T0KEN');
  });

  it.each(
    namedRows({
      'set twice': [
        { ...api, HIGHWATER_API_TOKEN_FILE: 'token' },
        /^apiToken \(HIGHWATER_API_TOKEN and HIGHWATER_API_TOKEN_FILE\): is set twice/,
      ],
      'in no file': [
        { ...url, HIGHWATER_API_TOKEN_FILE: 'nowhere' },
        /^apiTokenFile \(HIGHWATER_API_TOKEN_FILE\): the file "nowhere" cannot be read \(ENOENT\)$/,
      ],
      'in an empty file': [{ ...url, HIGHWATER_API_TOKEN_FILE: 'empty' }, /the file "empty" is empty$/],
      'one of two words': [
        { ...url, HIGHWATER_API_TOKEN_FILE: 'two' },
        /the file "two" holds something else, expected a token of at least 4 characters without blanks/,
      ],
      broken: [
        { ...url, HIGHWATER_API_TOKEN: 'SECRET WORD' },
        /^apiToken \(HIGHWATER_API_TOKEN\): expected a token of at least 4 characters without blanks/,
      ],
    }),
  )('is refused, unseen, when it is %s', (_, env, expected) => {
    writeFileSync(join(cwd, 'empty'), '\n');
    writeFileSync(join(cwd, 'two'), 'SECRET WORD');
    const mistakes = mistakesOf({ env });
    expect(mistakes).toEqual([expect.stringMatching(expected)]);
    expect(mistakes.join()).not.toMatch(/SECRET|T0KEN/);
  });

  it('does not show in the mistakes of other settings', () => {
    const env = {
      ...api,
      HIGHWATER_LOG_LEVEL: 'T0KEN',
      HIGHWATER_API_TOKNE: 'T0KEN',
      HIGHWATER_POLL_INTERVAL: 'xT0KENx',
    };
    const mistakes = mistakesOf({ env, file: 'apiTokens: T0KEN\nfeeds: {ipos: {pageSize: T0KEN}}' });
    expect(mistakes).toHaveLength(5);
    expect(mistakes.join()).not.toContain('T0KEN');
  });

  it('and the proxy’s password are given to the logger', () => {
    const env = { ...api, HTTPS_PROXY: 'http://me:p%40ss@proxy.example.com:3128' };
    expect(load({ env }).secrets).toEqual(['T0KEN', 'p%40ss', 'p@ss']);
  });

  it('need not be set for commands that do without the API', () => {
    expect(loadConfig({ flags: {}, env: {}, cwd, definitions }, 'nothing').api).toBeNull();
  });
});

describe('feeds', () => {
  it('are chosen by name', () => {
    expect(load({ flags: { feeds: ' ipos , ipos' } }).feeds.map(({ name }) => name)).toEqual(['ipos']);
    expect(load({ file: 'enabledFeeds: [insights]' }).feeds.map(({ name }) => name)).toEqual(['insights']);
  });

  it('can be overridden member by member', () => {
    const file = `
pollInterval: 30s
feeds:
  insights:
    path: /v9/insights
    pageSize: 100
    pollInterval: 2m
    overlap: 10s
    wideOverlap: 2h
    widePollEvery: 1h
    snapshotMode: never
    topic: my.insights
    parameters: { pageSize: limit }
    query: { symbols: "AAPL,MSFT", date_from: null, analyst: 12 }
    unknowns: { emptyText: true }
`;
    const [changed, untouched] = load({ file }).feeds;
    expect(changed).toEqual({
      ...insights,
      path: '/v9/insights',
      pageSize: 100,
      topic: 'my.insights',
      parameters: { ...insights.parameters, pageSize: 'limit' },
      query: { symbols: 'AAPL,MSFT', analyst: '12' },
      unknowns: { emptyText: true, zero: [], zeroWithout: {} },
      pollIntervalMs: 120_000,
      overlapSeconds: 10,
      wideOverlapSeconds: 7_200,
      widePollEveryMs: 3_600_000,
      reconcileEveryMs: 86_400_000,
      deleteShare: 0.05,
      snapshotMode: 'never',
    });
    expect(untouched).toMatchObject({ ...ipos, pollIntervalMs: 30_000 });
  });

  it('can be added, with transitions, and a schema beside the file', () => {
    mkdirSync(join(cwd, 'conf'));
    writeFileSync(
      join(cwd, 'conf', 'dividend.avsc'),
      avroRecord('Dividend', { confirmed: ['null', 'boolean'] }),
    );
    writeFileSync(
      join(cwd, 'conf', 'confirmed.avsc'),
      avroEvent('Confirmed', { id: 'string', was: ['null', 'boolean'] }),
    );
    const file = `
feeds:
  dividends:
    path: /api/v2.1/calendar/dividends
    responseKey: dividends
    schema: dividend.avsc
    parameters: { page: page, pageSize: pagesize, updatedSince: "parameters[updated]" }
    transitions:
      - kind: field
        field: confirmed
        type: Confirmed
        schema: confirmed.avsc
        topic: dividends.confirmed
        eventType: marketdata.dividends.confirmed
        idSuffix: ":confirmed"
        fields: { id: after.id, was: before.confirmed }
`;
    writeFileSync(join(cwd, 'conf', 'hw.yaml'), file);
    const added = load({ flags: { config: 'conf/hw.yaml' } }).feeds.at(-1);
    expect(added).toEqual({
      ...usualShape,
      name: 'dividends',
      path: '/api/v2.1/calendar/dividends',
      responseKey: 'dividends',
      schema: join(cwd, 'conf', 'dividend.avsc'),
      topic: 'dividends',
      parameters: { page: 'page', pageSize: 'pagesize', updatedSince: 'parameters[updated]' },
      query: {},
      pageSize: 1_000,
      symbolField: null,
      unknowns: { emptyText: false, zero: [], zeroWithout: {} },
      transitions: [expect.objectContaining({ kind: 'field', schema: join(cwd, 'conf', 'confirmed.avsc') })],
      pollIntervalMs: 60_000,
      overlapSeconds: 5,
      wideOverlapSeconds: 3_600,
      widePollEveryMs: 900_000,
      reconcileEveryMs: 86_400_000,
      deleteShare: 0.05,
      snapshotMode: 'initial',
    });
  });
});

describe('the scope of a feed', () => {
  const base = 'https://api.example.com';
  const before = scopeFingerprint(ipos, base);

  it.each([
    ['address', ipos, 'https://other.example.com'],
    ['path of the base', ipos, `${base}/v2`],
    ['path', { ...ipos, path: '/other' }, base],
    ['filter', { ...ipos, query: { 'parameters[tickers]': 'ZZZ' } }, base],
    ['response key', { ...ipos, responseKey: 'other' }, base],
    ['member to omit', { ...ipos, omit: ['a'] }, base],
    ['member to ignore', { ...ipos, ignore: ['a'] }, base],
  ])('is another with another %s', (_, feed, baseUrl) => {
    expect(scopeFingerprint(feed, baseUrl)).not.toBe(before);
  });

  it('is the same however it is read', () => {
    const query = { b: '2', a: '1' };
    expect(scopeFingerprint({ ...ipos, pageSize: 7, topic: 'x' }, `${base}/`)).toBe(before);
    expect(scopeFingerprint({ ...ipos, query }, base)).toBe(
      scopeFingerprint({ ...ipos, query: { a: '1', b: '2' } }, base),
    );
    expect(scopeFingerprint({ ...ipos, omit: ['a', 'b'] }, base)).toBe(
      scopeFingerprint({ ...ipos, omit: ['b', 'a'] }, base),
    );
    expect(scopeFingerprint({ ...ipos, omit: ['a'] }, base)).not.toBe(
      scopeFingerprint({ ...ipos, ignore: ['a'] }, base),
    );
    expect(before).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('help and reference', () => {
  it('the options of a command come back as settings', () => {
    const command = new CliCommand('run').exitOverride().settings();
    command.parse(['--api-url', 'http://127.0.0.1:1', '--feeds', 'ipos', '--poll-interval', '1s'], {
      from: 'user',
    });
    const config = load({ flags: command.opts(), env: { HIGHWATER_API_TOKEN: 'T0KEN' } });
    expect(config.feeds.map(({ name, pollIntervalMs }) => [name, pollIntervalMs])).toEqual([['ipos', 1_000]]);
    expect(config.api.access.get('ipos')!.baseUrl).toBe('http://127.0.0.1:1');
    const help = command.helpInformation();
    expect(help.replace(/\s+/g, ' ')).toContain('(HIGHWATER_POLL_INTERVAL, default 60s)');
    expect(help).not.toContain('--api-token ');
    expect(variablesWithoutFlag()).toContain('HIGHWATER_API_TOKEN  Access token');
  });

  it('the help of a command may have only some of them, and the command accepts all', () => {
    const command = new CliCommand().settings(['dataDir']);
    const visible = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long);
    expect(visible).toEqual(['--data-dir', '--config']);
    expect(command.options.map(({ long }) => long)).toEqual(
      new CliCommand().settings().options.map(({ long }) => long),
    );
  });

  it('the example of the reference loads', () => {
    writeFileSync(join(cwd, 'token'), 'T0KEN');
    writeFileSync(join(cwd, 'dividend.avsc'), avroRecord('Dividend'));
    writeFileSync(join(cwd, 'order.avsc'), avroRecord('Order'));
    const file = exampleFile.replaceAll(/\/run\/secrets\/(api|shop)-token/g, 'token');
    const config = load({ env: {}, file });
    expect(config.feeds.map(({ name }) => name)).toEqual(['insights', 'ipos', 'dividends', 'orders']);
  });
});
