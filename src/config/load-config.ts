import { resolve } from 'node:path';
import type { SchemaRegistryConfig } from '../avro/registry/confluent-registry-http';
import type { Delivery } from '../delivery/delivery';
import { feedDefinitions } from '../feeds';
import type { FeedDefinition } from '../feeds/definition';
import type { Feed } from '../feeds/feed';
import type { KafkaConfig } from '../log/kafka/connection/client';
import type { RetentionLimits } from '../log/local/retention';
import type { TlsTexts } from '../net/certificate-failures';
import { proxyPasswords } from '../secrets/proxy-passwords';
import { createRedactor } from '../secrets/redaction';
import { type Live, Rotation } from '../secrets/rotation';
import { type ApiAccess, secretsOf } from '../source/api-access';
import type { SourceLimits } from '../source/client';
import type { RequestBudgetOptions } from '../source/request-budget';
import { loadDeliveries, namedVariables } from './deliveries';
import { needsToken, type ReadAccess, readAccess } from './feeds/feed-access';
import { valueAt } from './feeds/feed-settings';
import { loadFeeds } from './feeds/load-feeds';
import { type ConfigInput, DEFAULT_CONFIG_FILE, readConfigFile } from './files/read-config-file';
import { readSecret } from './files/secrets';
import { readApiCa } from './files/tls-files';
import { type HttpConfig, readHttp } from './http';
import { logSettings, readKafka } from './kafka';
import { configError, type Mistake } from './mistake';
import { concerns, findUnknown, hiddenSecret, readSettings } from './raw-settings';
import { type SettingKey, type SettingValues, settingKeys } from './settings';

export interface ApiConfig {
  /** Name of a feed → its address and token. A command that reads the API has those of all feeds. */
  readonly access: ReadonlyMap<string, ApiAccess>;
  /** Name of a feed without access → the missing setting. */
  readonly lacking: ReadonlyMap<string, string>;
  /** Present certificates (PEM) of authorities to trust besides the public ones. */
  readonly ca: string | null;
  readonly budget: RequestBudgetOptions;
  readonly limits: SourceLimits;
}

/** The addresses of the APIs, each once. */
export function baseUrlsOf({ access }: Pick<ApiConfig, 'access'>): string[] {
  return [...new Set([...access.values()].map(({ baseUrl }) => baseUrl))];
}

export interface Config {
  readonly feeds: readonly Feed[];
  readonly deliveries: readonly Delivery[];
  /** Absolute path of the folder of the embedded log, which is used if there is no Kafka. */
  readonly dataDir: string;
  /** Absolute path of the folder for files of images. */
  readonly stateDir: string;
  /** Whether feeds of other owners are copied. */
  readonly standby: boolean;
  /** Limits of the embedded log. */
  readonly retention: RetentionLimits;
  /** Null if no brokers are set. */
  readonly kafka: KafkaConfig | null;
  /** Always set with Kafka. Without Kafka it may be set for commands about schemas. */
  readonly schemaRegistry: SchemaRegistryConfig | null;
  readonly topicPrefix: string;
  /** Number for new topics of changes, transitions and images. */
  readonly partitions: number;
  readonly appId: string;
  readonly log: { readonly level: 'error' | 'warn' | 'info' | 'debug'; readonly format: 'pretty' | 'json' };
  /** Never to be seen: for the logger. The list changes when secrets are replaced. */
  readonly secrets: readonly string[];
  /** Reads secrets and certificates again. */
  readonly rotation: Rotation;
  /** Null when no port is set. */
  readonly http: HttpConfig | null;
  /** Base address of the feeds without one of their own; null when it is not set. */
  readonly apiUrl: string | null;
  /** Null when no feed has both address and token, for commands that do not read the API. */
  readonly api: ApiConfig | null;
}

export interface ConfigWithApi extends Config {
  readonly api: ApiConfig;
}

export interface LoadConfigInput extends ConfigInput {
  readonly definitions?: readonly FeedDefinition[];
  /** Rotation of a configuration that was loaded before: it then also hides the secrets of this configuration. */
  readonly rotation?: Rotation;
}

type Needs = 'api' | 'feeds' | 'deliveries' | 'whatever is set' | 'nothing';

/** Settings that a command needs to read the log. */
const usedByReaders: readonly SettingKey[] = [...logSettings, 'topicPrefix', 'logLevel', 'logFormat'];

const apiTokenSettings = ['apiToken', 'apiTokenFile', 'apiTokenCommand'] as const;

/** Files that may exist only where the publisher runs: its token, its access to the brokers. */
const usedByPublishers = settingKeys.filter((key) =>
  /^(apiToken|apiCaFile|http)|(Ca|Cert|Key)File$/.test(key),
);

/**
 * Reads all settings. A flag wins over the environment, which wins over `highwater.yaml`, which wins over the default.
 * @param needs `api`: address and token must be set. `feeds`: the command works with the feeds, but does not read the API. `whatever
 * is set`: every setting is checked, and the API may be missing. `deliveries`: as `nothing`, and it delivers. `nothing`: the command only reads the log; a wrong setting that it
 * does not need gets its default, or is left out
 * @throws HighwaterError CONFIG_INVALID with all mistakes and the place of each
 */
