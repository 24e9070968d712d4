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
