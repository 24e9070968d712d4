import { openLocalLog } from '../../src/log/local/local-log';
import { tempFolder } from '../support/temp-folder';
import { consumerContract } from './consumer';

const folder = tempFolder();

consumerContract('the embedded log', async () => {
  const dataDir = folder();
  const { commitLog, registry } = openLocalLog({ dataDir });
  return { commitLog, registry, topicPrefix: '', connect: { dataDir }, close: () => commitLog.close() };
});
