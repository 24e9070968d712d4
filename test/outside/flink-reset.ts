import { startSimulator } from '../../src/simulator/simulator';
import { cliStarter } from '../faults/cli-process';
import { type Flink, guideStatements, query } from './flink-queries';
import { instead } from './guide';
import type { Results } from './results';
import type { Servers } from './servers';

const RECORDS = 50;

/**
 * A reset shows every record once more, as one first seen. To Flink that is an insert of a row that it has: the guide's table
 * has each row once all the same, and one without a key has it twice.
 */
export async function checkReset(
  flink: Flink,
  servers: Servers,
  prefix: string,
  results: Results,
): Promise<void> {
  await publishTwice(servers, prefix, flink.folder);
  const guide = guideStatements(servers, prefix);
  const [set] = /^SET .*?;$/ms.exec(guide)!;
  const [ipos] = /^CREATE TABLE ipos \(.*?;$/ms.exec(guide)!;
  const other = instead(ipos, {
    'TABLE ipos': 'TABLE keyless',
    ',\n  PRIMARY KEY (id) NOT ENFORCED': '',
  });
  const statements = [other, 'SELECT id FROM keyless;', set, ipos, 'SELECT id FROM ipos;'];
  const [keyless, keyed] = await query(flink, `${statements.join('\n')}\n`);
  const rows = keyed?.rows?.length;
  const text = `after a reset of ipos: ${rows} rows of ${RECORDS} records, and ${keyless?.rows?.length} without a key`;
  const isSo = rows === RECORDS && keyless?.rows?.length === 2 * RECORDS;
  results.check(isSo, text, [keyed?.error ?? '', keyless?.error ?? '']);
}

async function publishTwice(
  { brokers, registryUrl }: Servers,
  prefix: string,
  folder: string,
): Promise<void> {
  const cli = await cliStarter();
  const sim = await startSimulator({ seed: 7, records: { insights: 1, analysts: 1, ipos: RECORDS } });
  try {
    const env = {
      HIGHWATER_API_URL: sim.url,
      HIGHWATER_API_TOKEN: sim.token,
      KAFKA_BROKERS: brokers,
      SCHEMA_REGISTRY_URL: registryUrl,
      HIGHWATER_TOPIC_PREFIX: prefix,
      HIGHWATER_FEEDS: 'ipos',
      HIGHWATER_POLL_INTERVAL: '200ms',
    };
    for (const args of [
      ['run', '--once'],
      ['reset', 'ipos', '--yes', '--wait', '1s'],
      ['run', '--once'],
    ]) {
      const publisher = cli.start(args, { env, cwd: folder });
      const code = await publisher.exited;
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${publisher.output()}`);
    }
  } finally {
    await cli.killAll();
    await sim.stop();
  }
}
