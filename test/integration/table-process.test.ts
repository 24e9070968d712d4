import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { feedTopics } from '../../src/log/topics';
import { build } from '../support/build';

const topics = feedTopics({ name: 'ipos', topic: 'ipos', transitions: [] }, '');

it('a table that cannot be kept up to date ends a process in which nobody listens', async () => {
  const dist = await build();
  const program = `
    const { openTable } = require(${JSON.stringify(path.join(dist, 'consumer', 'table.js'))});
    const log = {
      ends: async () => ({ topicId: null, ends: new Map([[0, 0]]) }),
      async *load() {},
      async *follow() { throw new Error('the topic is gone'); },
    };
    const topics = ${JSON.stringify(topics)};
    const closing = new AbortController().signal;
    openTable({}, { log, topics, closing, track: (following) => following.catch(() => undefined) });
    setTimeout(() => {}, 120_000);`;
  const child = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 60_000 });
  expect(child).toMatchObject({ status: 1, stderr: expect.stringContaining('the topic is gone') });
});
