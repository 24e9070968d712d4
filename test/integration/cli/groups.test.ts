import { openLocalLog } from '../../../src/log/local/local-log';
import { groupsCommandContract } from '../../contract/groups-command';
import { commandLine, outcome } from '../../support/cli';
import { tempFolder } from '../../support/temp-folder';

const cli = commandLine();
const folder = tempFolder();

groupsCommandContract('the embedded log', async () => {
  const dataDir = folder();
  const { commitLog, registry } = openLocalLog({ dataDir });
  const env = { HIGHWATER_DATA_DIR: dataDir };
  return { commitLog, registry, topicPrefix: '', connect: { dataDir }, env, close: () => commitLog.close() };
});

it('the groups of a folder without a log are not called none', async () => {
  const { code, said } = await outcome(cli(['groups'], { cwd: folder() }));
  expect([code, said]).toEqual([1, expect.stringContaining('error LOG_MISSING')]);
});
