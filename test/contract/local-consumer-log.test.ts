import { openLocalConsumerLog } from '../../src/log/local/consumer/consumer-log';
import { openLocalLog } from '../../src/log/local/local-log';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { consumerLogContract } from './consumer-log';

const folder = tempFolder();

consumerLogContract('the embedded log', async () => {
  const options = { dataDir: folder(), logger: quietLogger() };
  return {
    prefix: '',
    open: async () => openLocalConsumerLog(options).consumerLog,
    publisher: async () => openLocalLog(options).commitLog,
    close: async () => undefined,
  };
});
