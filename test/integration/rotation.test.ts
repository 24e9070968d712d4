import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { askOwner } from '../../src/commands/ask-owner';
import { commandsTopic } from '../../src/log/topics';
import { deadline } from '../support/log-records';
import { until } from '../support/until';
import { type WorkerWorld, workerWorld } from '../support/world';

const [first, second] = ['first-token-sesame', 'second-token-sesame'];
let accepted: string[];
let world: WorkerWorld;
let pages: number;
let logger: WorkerWorld['logger'];

beforeEach(async () => {
  accepted = [first];
  world = await workerWorld({ tokens: accepted });
  logger = world.logger;
  pages = 0;
});
const folder = () => world.dataDir;

const file = () => path.join(folder(), 'token');

/** As Kubernetes does it: the file is a link, and another link takes its place. */
function write(token: string): void {
  const content = path.join(folder(), token);
  writeFileSync(content, `${token}\n`);
  symlinkSync(content, `${file()}.new`);
  renameSync(`${file()}.new`, file());
}

const accept = (token: string) => void accepted.splice(0, 1, token);

async function startReading(settings: Readonly<Record<string, string>>): Promise<void> {
  write(first);
  void world.run({ HIGHWATER_FEEDS: 'ipos', ...settings }, { onPage: () => void pages++ });
  await until(() => pages > 3);
}

async function goesOn(): Promise<void> {
  const { length } = world.api.requests('ipos').filter(({ status }) => status === 200);
  await until(() => world.api.requests('ipos').filter(({ status }) => status === 200).length > length + 3);
}

const ways = {
  file: () => ({ HIGHWATER_API_TOKEN_FILE: file() }),
  command: () => ({ HIGHWATER_API_TOKEN_COMMAND: `cat ${file()}` }),
};

it.each(Object.entries(ways))('a token from a %s is read again when it is refused', async (_, settings) => {
  await startReading(settings());
  write(second);
  accept(second);
  await goesOn();
  expect(logger.warnings).toStrictEqual([]);
});

it('a parked feed goes on once the file holds another token', async () => {
  await startReading(ways.file());
  accept(second);
  await until(() => logger.warnings.some((line) => line.includes('401')));
  write('no token');
  write(second);
  await goesOn();
  expect(logger.warnings).toHaveLength(1);
});

it('a refusal says why the token could not be read again, and shows neither token nor command', async () => {
  await startReading({
    HIGHWATER_API_TOKEN_COMMAND: `cat ${file()}; echo ${first} >&2; test ! -e ${folder()}/no`,
  });
  writeFileSync(path.join(folder(), 'no'), '');
  accept(second);
  await until(() => logger.warnings.length > 0);
  expect(logger.warnings[0]).toMatch(
    /401 .*; the token comes from apiTokenCommand; it cannot be read again: the command ended with exit code 1 and said: \[redacted\]/,
  );
  expect(logger.warnings[0]).not.toMatch(/sesame|cat /);
});

it('resume uses the token of a command that was repaired just now, and reports no old failure', async () => {
  const broken = path.join(folder(), 'broken');
  await startReading({ HIGHWATER_API_TOKEN_COMMAND: `test ! -e ${broken} && cat ${file()}` });
  writeFileSync(broken, '');
  write(second);
  accept(second);
  await until(() => logger.warnings.length > 0);
  rmSync(broken);
  const { commitLog: log, registry } = world.log;
  const asked = { log, registry, topic: commandsTopic('highwater', ''), instance: 'asker:1' };
  const answer = await askOwner('ipos', { name: 'resume' }, { ...asked, acceptWithinMs: 10_000 }, deadline());
  expect(answer).toMatchObject({ kind: 'answered', outcome: { ok: true } });
  await goesOn();
  expect(logger.warnings).toHaveLength(1);
});
