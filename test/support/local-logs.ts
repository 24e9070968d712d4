import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ipos } from '../../src/feeds/ipos';
import type { FeedSession, FeedTopics } from '../../src/log/commit-log';
import { connect } from '../../src/log/local/file/sqlite';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import { deadline } from './log-records';
import { tempFolder } from './temp-folder';

type Options = Partial<Parameters<typeof openLocalLog>[0]>;

/** Embedded logs in a folder that each test of the file has for itself. What is open ends with the test. */
export function localLogs(usual: Options = {}) {
  const opened: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close();
  });
  const folder = tempFolder();
  const topics = feedTopics(ipos, '');
  const file = () => path.join(folder(), 'highwater.db');

  function open(options: Options = {}): LocalLog {
    const log = openLocalLog({ dataDir: folder(), ...usual, ...options });
    opened.push(log.commitLog);
    return log;
  }

  return {
    folder,
    file,
    topics,
    open,
    /** The file, as any program may open it. */
    outside(busyTimeoutMs = 5_000) {
      const db = connect(file(), busyTimeoutMs);
      opened.push({ close: () => db.open && db.close() });
      return db;
    },
    /** A log, and the session of an owner. */
    async own(log = open(), of: FeedTopics = topics): Promise<{ log: LocalLog; session: FeedSession }> {
      return { log, session: await log.commitLog.acquire(of, deadline()) };
    },
  };
}

/** A process that owns a feed of a log. @param steps its program, in which `commit` commits 6,000 records */
export function committingProcess(dataDir: string, steps: string) {
  const program = `
    const { openLocalLog } = require('./src/log/local/local-log.ts');
    const { feedTopics } = require('./src/log/topics.ts');
    const topics = feedTopics({ name: 'ipos', topic: 'ipos', transitions: [] }, '');
    const records = Array.from({ length: 6000 }, (_, i) => (
      { topic: 'ipos', key: String(i), value: Buffer.alloc(500), headers: {}, timestamp: 1 }
    ));
    async function main() {
      const { commitLog } = openLocalLog({ dataDir: process.argv[1] });
      const session = await commitLog.acquire(topics, new AbortController().signal);
      const position = { incarnation: 'i', ownerEpoch: session.ownerEpoch, commit: 1 };
      const commit = () => session.commit({ feed: 'ipos', records, position });
      ${steps}
    }
    void main();`;
  const args = ['--require', 'tsx/cjs', '-e', program, dataDir];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, signal, stdout, stderr };
}
