import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { commandsHere } from '../../support/cli';
import { endsWithTest } from '../../support/ends';
import { simulatedApi } from '../../support/simulated-api';
import { replaceFile } from '../../support/temp-folder';
import { clientId, startTokenServer } from '../../support/token-server';

/** A publisher whose files and commands give no token when it starts. */

const api = simulatedApi({ ipos: 20, analysts: 20 });
const { folder, file, here, done } = commandsHere(() => ({
  HIGHWATER_API_URL: api().url,
  HIGHWATER_RETRY_TIME: '1s',
  HIGHWATER_POLL_INTERVAL: '100ms',
}));
const query = { scheme: 'query', name: 'token' };

/** Feed ipos has its token, feed analysts does not. */
function write(auth: object): void {
  writeFileSync(file('good'), api().token);
  const feeds = { ipos: { auth: { ...query, tokenFile: 'good' } }, analysts: { auth } };
  writeFileSync(file('highwater.yaml'), stringify({ enabledFeeds: 'ipos,analysts', feeds }));
}

const late = { ...query, tokenFile: 'late' };
const printing = (command: string) => ({ ...query, tokenCommand: command });

it.each<[string, object, string | null, RegExp]>([
  ['a file that is not there', late, null, /tokenFile: the file "late" cannot be read \(ENOENT\)/],
  ['an empty file', late, '\n', /tokenFile: the file "late" is empty/],
  [
    'a file with two words',
    late,
    'SES AME',
    /tokenFile: the file "late" holds something else, expected a token/,
  ],
  [
    'a command that fails',
    printing('echo no route >&2; exit 2'),
    null,
    /Command: the command ended with exit code 2 and said: no route/,
  ],
  ['a command that prints nothing', printing('true'), null, /tokenCommand: the command printed nothing/],
  [
    'a command that is not installed',
    { ...query, tokenCommand: ['no-such-program'] },
    null,
    /could not be run \(ENOENT\)/,
  ],
])('%s stops only the feed that needs it', async (_, auth, content, why) => {
  write(auth);
  if (content !== null) writeFileSync(file('late'), content);
  const once = await done(['run', '--once']);
  expect(once.code).toBe(1);
  expect(once.err).toMatch(/ipos: first snapshot complete/);
  expect(once.err).toMatch(why);
  expect(once.err).toMatch(/code=SOURCE_TOKEN_UNAVAILABLE/);
  expect(once.said).not.toMatch(/CONFIG_INVALID|SES|no-such/);
  expect(api().requests('analysts')).toHaveLength(0);
});

it.each<[string, () => object]>([
  ['file', () => late],
  ['command', () => printing(`cat ${file('late')}`)],
])('a feed is read once its %s gives the token', async (_, auth) => {
  write(auth());
  const running = here(['run']);
  await running.sees(/code=SOURCE_TOKEN_UNAVAILABLE/, 'stderr');
  replaceFile(folder(), 'late', api().token);
  await running.sees(/analysts: first snapshot complete/, 'stderr', 60_000);
  expect(running.stderr()).not.toContain(api().token);
});

it('a client is asked for a token once its secret is there', async () => {
  const tokens = await startTokenServer('clientS3cret');
  endsWithTest(() => tokens.stop());
  const client = { scheme: 'oauth2', tokenUrl: tokens.url, clientId };
  write({ ...client, clientSecretFile: 'late' });
  const running = here(['run']);
  await running.sees(/clientSecretFile: the file "late" cannot be read/, 'stderr');
  expect(tokens.asked).toHaveLength(0);
  replaceFile(folder(), 'late', 'clientS3cret');
  await running.sees(/answered 401|SOURCE_UNAUTHORIZED/, 'stderr');
  expect(tokens.asked[0]).toBeDefined();
});

it('the general token may come late, too', async () => {
  writeFileSync(file('highwater.yaml'), 'enabledFeeds: ipos');
  const general = { HIGHWATER_API_URL: api().url, HIGHWATER_API_TOKEN_FILE: 'late' };
  const env = { ...general, HIGHWATER_POLL_INTERVAL: '100ms' };
  const running = here(['run'], env);
  await running.sees(/apiTokenFile.*code=SOURCE_TOKEN_UNAVAILABLE/, 'stderr');
  replaceFile(folder(), 'late', api().token);
  await running.sees(/ipos: first snapshot complete/, 'stderr');
});

it('other commands go on: doctor with the other feeds, reconcile of another feed', async () => {
  write(late);
  const doctor = await done(['doctor']);
  expect(doctor.code).toBe(1);
  expect(doctor.out.replace(/\s+/g, ' ')).toMatch(/✗ token .*tokenFile: the file "late" cannot be read/);
  expect(doctor.out).toMatch(/✓ feed +ipos/);
  expect((await done(['run', '--once'])).code).toBe(1);
  expect((await done(['reconcile', 'ipos'])).code).toBe(0);
});
