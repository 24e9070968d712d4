import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import { connect } from '../../src/consumer/connect';
import type { HighwaterError } from '../../src/errors';
import type { FeedStatus } from '../../src/feed-status/feed-status';
import { openLocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import type { FaultRule } from '../../src/simulator/http/faults';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { freePort } from '../../tools/servers/ports';
import { type CommandRun, commandLine, commandLineHere, jsonLines, outcome } from '../support/cli';
import { deadline } from '../support/log-records';
import { writeAgain } from '../support/records';
import { expectSample, expectSession, readable, type Session } from '../support/samples';
import { hasSmallDisks, onSmallDisk } from '../support/small-disk';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** The situations of docs/runbook on the embedded log: what is printed in each is the sample of its page. */

const cli = commandLine();
const here = commandLineHere();
const folder = tempFolder();
const data = (...names: string[]) => path.join(folder(), 'data', ...names);
let accepted: string[];
let api: Simulator;
let env: Record<string, string>;

beforeEach(async () => {
  accepted = ['first-token-4711'];
  api = await startSimulator({ records: { insights: 20, analysts: 20, ipos: 400 }, tokens: accepted });
  writeToken(accepted[0]!);
  env = {
    HIGHWATER_API_URL: api.url,
    HIGHWATER_API_TOKEN_FILE: path.join(folder(), 'token'),
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_RETRY_TIME: '2s',
    HIGHWATER_POLL_INTERVAL: '500ms',
    HIGHWATER_FEEDS: 'ipos',
    HIGHWATER_HTTP_PORT: String(await freePort()),
  };
});
afterEach(() => api.stop());

const writeToken = (token: string) =>
  writeFileSync(path.join(folder(), 'token'), `${token}\n`, { mode: 0o600 });

const session = (more: Readonly<Record<string, string>> = {}) => ({
  here,
  cwd: folder(),
  env: { ...env, ...more },
});

/** A publisher whose first snapshot is complete. */
async function publisher(): Promise<CommandRun> {
  const running = here(['run'], session());
  await running.sees(/ipos: (first )?snapshot complete/, 'stderr');
  return running;
}

async function done(...args: string[]): Promise<void> {
  const { code, said } = await outcome(here(args, session()));
  if (code !== 0) throw new Error(said);
}

/** Waits until `status` says of ipos that something holds. */
async function untilStatus(holds: (ipos: FeedStatus) => boolean): Promise<void> {
  await until(async () => {
    const running = here(['status', '--json'], session());
    await running.ended();
    const [ipos] = jsonLines<FeedStatus>(running.stdout());
    return ipos !== undefined && holds(ipos);
  });
}

const always = (fault: FaultRule['fault']) => api.fault({ fault, probability: 1 });
const has = (code: string) => (ipos: FeedStatus) => ipos.problems.some((problem) => problem.code === code);

/** Lines of a publisher's log. */
function logged(running: CommandRun, pattern: RegExp): string {
  const lines = running.stderr().split('\n');
  return readable(lines.filter((line) => pattern.test(line)).join('\n'), session());
}

it('a token is refused, and the feed goes on when its file holds another', async () => {
  const running = await publisher();
  accepted[0] = 'second-token-0815';
  await untilStatus(has('SOURCE_UNAUTHORIZED'));
  await expectSession('feed-parked', session());
  writeToken('second-token-0815');
  await running.sees(/Feed ipos is read again/, 'stderr');
  expectSample('token-rotated', logged(running, /has a new value|is read again/));
});

it('a feed is paused', async () => {
  await publisher();
  await done('pause', 'ipos');
  await expectSession('paused', session());
});

it('the API limits the requests', async () => {
  await publisher();
  always({ kind: 'status', status: 429, retryAfter: { seconds: 3_600 } });
  await untilStatus((ipos) => ipos.behind && has('SOURCE_RATE_LIMITED')(ipos));
  await expectSession('api-429', session());
});

it('the API is down', async () => {
  await publisher();
  always({ kind: 'status', status: 503 });
  await untilStatus((ipos) => ipos.behind && has('SOURCE_UNAVAILABLE')(ipos));
  await expectSession('api-down', session());
});

it('a feed is behind, and nothing fails', async () => {
  env.HIGHWATER_RETRY_TIME = '5m';
  await publisher();
  always({ kind: 'hang' });
  await untilStatus(has('BEHIND'));
  await expectSession('feed-behind', session());
});

it('a publisher hangs', async () => {
  await done('run', '--once');
  const running = cli(['run'], session());
  await untilStatus(({ owner, condition }) => owner !== null && condition === 'up-to-date');
  running.signal('SIGSTOP');
  await untilStatus(({ behind }) => behind);
  await expectSession('publisher-hangs', session());
});

it('rows become dead letters, and members drift', async () => {
  await publisher();
  const keys = [...api.stores.ipos.keys()];
  const write = (changed: readonly string[]): void => {
    for (const key of changed) writeAgain(api.stores.ipos, key);
  };
  api.behave({ drift: { withoutId: 1 } });
  write(keys.slice(0, 2));
  api.behave({ drift: { withoutId: 0, members: 1, types: 1 } });
  write(keys.slice(2, 20));
  await untilStatus((ipos) => has('DEAD_LETTERS')(ipos) && has('DRIFT')(ipos));
  await expectSession('dead-letters', session());
});

(hasSmallDisks ? it : it.skip)('the disk is full', async () => {
  await done('run', '--once');
  const running = cli(['run'], { ...session(), under: onSmallDisk(data(), 6) });
  await running.sees(/Dashboard at/, 'stderr');
  const asked = api.requests().length;
  await until(() => api.requests().length > asked + 2);
  // Only the publisher has the mount.
  const seen = `/proc/${running.pid}/root${data()}`;
  fill(path.join(seen, 'filling'));
  api.marketDay.start(10);
  await running.sees(/LOG_FULL/, 'stderr');
  await expectSession('disk-full', {
    ...session({ HIGHWATER_DATA_DIR: seen }),
    instead: { [seen]: '/data' },
  });
});

/** Leaves no room on the disk of a file. */
function fill(file: string): void {
  try {
    for (;;) appendFileSync(file, Buffer.alloc(4_096));
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
  }
}

it('a reconcile withholds deletes', async () => {
  await publisher();
  for (const key of api.stores.ipos.keys().sort().slice(30, 90)) api.stores.ipos.remove(key);
  await here(['reconcile', 'ipos'], session()).ended();
  await expectSession('reconcile-asks', session());
});

it('no publisher runs', async () => {
  const running = await publisher();
  await running.stop();
  await untilStatus(({ behind }) => behind);
  await expectSession('no-publisher', session());
});

it('a schema is refused', async () => {
  const log = openLocalLog({ dataDir: data(), logger: quietLogger() });
  const other = await log.commitLog.acquire(
    feedTopics({ name: 'x', topic: 'x', transitions: [] } as never, ''),
    deadline(),
  );
  await log.registry.register('ipos.current-value', {
    type: 'record',
    name: 'Ipo',
    namespace: 'marketdata.ipos',
    fields: [{ name: 'id', type: 'long' }],
  });
  await other.release();
  await log.commitLog.close();
  const running = here(['run'], session());
  await running.sees(/SCHEMA_INCOMPATIBLE/, 'stderr');
  await expectSession('schema-refused', session());
});

it('the log cannot be read', async () => {
  mkdirSync(data());
  writeFileSync(data('highwater.db'), 'no log'.repeat(2_000));
  await expectSession('log-corrupt', session());
});

it('the clock of this machine is wrong', async () => {
  api.behave({ clockSkew: 600 });
  await expectSession('clocks', session());
});

it('a later version has written the log', async () => {
  await done('run', '--once');
  const db = new Database(data('highwater.db'));
  db.exec('PRAGMA user_version = 99');
  db.close();
  await expectSession('log-newer', session({ HIGHWATER_LOG_LEVEL: 'error' }));
});

it('a second publisher starts on the same folder', async () => {
  await publisher();
  await expectSession('log-owned', session({ HIGHWATER_HTTP_PORT: '0', HIGHWATER_LOG_LEVEL: 'error' }));
});

it('a consumer has a position that the log does not have', async () => {
  await done('run', '--once');
  const log = connect({ dataDir: data(), logger: quietLogger() });
  const positions = { load: () => 1_000 };
  const options = {
    group: 'desk',
    topics: ['ipos'],
    from: 'beginning',
    positions,
    signal: deadline(),
  } as const;
  const error = await log.consumeBatches(options, () => undefined).catch((lost: HighwaterError) => lost);
  await log.close();
  const { code, message } = error as HighwaterError;
  expectSample('position-lost', readable(`${code} ${message}`, session()));
});

it('a log is backed up and restored', async () => {
  await done('run', '--once');
  // Its commands name a folder that is not there.
  const inFolder: Session['here'] = (args, options) =>
    here(
      args.map((one) => one.replace('/backups', folder())),
      options,
    );
  await expectSession('backup-and-restore', { ...session(), here: inFolder });
});
