import { existsSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Rotation } from '../../src/secrets/rotation';
import type { Read } from '../../src/secrets/secret-command';
import { runCommandAtStart } from '../../src/secrets/secret-command';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const file = () => path.join(folder(), 'token');
let rotation: Rotation;
let said: { level: string; message: string }[];

beforeEach(() => {
  jest.useFakeTimers({
    doNotFake: ['setTimeout', 'setInterval', 'setImmediate', 'nextTick', 'queueMicrotask'],
  });
  rotation = new Rotation();
  said = [];
  const note = (level: string) => (message: string) => void said.push({ level, message });
  rotation.logger = { error: note('error'), warn: note('warn'), info: note('info'), debug: note('debug') };
});
afterEach(() => {
  jest.useRealTimers();
});

function readToken(): Read<string> {
  try {
    const text = readFileSync(file(), 'utf8').trim();
    return text === '' ? { problem: 'the file is empty' } : { value: text };
  } catch {
    return { problem: 'the file cannot be read' };
  }
}

function fromFile() {
  writeFileSync(file(), 'first\n');
  rotation.hide(['first']);
  return rotation.file('apiTokenFile', file(), 'first', readToken);
}

/** Prints the file and adds a line to another file each time that it runs. */
function fromCommand() {
  writeFileSync(file(), 'first\n');
  rotation.hide(['first']);
  const command = `echo run >> ${folder()}/runs; cat ${file()}`;
  return rotation.command('apiTokenCommand', command, 'first', (value) => ({ value }));
}
const runs = () => readFileSync(path.join(folder(), 'runs'), 'utf8').split('\n').length - 1;

describe('a secret from a file', () => {
  it('has its new value a second after the file changed, and the log does not show it', () => {
    const secret = fromFile();
    writeFileSync(file(), 'second\n');
    jest.advanceTimersByTime(999);
    expect(secret.value).toBe('first');
    jest.advanceTimersByTime(1);
    expect(secret.value).toBe('second');
    expect(rotation.changes).toBe(1);
    expect(said).toEqual([
      { level: 'info', message: 'apiTokenFile has a new value, which is used from now on.' },
    ]);
  });

  it('is read again at once when a server refuses it', async () => {
    const secret = fromFile();
    expect(await secret.isReplaced('first')).toBe(false);
    writeFileSync(file(), 'second\n');
    expect(await secret.isReplaced('first')).toBe(true);
    expect(secret.value).toBe('second');
    // Another feed was refused with the earlier value meanwhile.
    expect(await secret.isReplaced('first')).toBe(true);
    expect(rotation.changes).toBe(1);
  });

  it('follows a symbolic link that gets another target of the same length', async () => {
    fromFile();
    writeFileSync(path.join(folder(), 'other'), 'FIRST\n');
    symlinkSync(path.join(folder(), 'other'), `${file()}.new`);
    renameSync(`${file()}.new`, file());
    expect(await rotation.look()).toBe(1);
  });

  it('keeps its value while the file is missing or empty, warns after ten seconds once, and then takes the next value', async () => {
    const secret = fromFile();
    unlinkSync(file());
    await rotation.look();
    expect([secret.value, secret.problem, said]).toEqual(['first', 'the file cannot be read', []]);
    writeFileSync(file(), '');
    for (const _ of [1, 2, 3]) {
      jest.advanceTimersByTime(10_000);
      await rotation.look();
    }
    expect(secret.problem).toBe('the file is empty');
    expect(said).toEqual([
      { level: 'warn', message: 'apiTokenFile cannot be read again: the file is empty.' },
    ]);
    writeFileSync(file(), 'second\n');
    await rotation.look();
    expect([secret.value, secret.problem]).toEqual(['second', null]);
  });

  it('hides the first value, the present value and the last ten', async () => {
    fromFile();
    for (let i = 1; i <= 12; i++) {
      writeFileSync(file(), `value-${i}\n`);
      await rotation.look();
    }
    const last = Array.from({ length: 10 }, (_, i) => `value-${i + 3}`);
    expect(rotation.known).toEqual(['first', ...last]);
  });
});

