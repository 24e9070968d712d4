import { tmpdir } from 'node:os';
import { ipos } from '../../src/feeds/ipos';
import { fromDist } from '../dist';
import { measureOwn } from '../measure/own-usage';
import { limitInput } from './limit-input';

/** The pages fetched and parsed by the client that is shipped, and thrown away. */
async function main(): Promise<void> {
  const { records, apiUrl, token } = limitInput();
  const { loadConfig } = fromDist<typeof import('../../src/config/load-config')>('config/load-config');
  const { createSource } = fromDist<typeof import('../../src/source/client')>('source/client');
  const { createRequestBudget } =
    fromDist<typeof import('../../src/source/request-budget')>('source/request-budget');
  const env = {
    HIGHWATER_API_URL: apiUrl,
    HIGHWATER_API_TOKEN: token,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
  };
  const { api } = loadConfig({ flags: {}, env, cwd: tmpdir() }, 'api');
  const budget = createRequestBudget(api.budget);
  const logger = { error: console.error, warn: console.warn, info() {}, debug() {} };
  const source = createSource({ ...api, ...api.access.get(ipos.name)!, budget, logger });
  const measured = measureOwn();
  for (let page = 0; page < records / ipos.pageSize; page++) {
    const request = { updatedSince: 0, pageOffset: page, pageSize: ipos.pageSize };
    await source.fetchPage(ipos, request, new AbortController().signal);
  }
  console.log(JSON.stringify({ records, ...measured() }));
  source.close();
  budget.close();
}

void main();
