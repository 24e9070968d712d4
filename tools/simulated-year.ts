// Publishes a made-up year, 2025, to an embedded log: the same events each time, for examples/event-sourced-analytics.
// usage: npx tsx tools/simulated-year.ts DATA_DIR
import { loadConfig } from '../src/config/load-config';
import { openLocalLog } from '../src/log/local/local-log';
import { createLogger } from '../src/logging/logger';
import { instanceName, runWorker } from '../src/runtime/worker';
import { startSimulator } from '../src/simulator/simulator';

const DAY_MS = 86_400_000;
const EVENTS_A_DAY = 12;

void publishYear(process.argv[2]);

async function publishYear(dataDir: string | undefined): Promise<void> {
  if (dataDir === undefined) throw new Error('usage: npx tsx tools/simulated-year.ts DATA_DIR');
  let nowMs = Date.UTC(2025, 0, 1, 18);
  const endMs = Date.UTC(2025, 11, 31, 18);
  const simulator = await startSimulator({
    ...{ seed: 25, clock: () => nowMs, keepHistory: false },
    records: { insights: 1_500, analysts: 90, ipos: 360 },
  });
  const { signal } = new AbortController();
  const config = loadConfig({
    flags: { dataDir, requestsPerSecond: '1000' },
    env: { HIGHWATER_API_URL: simulator.url, HIGHWATER_API_TOKEN: simulator.token },
    cwd: dataDir,
  });
  const logger = createLogger({ level: 'warn', format: 'pretty', secrets: config.secrets });
  const { commitLog, registry } = openLocalLog({ dataDir, logger, instance: instanceName() });
  try {
    for (; nowMs <= endMs; nowMs += DAY_MS) {
      const isWeekend = [0, 6].includes(new Date(nowMs).getUTCDay());
      if (isWeekend) continue;
      await runWorker(config, { log: commitLog, registry, logger }, true, signal);
      for (let i = 0; i < EVENTS_A_DAY; i++) simulator.marketDay.step();
    }
    await runWorker(config, { log: commitLog, registry, logger }, true, signal);
  } finally {
    await commitLog.close();
    await simulator.stop();
  }
}
