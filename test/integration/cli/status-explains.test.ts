import { mkdirSync, writeFileSync } from 'node:fs';
import { freePort } from '../../../tools/servers/ports';
import { commandsInFolder } from '../../support/cli';
import { writeAgain } from '../../support/records';
import { apiEnv, simulatedApi } from '../../support/simulated-api';
import { until } from '../../support/until';

const api = simulatedApi({ insights: 20, analysts: 20, ipos: 20 });
const settings = () => ({
  ...apiEnv(api()),
  HIGHWATER_REQUESTS_PER_SECOND: '1000',
  HIGHWATER_POLL_INTERVAL: '1s',
});
const { file, start, done: ran } = commandsInFolder(settings);

it('status names the members that drifted with their counts, and why the latest row became a dead letter', async () => {
  api().behave({ drift: { members: 1, types: 1, withoutId: 0.5 } });
  for (const key of [...api().stores.ipos.keys()]) writeAgain(api().stores.ipos, key);
  const publisher = start(['run', '--feeds', 'ipos']);
  await publisher.sees(/snapshot complete/, 'stderr');
  // Members that drifted are committed with the position after them.
  await until(async () => (await ran(['status', '--feeds', 'ipos'])).said.includes('cusip'));
  const { said } = await ran(['status', '--feeds', 'ipos']);
  expect(said).toMatch(/cusip \(text, \d+ changes?\)/);
  expect(said).toMatch(/insider_lockup_days \(text instead of \w+, \d+ changes?\)/);
  expect(said).toContain('The latest: the record has no usable id');
  const json = await ran(['status', '--feeds', 'ipos', '--json']);
  const { problems } = JSON.parse(json.said) as { readonly problems: readonly { readonly code: string }[] };
  expect(problems.map(({ code }) => code)).toEqual(expect.arrayContaining(['DEAD_LETTERS', 'DRIFT']));
});

it('status and doctor show what the publisher says of its feeds when the log cannot be read', async () => {
  const env = {
    ...settings(),
    HIGHWATER_API_TOKEN: 'wrong',
    HIGHWATER_HTTP_PORT: String(await freePort()),
  };
  const publisher = start(['run'], env);
  await publisher.sees(/SOURCE_UNAUTHORIZED/, 'stderr');
  const damaged = file('damaged');
  mkdirSync(damaged);
  writeFileSync(file('damaged', 'highwater.db'), 'no log'.repeat(2_000));
  const broken = { ...env, HIGHWATER_DATA_DIR: damaged };
  const parked = 'parked by SOURCE_UNAUTHORIZED, tried again slowly';

  await until(async () => (await ran(['status'], broken)).said.split(parked).length === 4);
  const status = await ran(['status'], broken);
  expect(status.code).toBe(1);
  expect(status.said).toContain('The log cannot be read. The publisher on this machine says');
  expect(status.said).toMatch(/LOG_CORRUPT/);
  const doctor = await ran(['doctor'], broken);
  expect(doctor.said).toContain(parked);

  await publisher.stop();
  // Nobody answers any more: the error stays as it is.
  expect((await ran(['status'], broken)).said).not.toContain('publisher on this machine');
});
