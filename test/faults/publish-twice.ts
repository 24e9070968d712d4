import { until } from '../support/until';
import { cliStarter } from './cli-process';
import { publisherEnv } from './crash-run';
import type { PublisherLog } from './publisher-log';
import { type RestlessMarket, startRestlessMarket } from './restless-market';

/**
 * Two runs of the program with a busy time between them, and nothing moving during the second: a good log, and the market
 * it is of, which is at rest.
 */
export async function publishTwice(
  log: PublisherLog,
  folder: string,
  { everyMs = 4 } = {},
): Promise<RestlessMarket> {
  const cli = await cliStarter();
  const market = await startRestlessMarket(3, {
    records: { insights: 300, analysts: 100, ipos: 300 },
    everyMs,
  });
  try {
    const env = publisherEnv(market, log, folder);
    const run = async (): Promise<void> => {
      const once = cli.start(['run', '--once'], { env, cwd: folder });
      const code = await once.exited;
      if (code !== 0) throw new Error(`run --once ended with ${code}: ${once.output()}`);
    };
    market.sim.clearFaults();
    await run();
    for (let i = 0; i < 200; i++) market.sim.marketDay.step();
    const stillAt = market.calm();
    await until(() => Date.now() > stillAt);
    await run();
    return market;
  } catch (error) {
    await market.stop();
    throw error;
  } finally {
    await cli.killAll();
  }
}
