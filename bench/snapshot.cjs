// The first snapshot of N IPO records (1.4 KB of JSON each), and what a tracked record costs: in the embedded log, or in
// Kafka, which is started for it unless KAFKA_BROKERS and SCHEMA_REGISTRY_URL name running servers.
// usage: npm run bench -- [N]        npm run bench:kafka -- [N]        Figures and how to read them: bench/README.md
const { fork } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const dist = path.join(__dirname, '..', 'dist');

const quiet = { error: console.error, warn: console.error, info() {}, debug() {} };
const onKafka = process.argv.includes('--kafka');
const [role, ...args] = process.argv.slice(2).filter((arg) => arg !== '--kafka');
const records = Number(role ?? 100_000);
const parts = { simulate, snapshot, fetch: fetchOnly, restore };
(parts[role] ?? main)(...args);

/** The API in a process of its own, so that its time is not ours. */
async function simulate(count) {
  const { startSimulator } = require(`${dist}/simulator/simulator`);
  const api = await startSimulator({ records: { ipos: Number(count) }, compress: false, keepHistory: false });
  process.send({ url: api.url, token: api.token });
}

function configFor(api, dataDir) {
  const { loadConfig } = require(`${dist}/config/load-config`);
  const env = {
    HIGHWATER_API_URL: api.url,
    HIGHWATER_API_TOKEN: api.token,
    HIGHWATER_DATA_DIR: dataDir,
    HIGHWATER_FEEDS: 'ipos',
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    ...(onKafka && {
      KAFKA_BROKERS: process.env.KAFKA_BROKERS,
      SCHEMA_REGISTRY_URL: process.env.SCHEMA_REGISTRY_URL,
      HIGHWATER_TOPIC_PREFIX: `${path.basename(path.dirname(dataDir))}.${path.basename(dataDir)}.`,
    }),
  };
  return loadConfig({ flags: {}, env, cwd: dataDir });
}

function logOf(config) {
  const { openLog } = require(`${dist}/cli/open-log`);
  return openLog(config, { logger: quiet, signal: new AbortController().signal });
}

/** One `run --once`: a first snapshot in an empty log, a restart and an idle poll in a full one. */
async function snapshot(api, dataDir) {
  const { runWorker } = require(`${dist}/runtime/worker`);
  const config = configFor(JSON.parse(api), dataDir);
  const log = logOf(config);
  let rows = 0;
  const deps = {
    log: log.commitLog,
    registry: log.registry,
    logger: quiet,
    onPage: (page) => (rows += page.rows),
  };
  const measured = measure();
  const [{ error }] = await runWorker(config, deps, true, new AbortController().signal);
  if (error !== null) throw error;
  process.send({ ...measured(), rows });
  await log.commitLog.close();
}

/** The limit beside it: the same pages fetched and parsed, and thrown away. */
async function fetchOnly(api, count) {
  const { createSource } = require(`${dist}/source/client`);
  const { createRequestBudget } = require(`${dist}/source/request-budget`);
  const config = configFor(JSON.parse(api), tmpdir());
  const budget = createRequestBudget(config.api.budget);
  const source = createSource({ ...config.api, budget, logger: quiet });
  const measured = measure();
  for (let page = 0; page < Number(count) / 1000; page++) {
    const request = { updatedSince: 0, pageOffset: page, pageSize: 1000 };
    await source.fetchPage(config.feeds[0], request, new AbortController().signal);
  }
  process.send(measured());
  source.close();
  budget.close();
}

