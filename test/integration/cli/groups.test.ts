import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openLocalConsumerLog } from '../../../src/log/local/consumer/consumer-log';
import { openLocalLog } from '../../../src/log/local/local-log';
import { groupsCommandContract } from '../../contract/groups-command';
import { commandsHere } from '../../support/cli';
import { quietLogger } from '../../support/source';

const { folder, done } = commandsHere();

groupsCommandContract('the embedded log', async () => {
  const dataDir = folder();
  const { commitLog, registry } = openLocalLog({ dataDir });
  const env = { HIGHWATER_DATA_DIR: dataDir };
  return { commitLog, registry, topicPrefix: '', connect: { dataDir }, env, close: () => commitLog.close() };
});

it('the groups of a folder without a log are not called none', async () => {
  const { code, said } = await done(['groups']);
  expect([code, said]).toEqual([1, expect.stringContaining('error LOG_MISSING')]);
});

it('what a command of groups does about a damaged log is not what a publisher does', async () => {
  const env = { HIGHWATER_DATA_DIR: folder() };
  const { consumerLog } = openLocalConsumerLog({ dataDir: folder(), logger: quietLogger() });
  await consumerLog.append(
    { name: 't', partitions: 1, cleanup: 'delete', retentionMs: 1_000 },
    [],
    new AbortController().signal,
  );
  await consumerLog.moveGroup(
    'desk',
    [{ topic: 't', topicId: null, partition: 0, next: 0 }],
    new AbortController().signal,
  );
  await consumerLog.close();
  writeFileSync(path.join(folder(), 'highwater.db'), 'x'.repeat(8_192));
  expect((await done(['groups'], env)).said).toMatch(/error LOG_CORRUPT.*\n +now: +Nothing is shown\./);
  const reset = await done(['groups', 'reset', 'desk', '--to', 'end', '--yes'], env);
  expect(reset.said).toMatch(/error LOG_CORRUPT.*\n +now: +Nothing was moved\./);
});
