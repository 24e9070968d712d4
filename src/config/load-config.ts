import { resolve } from 'node:path';
import type { SchemaRegistryConfig } from '../avro/confluent-registry';
import { feedDefinitions } from '../feeds';
import type { FeedDefinition } from '../feeds/definition';
import type { Feed } from '../feeds/feed';
import type { KafkaConfig } from '../log/kafka/client';
import { proxyPasswords } from '../proxy-passwords';
import { createRedactor } from '../redaction';
import type { SourceLimits } from '../source/client';
import type { RequestBudgetOptions } from '../source/request-budget';
import { readConfigFile } from './config-file';
import { type HttpConfig, readHttp } from './http';
import { logSettings, readKafka } from './kafka';
import { loadFeeds } from './load-feeds';
import { configError, type Mistake } from './mistake';
import { readPasswordFiles } from './password-files';
import { concerns, findUnknown, readSettings } from './raw-settings';
import type { SettingKey, SettingValues } from './settings';
import { readToken } from './token';

export interface ApiConfig {
  /** Without query, user and closing slash. */
  readonly baseUrl: string;
  readonly token: string;
  readonly budget: RequestBudgetOptions;
  readonly limits: SourceLimits;
}

export interface Config {
  readonly feeds: readonly Feed[];
  /** Absolute. Of the embedded log, which is used when there is no Kafka. */
  readonly dataDir: string;
  /** Null when no brokers are set. */
  readonly kafka: KafkaConfig | null;
  /** Set together with Kafka; may be set alone, for commands about schemas. */
  readonly schemaRegistry: SchemaRegistryConfig | null;
  readonly topicPrefix: string;
  readonly appId: string;
  readonly log: { readonly level: 'error' | 'warn' | 'info' | 'debug'; readonly format: 'pretty' | 'json' };
  /** Never to be seen: for the logger. */
  readonly secrets: readonly string[];
  /** Null when no port is set. */
  readonly http: HttpConfig | null;
  /** Null when address or token are not set, for commands that don't read the API. */
  readonly api: ApiConfig | null;
}

export interface ConfigWithApi extends Config {
  readonly api: ApiConfig;
}

export interface LoadConfigInput {
  /** Options as commander returns them; `config` is the file. Others than settings are left alone. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly definitions?: readonly FeedDefinition[];
}

type Needs = 'api' | 'feeds' | 'whatever is set' | 'nothing';

const defaultFile = 'highwater.yaml';

/** What a command that only reads the log depends on. */
const usedByReaders: readonly SettingKey[] = [...logSettings, 'topicPrefix', 'logLevel', 'logFormat'];

/** Files that may be where the publisher runs alone: its token, its way to the brokers. */
const usedByPublishers: readonly SettingKey[] = [
  'apiToken',
  'apiTokenFile',
  'httpPort',
  'httpHost',
  'httpToken',
  'httpTokenFile',
  'kafkaSslCaFile',
  'kafkaSslCertFile',
  'kafkaSslKeyFile',
];

/**
 * Flags over environment over `highwater.yaml` over defaults.
 * @param needs `api`: address and token must be set; `feeds`: the command works with the feeds as a publisher would, without
 * reading them; `whatever is set`: all of it counts, the API need not be set; `nothing`: the command only reads the log, and mistakes elsewhere do not keep it from that (what is wrong is
 * then at its default, or left out)
 * @throws HighwaterError CONFIG_INVALID with every mistake that matters, each naming where it was set
 */
export function loadConfig(input: LoadConfigInput, needs?: 'api'): ConfigWithApi;
export function loadConfig(input: LoadConfigInput, needs: Exclude<Needs, 'api'>): Config;
export function loadConfig(input: LoadConfigInput, needs: Needs = 'api'): Config {
  const { flags, env, cwd, definitions = feedDefinitions } = input;
  const fileName = typeof flags.config === 'string' ? flags.config : defaultFile;
  const filePath = resolve(cwd, fileName);
  const file = readConfigFile(filePath, fileName, typeof flags.config === 'string');
  const sources = { flags, env, file };
  const { read: settings, mistakes: passwordMistakes } = readPasswordFiles(readSettings(sources), cwd);
  const { values, origins } = settings;
  const token = readToken(settings, cwd, 'apiToken');
  const http = readHttp(settings, cwd);
  const kafka = readKafka(settings, cwd);
  const { kafkaSslKeyPassword, kafkaSaslPassword, schemaRegistryPassword } = values;
  const passwords = [token.token, http.token, kafkaSslKeyPassword, kafkaSaslPassword, schemaRegistryPassword];
  const secrets = [...passwords.filter((one) => one !== null), ...proxyPasswords(env)];
  const { feeds, mistakes: feedMistakes } = loadFeeds({
    ...{ definitions, file, filePath },
    enabled: values.enabledFeeds,
    enabledWhere: origins.get('enabledFeeds')?.where ?? null,
    pollIntervalMs: values.pollInterval,
  });
  const all = [
    ...file.mistakes,
    ...findUnknown(sources),
    ...settings.mistakes,
    ...token.mistakes,
    ...http.mistakes,
    ...passwordMistakes,
    ...kafka.mistakes,
    ...feedMistakes,
  ];
  const mistakes = all.filter((mistake) => {
    if (needs === 'nothing') return concerns(mistake, usedByReaders);
    return needs !== 'feeds' || !usedByPublishers.some((key) => key === mistake.key);
  });
  if (needs === 'api') {
    const tokenSet = origins.has('apiToken') || origins.has('apiTokenFile');
    mistakes.push(...missingApi(origins.has('apiUrl'), tokenSet));
  }
  if (mistakes.length > 0) throw configError(mistakes, createRedactor(secrets));
  return {
    feeds,
    dataDir: resolve(cwd, values.dataDir),
    kafka: kafka.kafka,
    schemaRegistry: kafka.schemaRegistry,
    topicPrefix: values.topicPrefix,
    appId: values.appId,
    log: { level: values.logLevel, format: values.logFormat },
    secrets,
    http: http.http,
    api: apiConfig(values, token.token),
  };
}

function missingApi(hasUrl: boolean, hasToken: boolean): Mistake[] {
  const missing = (key: string, ways: string): Mistake => ({
    key,
    where: null,
    problem: `is not set, expected ${ways}`,
  });
  return [
    ...(hasUrl
      ? []
      : [missing('apiUrl', `the address of the API in HIGHWATER_API_URL, --api-url, or ${defaultFile}`)]),
    ...(hasToken
      ? []
      : [
          missing(
            'apiToken',
            'the access token in HIGHWATER_API_TOKEN, or a file of it in HIGHWATER_API_TOKEN_FILE',
          ),
        ]),
  ];
}

function apiConfig(values: SettingValues, token: string | null): ApiConfig | null {
  const { apiUrl, requestsPerSecond, concurrentRequests, requestTimeout, idleTimeout, bodyLimit, retryTime } =
    values;
  if (apiUrl === null || token === null) return null;
  return {
    baseUrl: apiUrl,
    token,
    budget: { requestsPerSecond: requestsPerSecond, maxConcurrent: concurrentRequests },
    limits: {
      timeoutMs: requestTimeout,
      idleTimeoutMs: idleTimeout,
      bodyLimitBytes: bodyLimit,
      retry: { attempts: 6, totalMs: retryTime, baseMs: 500, maxMs: 10_000 },
    },
  };
}
