import { hostileApis } from '../faults/api-run';
import { embeddedLog } from '../faults/publisher-log';

hostileApis('the embedded log', async (folder) => ({ ...embeddedLog(folder), stop: async () => {} }));
