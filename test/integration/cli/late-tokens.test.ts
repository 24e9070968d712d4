import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { commandsHere } from '../../support/cli';
import { simulatedApi } from '../../support/simulated-api';
import { replaceFile } from '../../support/temp-folder';

/** A publisher whose commands give no token when it starts. */

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

const printing = (command: string | string[]) => ({ ...query, tokenCommand: command });
/** Prints the token as soon as the file of this name is there. */
const late = () => printing(`cat ${file('late')}`);

it.each<[string, object, RegExp]>([
  [
    'that fails',
    printing('echo no route >&2; exit 2'),
    /Command: the command ended with exit code 2 and said: no route/,
  ],
  ['that prints nothing', printing('true'), /tokenCommand: the command printed nothing/],
  ['that prints two words', printing('echo SES AME'), /tokenCommand: the command printed something else/],
  ['that is not installed', printing(['no-such-program']), /could not be run \(ENOENT\)/],
])('a command %s stops only the feed that needs it', async (_, auth, why) => {
  write(auth);
  const once = await done(['run', '--once']);
  expect(once.code).toBe(1);
  expect(once.err).toMatch(/ipos: first snapshot complete/);
  expect(once.err).toMatch(why);
  expect(once.err).toMatch(/code=SOURCE_TOKEN_UNAVAILABLE/);
  expect(once.said).not.toMatch(/CONFIG_INVALID|SES|no-such/);
  expect(api().requests('analysts')).toHaveLength(0);
});

it('a feed is read once its command gives the token', async () => {
  write(late());
  const running = here(['run']);
  await running.sees(/code=SOURCE_TOKEN_UNAVAILABLE/, 'stderr');
  replaceFile(folder(), 'late', api().token);
  await running.sees(/analysts: first snapshot complete/, 'stderr', 60_000);
  expect(running.stderr()).not.toContain(api().token);
});

it('other commands go on: doctor with the other feeds, reconcile of another feed', async () => {
  write(late());
  const doctor = await done(['doctor']);
  expect(doctor.code).toBe(1);
  expect(doctor.out.replace(/\s+/g, ' ')).toMatch(
    /✗ token .*tokenCommand: the command ended with exit code 1/,
  );
  expect(doctor.out).toMatch(/✓ feed +ipos/);
  expect((await done(['run', '--once'])).code).toBe(1);
  expect((await done(['reconcile', 'ipos'])).code).toBe(0);
});
