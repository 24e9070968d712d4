import { Writable } from 'node:stream';
import { runCommand, type Surroundings } from '../../../src/cli/process/command-context';

/** The command prints until its signal ends it, to an output that fails. */
async function ended(code: string): Promise<{ readonly code: number; readonly said: string }> {
  let said = '';
  const stdout = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })),
  });
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      said += chunk;
      done();
    },
  });
  const interruption = { signal: new AbortController().signal, code: () => 130, beforeExit: () => undefined };
  const around = {
    args: [],
    env: {},
    cwd: '/',
    stdin: () => process.stdin,
    interruption: () => interruption,
  };
  const exit = await runCommand(
    async ({ print, signal }) => {
      while (!signal.aborted) await print('a line\n');
      return 0;
    },
    false,
    { ...around, stdout, stderr } as Surroundings,
  );
  return { code: exit, said };
}

// On Windows, a pipe that the reader has closed is called `EOF`.
it.each(['EPIPE', 'EOF', 'ECONNRESET'])(
  'a reader that has gone ends a command without a word: %s',
  async (code) => {
    expect(await ended(code)).toEqual({ code: 0, said: '' });
  },
);

it('a full disk is named', async () => {
  expect(await ended('ENOSPC')).toEqual({ code: 1, said: expect.stringContaining('OUTPUT_FAILED') });
});
