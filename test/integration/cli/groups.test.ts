import { openLocalLog } from '../../../src/log/local/local-log';
import { groupsCommandContract } from '../../contract/groups-command';
import { tempFolder } from '../../support/temp-folder';

const folder = tempFolder();

groupsCommandContract('the embedded log', async () => {
  const dataDir = folder();
  const { commitLog, registry } = openLocalLog({ dataDir });
  const env = { HIGHWATER_DATA_DIR: dataDir };
  return { commitLog, registry, topicPrefix: '', connect: { dataDir }, env, close: () => commitLog.close() };
});