export function loadConfig(input: LoadConfigInput, needs?: 'api'): ConfigWithApi;
export function loadConfig(input: LoadConfigInput, needs: Exclude<Needs, 'api'>): Config;
export function loadConfig(input: LoadConfigInput, needs: Needs = 'api'): Config {
  const { flags, env, cwd, definitions = feedDefinitions, rotation = new Rotation() } = input;
  const readsApi = needs === 'api' || needs === 'whatever is set';
  const { file, filePath } = readConfigFile(input);
  const sources = { flags, env, file };
  const settings = readSettings(sources);
  const { values, origins } = settings;
  const loading = { values, origins, cwd, rotation, mistakes: [...settings.mistakes] };
  const token = readSecret(loading, 'apiToken', { runs: readsApi, mayComeLate: true });
  const ca = readApiCa(loading);
  const http = readHttp(loading);
  const { kafka, schemaRegistry } = readKafka(loading);
  const { feeds, broken, named: ofFeeds } = loadFeeds(definitions, file, filePath, loading);
  const deliveries = loadDeliveries(file, feeds, loading.mistakes);
  const named = [...ofFeeds, ...namedVariables(deliveries)];
  const where = (path: readonly PropertyKey[]) => file.where(path);
  const api = readAccess(feeds, loading, token, env, readsApi, where);
  const tokens = [...api.access.values()].flatMap(secretsOf);
  rotation.hide([...tokens, ...named.flatMap((name) => hiddenSecret(env[name])), ...proxyPasswords(env)]);
  const secrets = rotation.known;
  const all = [...file.mistakes, ...findUnknown(sources, named), ...loading.mistakes];
  // Where a feed is read is of no matter to a command that does not read it.
  if (readsApi) all.push(...api.mistakes);
  const mistakes = all.filter((mistake) => {
    if (needs === 'deliveries' && mistake.key.startsWith('deliveries')) return true;
    if (needs === 'nothing' || needs === 'deliveries') return concerns(mistake, usedByReaders);
    return needs !== 'feeds' || !usedByPublishers.some((key) => key === mistake.key);
  });
  if (needs === 'api') {
    const tokenSet = apiTokenSettings.some((key) => origins.has(key));
    const lacking = (isLacking: (feed: Feed) => boolean, key: string) => [
      ...feeds.filter(isLacking).map(({ name }) => name),
      ...broken.filter((name) => (valueAt(file.values, ['feeds', name, key]) ?? null) === null),
    ];
    const needUrl = lacking(({ apiUrl }) => apiUrl === null, 'apiUrl');
    const needToken = lacking(needsToken, 'auth');
    // Without any feed nothing says that another API is meant.
    const isOpen = feeds.length === 0 && broken.length === 0;
    const of = feeds.length + broken.length;
    if (!origins.has('apiUrl') && (isOpen || needUrl.length > 0))
      mistakes.push(missingApi('apiUrl', needUrl, of));
    if (!tokenSet && (isOpen || needToken.length > 0)) mistakes.push(missingApi('apiToken', needToken, of));
    mistakes.push(...api.missing);
  }
  if (mistakes.length > 0) throw configError(mistakes, createRedactor(secrets));
  return {
    feeds,
    deliveries,
    dataDir: resolve(cwd, values.dataDir),
    stateDir: resolve(cwd, values.stateDir ?? values.dataDir),
    standby: values.standby,
    retention: { ageMs: values.retentionAge, bytes: values.retentionSize },
    kafka,
    schemaRegistry,
    topicPrefix: values.topicPrefix,
    partitions: values.partitions,
    appId: values.appId,
    log: { level: values.logLevel, format: values.logFormat },
    secrets,
    rotation,
    http,
    apiUrl: values.apiUrl,
    api: apiConfig(values, api, ca),
  };
}

const waysToSet = {
  apiUrl: `the address of the API in HIGHWATER_API_URL, --api-url, or ${DEFAULT_CONFIG_FILE}`,
  apiToken:
    'the access token in HIGHWATER_API_TOKEN, a file of it in HIGHWATER_API_TOKEN_FILE, or a command that prints it in HIGHWATER_API_TOKEN_COMMAND',
};

/**
 * @param needed feeds that need the setting
 * @param of how many feeds are to run
 */
function missingApi(key: keyof typeof waysToSet, needed: readonly string[], of: number): Mistake {
  const own = key === 'apiUrl' ? 'an address' : 'a token';
  const who = needed.length === 0 ? '' : `; without ${own} of their own: ${needed.join(', ')}`;
  const others = needed.length === of ? '' : ' (enabledFeeds can leave them out)';
  return { key, where: null, problem: `is not set, expected ${waysToSet[key]}${who}${others}` };
}

function apiConfig(
  values: SettingValues,
  { access, lacking }: ReadAccess,
  ca: Live<TlsTexts>,
): ApiConfig | null {
  const { requestsPerSecond, concurrentRequests, requestTimeout, idleTimeout, bodyLimit, retryTime } = values;
  if (access.size === 0 && lacking.size === 0) return null;
  return {
    access,
    lacking,
    get ca() {
      return ca.value.ca;
    },
    budget: { requestsPerSecond: requestsPerSecond, maxConcurrent: concurrentRequests },
    limits: {
      timeoutMs: requestTimeout,
      idleTimeoutMs: idleTimeout,
      bodyLimitBytes: bodyLimit,
      retry: { attempts: 6, totalMs: retryTime, baseMs: 500, maxMs: 10_000 },
    },
  };
}
