import { statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import { connect } from '../../src/consumer/connect';
import { createRandom } from '../../src/simulator/random';
import { startSimulator } from '../../src/simulator/simulator';
import { type CliProcess, cliStarter } from '../faults/cli-process';
import { withLogFile } from '../support/judge/log-file';
import { quietLogger } from '../support/source';
import { until } from '../support/until';
import { say, seed, setting, soakFolder } from './soak';

/**
 * A publisher of one feed that may keep little, and publishes many times as much. Settings: KEPT_MB (2) of the topic's values, TIMES (10)
 * as much is published at least, SEED (drawn).
 */
const kept = setting('KEPT_MB', 2) * 1_000_000;
const times = setting('TIMES', 10);
const IPOS = 1_000;
const folder = soakFolder();
const dataDir = path.join(folder, 'data');
const file = path.join(dataDir, 'highwater.db');

function asked<T>(sql: string): T {
  const db = new Database(file, { readonly: true });
  const [row] = db.prepare(sql).raw().all() as [T][];
  db.close();
  return row![0];
}
const numbered = `CAST(substr(json_extract(headers, '$.ce_id'), 15) AS INTEGER)`;

/** A member of a group, until it is left. */
function member(group: string, seen: Set<string>, most = Infinity) {
  const log = connect({ dataDir, logger: quietLogger() });
  const over = new AbortController();
  const ended = log
    .consume({ group, topics: ['ipos'], from: 'beginning', signal: over.signal }, ({ value }) => {
      if (seen.has(value.event_id)) throw new Error(`${value.event_id} came twice`);
      seen.add(value.event_id);
      if (seen.size >= most) over.abort();
    })
    .finally(() => log.close());
  return { ended, leave: () => over.abort() };
}

it(
  'keeps what it may keep, in a file that stops growing, and every image',
  async () => {
    say(`seed ${seed}: ${kept / 1e6} MB may be kept, at least ${times} times as much is published`);
    const sim = await startSimulator({
      seed,
      records: { insights: 0, analysts: 0, ipos: IPOS },
      keepHistory: false,
    });
    const cli = await cliStarter();
    const random = createRandom(seed);
    const env = {
      HIGHWATER_API_URL: sim.url,
      HIGHWATER_API_TOKEN: sim.token,
      HIGHWATER_DATA_DIR: dataDir,
      HIGHWATER_FEEDS: 'ipos',
      HIGHWATER_POLL_INTERVAL: '200ms',
      HIGHWATER_REQUESTS_PER_SECOND: '1000',
      HIGHWATER_RETENTION_SIZE: `${kept / 1e6}MB`,
      HIGHWATER_HTTP_PORT: '0',
      HIGHWATER_LOG_FORMAT: 'json',
    };
    let publisher: CliProcess | null = null;
    try {
      publisher = cli.start(['run'], { env, cwd: folder });
      await until(() => /snapshot complete/.test(publisher!.output()), 120_000);
      const always = new Set<string>();
      const away = new Set<string>();
      const reading = member('always', always);
      await member('away', away, 50).ended;

      const sizes: number[] = [];
      const end = Date.now() + 30 * 60_000;
      const bytesPerEvent = asked<number>("SELECT avg(length(value)) FROM records WHERE topic = 'ipos'");
      const wanted = Math.ceil((times * kept) / bytesPerEvent);
      while (always.size < wanted && Date.now() < end) {
        const keys = sim.stores.ipos.view().byUpdated.map(({ key }) => key);
        for (let i = 0; i < 100; i++) {
          const { updated: _, ...rest } = sim.truth('ipos').get(random.pick(keys))!;
          sim.stores.ipos.upsert({
            ...rest,
            price_max: `${random.int(1, 99)}.${random.int(100, 999)}`,
          } as never);
        }
        await delay(50);
        sizes.push(statSync(file).size);
      }
      const valueBytes = () => asked<number>("SELECT sum(length(value)) FROM records WHERE topic = 'ipos'");
      await until(() => valueBytes() < 1.2 * kept, 120_000);
      const newest = () => asked<number>(`SELECT max(${numbered}) FROM records WHERE topic = 'ipos'`);
      for (let last = 0; last !== newest(); ) {
        last = newest();
        await delay(2_000);
      }
      await until(() => always.size === newest(), 120_000);
      reading.leave();
      await reading.ended;

      const comingBack = member('away', away).ended;
      await expect(comingBack).rejects.toMatchObject({ code: 'LOG_POSITION_LOST' });
      const lost = await comingBack.catch((error: Error) => error.message);
      const anew = new Set<string>();
      const retained = asked<number>("SELECT count(*) FROM records WHERE topic = 'ipos'");
      await member('away, anew', anew, retained).ended;
      const log = connect({ dataDir, logger: quietLogger() });
      const table = await log.table('ipos');
      const shown = new Map([...table].map(([id, row]) => [id, row.price_max]));
      await log.close();

      publisher.signal('SIGTERM');
      expect(await publisher.exited).toBe(0);
      const published = newest();
      const truth = sim.truth('ipos');
      const third = Math.floor(sizes.length / 3);
      const [early, late] = [Math.max(...sizes.slice(0, 2 * third)), Math.max(...sizes)];
      say(
        [
          `published      ${published} events, ${((published * bytesPerEvent) / kept) | 0} times what may be kept`,
          `kept           ${retained} events, ${(valueBytes() / 1e6).toFixed(2)} MB of values`,
          `file           ${(early / 1e6).toFixed(1)} MB at most in the first two thirds, ${(late / 1e6).toFixed(1)} MB in all`,
          `always         read ${always.size} events, none missing`,
          `away           ${lost}`,
          `images         ${shown.size}, source offsets ${withLogFile(file, (log) => log.count('ipos.source-offset'))}`,
        ].join('\n'),
      );
      expect(always.size).toBe(published);
      expect(published).toBeGreaterThanOrEqual(wanted);
      expect(late).toBeLessThan(1.25 * early);
      expect(shown).toEqual(new Map([...truth].map(([id, { price_max }]) => [id, price_max])));
      expect(asked<number>("SELECT count(*) FROM records WHERE topic = 'ipos.source-offset'")).toBe(1);
      assertNothingLost(published);
    } finally {
      await cli.killAll();
      await sim.stop();
    }
  },
  40 * 60_000,
);

/** Each partition keeps its last records, without a hole. The changes that are kept of a record end in its image. */
function assertNothingLost(published: number): void {
  const db = new Database(file, { readonly: true });
  const rows = db
    .prepare(
      `SELECT partition, offset, key, json_extract(headers, '$.op') FROM records WHERE topic = 'ipos' ORDER BY partition, offset`,
    )
    .raw()
    .all() as [number, number, string, string][];
  const numbers = db
    .prepare(`SELECT ${numbered} FROM records WHERE topic = 'ipos.current' OR topic = 'ipos'`)
    .raw()
    .all() as [number][];
  const images = db
    .prepare(
      `SELECT c.key, json_extract(c.headers, '$.event_id'), max(json_extract(e.headers, '$.ce_id'))
       FROM records c JOIN records e ON e.topic = 'ipos' AND json_extract(e.headers, '$.ce_id') = json_extract(c.headers, '$.event_id')
       WHERE c.topic = 'ipos.current' GROUP BY c.key`,
    )
    .raw()
    .all() as [string, string, string][];
  db.close();
  for (const [i, [partition, offset]] of rows.entries()) {
    const next = rows[i + 1];
    if (next !== undefined && next[0] === partition) expect(next[1]).toBe(offset + 1);
  }
  expect(images.every(([, image, event]) => image === event)).toBe(true);
  expect(Math.max(...numbers.map(([number]) => number))).toBe(published);
}