describe('a secret from a command', () => {
  it('is not asked for again before a server refuses it', async () => {
    const secret = fromCommand();
    writeFileSync(file(), 'second\n');
    jest.advanceTimersByTime(3_600_000);
    expect([await rotation.look(), secret.value]).toEqual([0, 'first']);
    expect(await secret.isReplaced('first')).toBe(true);
    expect([secret.value, rotation.known, runs()]).toEqual(['second', ['first', 'second'], 1]);
  });

  it('is asked for once by all feeds together', async () => {
    const secret = fromCommand();
    writeFileSync(file(), 'second\n');
    expect(await Promise.all([1, 2, 3].map(() => secret.isReplaced('first')))).toEqual([true, true, true]);
    expect(runs()).toBe(1);
  });

  it('is asked for once a minute while it stays refused', async () => {
    const secret = fromCommand();
    expect(await secret.isReplaced('first')).toBe(false);
    writeFileSync(file(), 'second\n');
    jest.advanceTimersByTime(59_999);
    expect([await rotation.look(), await secret.isReplaced('first'), runs()]).toEqual([0, false, 1]);
    jest.advanceTimersByTime(1);
    expect([await rotation.look(), secret.value, runs()]).toEqual([1, 'second', 2]);
  });

  it('is asked for again at once when somebody says that it is repaired, if it was refused', async () => {
    const secret = fromCommand();
    expect([await rotation.look(true), existsSync(path.join(folder(), 'runs'))]).toEqual([0, false]);
    const refused = secret.isReplaced('first');
    // This run may have begun before the repair.
    const looked = rotation.look(true);
    expect([await refused, await looked, runs()]).toEqual([false, 0, 2]);
    writeFileSync(file(), 'second\n');
    expect([await rotation.look(true), secret.value, runs()]).toEqual([1, 'second', 3]);
    expect([await rotation.look(true), runs()]).toEqual([1, 3]);
  });

  it('keeps its value when the command fails, and says why without the secret', async () => {
    writeFileSync(file(), 'first\n');
    rotation.hide(['first']);
    const command = 'echo the-next-one; echo the-next-one and first are not for you >&2; exit 3';
    const secret = rotation.command('apiTokenCommand', command, 'first', (value) => ({ value }));
    expect(await secret.isReplaced('first')).toBe(false);
    expect([secret.value, secret.problem]).toEqual([
      'first',
      'the command ended with exit code 3 and said: [redacted] and [redacted] are not for you',
    ]);
  });

  it('says nothing that looks like a secret, though it was not printed', () => {
    const said =
      'kv/api s3cr3t-of-the-vault.2026 wJalrXUtn1/K7MDENG+bPxRf by eu-west-1.vault.example.com Bearer abcdef';
    const { problem } = runCommandAtStart(`echo "${said}" >&2; exit 3`, []) as { problem: string };
    expect(problem).toMatch(
      /said: kv\/api \[hidden\] \[hidden\] by eu-west-1\.vault\.example\.com Bearer \[hidden\]$/,
    );
  });
});

it('files that make one value, of which one changes, are read together, and a list that is equal is no change', async () => {
  const [cert, key] = [file(), path.join(folder(), 'key')];
  writeFileSync(cert, 'cert-1');
  writeFileSync(key, 'key-1');
  const read = () => ({ value: [cert, key].map((one) => readFileSync(one, 'utf8')) });
  const pair = rotation.files('kafkaSsl', [cert, key], read().value, read);
  writeFileSync(key, 'key-1');
  expect(await rotation.look()).toBe(0);
  writeFileSync(key, 'key-2');
  expect(await rotation.look()).toBe(1);
  expect(pair.value).toEqual(['cert-1', 'key-2']);
  expect(rotation.known).toEqual([]);
});
