import { startKafka } from '../../tools/servers/kafka';
import { freePort } from '../../tools/servers/ports';
import { type Registry, startRegistry } from '../../tools/servers/registry';
import { type CliProcess, commandLine, commandLineHere, jsonLines } from '../support/cli';
import { kafkaWorld } from '../support/kafka-world';
import { expectSession } from '../support/samples';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** The situations of docs/runbook that only Kafka knows. Servers are killed: the order of the tests matters. */

const cli = commandLine();
const here = commandLineHere();
const folder = tempFolder();
const kafka = kafkaWorld(() => startKafka());
const api = simulatedApi({ insights: 20, analysts: 20, ipos: 60 });
let registry: Registry;
let env: Record<string, string>;

beforeAll(async () => {
  registry = await startRegistry();
});
beforeEach(async () => {
  env = {
    ...apiEnv(api()),
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_POLL_INTERVAL: '1s',
    HIGHWATER_FEEDS: 'ipos',
    HIGHWATER_HTTP_PORT: String(await freePort()),
    KAFKA_BROKERS: kafka.brokers(),
    SCHEMA_REGISTRY_URL: registry.url,
  };
});
afterAll(() => registry?.stop());

const session = (more: Readonly<Record<string, string>> = {}) => ({
  here,
  cwd: folder(),
  env: { ...env, ...more },
  instead: {
    [registry.url]: 'http://registry:8081',
    [`127.0.0.1:${registry.port}`]: 'registry:8081',
    [kafka.brokers()]: 'broker-1:9092',
  },
});

/** A publisher that has read its feeds. */
async function publisher(more: Readonly<Record<string, string>> = {}): Promise<CliProcess> {
  const running = cli(['run'], session(more));
  await running.sees(/Dashboard at/, 'stderr');
  return running;
}

async function statusOf(feeds: string): Promise<readonly { owner: string | null; condition: string }[]> {
  const running = here(['status', '--json'], session({ HIGHWATER_FEEDS: feeds }));
  await running.ended();
  return jsonLines(running.stdout());
}

async function isUpToDate(feeds = 'ipos'): Promise<boolean> {
  const all = await statusOf(feeds);
  const fine = all.filter(({ owner, condition }) => owner !== null && condition === 'up-to-date');
  return fine.length === feeds.split(',').length;
}

async function readyReason(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${env.HIGHWATER_HTTP_PORT}/readyz`);
  return ((await answer.json()) as { reasons: string[] }).reasons.join();
}

it('two instances share the feeds', async () => {
  const feeds = 'insights,ipos';
  env.HIGHWATER_TOPIC_PREFIX = 'two.';
  await publisher({ HIGHWATER_FEEDS: feeds });
  await until(() => isUpToDate(feeds));
  await publisher({ HIGHWATER_FEEDS: feeds, HIGHWATER_HTTP_PORT: '0' });
  await until(async () => new Set((await statusOf(feeds)).map(({ owner }) => owner)).size === 2);
  await until(() => isUpToDate(feeds));
  await expectSession('scale-out', session({ HIGHWATER_FEEDS: feeds }));
});

it('the state of a feed was deleted', async () => {
  const first = await publisher();
  await until(() => isUpToDate());
  first.signal('SIGTERM');
  await first.ended();
  const admin = await kafka.admin();
  await admin.deleteTopics({ topics: ['ipos.current'] });
  await until(async () => !(await admin.listTopics()).includes('ipos.current'));
  const second = await publisher();
  await second.sees(/STATE_DAMAGED/, 'stderr');
  await expectSession('state-damaged', session());
});

it('the registry is lost', async () => {
  env.HIGHWATER_TOPIC_PREFIX = 'eu.';
  await publisher();
  await until(() => isUpToDate());
  await registry.kill();
  await expectSession('registry-lost', session());
});

it('the broker is lost', async () => {
  await registry.stop();
  registry = await startRegistry();
  env = { ...env, HIGHWATER_TOPIC_PREFIX: 'us.', SCHEMA_REGISTRY_URL: registry.url };
  await publisher();
  await until(() => isUpToDate());
  await kafka.server().brokers[0]!.kill();
  await until(async () => (await readyReason()).includes('last completely read'));
  await expectSession('broker-lost', session());
});
