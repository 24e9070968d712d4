import { openLocalLog } from '../../../src/log/local/local-log';
import { groupsCommandContract } from '../../contract/groups-command';
import { commandsHere } from '../../support/cli';

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