/** What a restarted publisher needs before its first poll, and what the restored state takes in memory. */
async function restore(api, dataDir) {
  const { feedTopics } = require(`${dist}/log/topics`);
  const { acquireFeed } = require(`${dist}/runtime/owned-feed`);
  const config = configFor(JSON.parse(api), dataDir);
  const [feed] = config.feeds;
  const log = logOf(config);
  const topics = feedTopics(feed, config.topicPrefix);
  const deps = { log: log.commitLog, registry: log.registry, topics, scope: '', logger: quiet };
  const bare = settledRss();
  const measured = measure();
  const owned = await acquireFeed(feed, deps, new AbortController().signal);
  process.send({ ...measured(), images: owned.deps.state.recordCount, memory: settledRss() - bare });
  await log.commitLog.close();
}

function settledRss() {
  global.gc?.();
  return process.memoryUsage().rss;
}

function measure() {
  const began = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return {
      seconds: (performance.now() - began) / 1000,
      cpuMicros: user + system,
      rss: process.resourceUsage().maxRSS * 1024,
    };
  };
}

async function main() {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-bench-'));
  const children = [];
  const servers = onKafka ? await kafkaServers() : { env: {}, async stop() {} };
  const run = (part, ...rest) =>
    new Promise((resolve, reject) => {
      const child = fork(__filename, [part, ...rest, ...(onKafka ? ['--kafka'] : [])], {
        execArgv: ['--expose-gc'],
        env: { ...process.env, ...servers.env },
      });
      children.push(child);
      child.once('message', resolve);
      child.once('exit', (code) =>
        code === 0 ? undefined : reject(new Error(`${part} ended with ${code}`)),
      );
    });
  try {
    const api = JSON.stringify(await run('simulate', String(records)));
    const runs = [];
    const limits = [];
    for (let i = 0; i < 3; i++) {
      limits.push(await run('fetch', api, String(records)));
      runs.push(await run('snapshot', api, path.join(folder, String(i))));
    }
    const idle = await run('snapshot', api, path.join(folder, '0'));
    const state = await run('restore', api, path.join(folder, '0'));
    report(records, runs, limits, idle, state);
  } finally {
    for (const child of children) child.kill();
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function kafkaServers() {
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL } = process.env;
  if (KAFKA_BROKERS && SCHEMA_REGISTRY_URL) return { env: {}, async stop() {} };
  require('tsx/cjs');
  const { startKafka } = require('../tools/servers/kafka');
  const { startRegistry } = require('../tools/servers/registry');
  const kafka = await startKafka();
  const registry = await startRegistry();
  return {
    env: { KAFKA_BROKERS: kafka.bootstrap, SCHEMA_REGISTRY_URL: registry.url },
    async stop() {
      await registry.stop();
      await kafka.stop();
    },
  };
}

function report(count, runs, limits, idle, state) {
  const sorted = (values) => [...values].sort((a, b) => a - b);
  const line = (name, all) => {
    const [best, median] = [0, 1].map((i) => sorted(all.map(({ seconds }) => seconds))[i]);
    const [cpu] = sorted(all.map(({ cpuMicros }) => cpuMicros / count));
    const rss = Math.max(...all.map((each) => each.rss)) / 2 ** 20;
    const rate = (seconds) => Math.round(count / seconds).toLocaleString('en');
    console.log(
      `${name.padEnd(34)} ${rate(best).padStart(9)} / ${rate(median).padEnd(9)} ${cpu.toFixed(1).padStart(6)} ${rss.toFixed(0).padStart(8)}`,
    );
  };
  console.log(`${count.toLocaleString('en')} IPO records, pages of 1000, 3 runs\n`);
  console.log(`${''.padEnd(34)} records/s best / median  µs CPU  RSS MiB`);
  line(`first snapshot, ${onKafka ? 'Kafka' : 'embedded log'}`, runs);
  line('limit: fetch and parse alone', limits);
  console.log(`\nrestart, restore and one idle poll  ${idle.seconds.toFixed(2)} s (${idle.rows} rows read)`);
  console.log(
    `restore                             ${Math.round(state.images / state.seconds).toLocaleString('en')} images/s`,
  );
  console.log(`memory per tracked record           ${Math.round(state.memory / state.images)} bytes`);
}
