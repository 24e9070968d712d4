import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { openLocalLog } from '../../../../src/log/local/local-log';
import { feedTopics } from '../../../../src/log/topics';
import { testFeed } from '../../../support/feeds';
import { tempFolder } from '../../../support/temp-folder';

const folder = tempFolder();
const mode = (name: string) => (statSync(name).mode & 0o777).toString(8);

async function publishedIn(dataDir: string): Promise<void> {
  const log = openLocalLog({ dataDir }).commitLog;
  const session = await log.acquire(feedTopics(testFeed('ipos'), ''), new AbortController().signal);
  await session.release();
  await log.close();
}

it('a data folder is made for its user alone', async () => {
  const dataDir = path.join(folder(), 'deep', 'data');
  await publishedIn(dataDir);
  expect(mode(dataDir)).toBe('700');
});

it('one that is there stays as somebody made it', async () => {
  const dataDir = path.join(folder(), 'shared');
  mkdirSync(dataDir);
  const before = mode(dataDir);
  await publishedIn(dataDir);
  expect(mode(dataDir)).toBe(before);
});
