import { PassThrough } from 'node:stream';
import { confirmed } from '../../../src/cli/operators/operator-commands';

const terminal = () => Object.assign(new PassThrough(), { isTTY: true });

/** Answers to the question, and their meaning. */
async function asked(answer: (input: PassThrough) => void, stop = new AbortController()): Promise<boolean> {
  const [input, output] = [terminal(), terminal()];
  const context = { stdin: () => input, stderr: output, signal: stop.signal };
  const confirming = confirmed('ipos', 'reset removes all images of ipos', context);
  answer(input);
  const isConfirmed = await confirming;
  expect(String(output.read())).toContain('Reset removes all images of ipos');
  return isConfirmed;
}

it('goes on when the name of the feed is typed', async () => {
  expect(await asked((input) => input.write('ipos\n'))).toBe(true);
});

it.each(['no\n', 'yes\n', 'y\n', '\n', 'analysts\n'])('takes %j for a no', async (text) => {
  expect(await asked((input) => input.write(text))).toBe(false);
});

it('takes the end of the input, and Ctrl-C, for a no', async () => {
  expect(await asked((input) => input.end())).toBe(false);
  // A terminal in raw mode gives the key, where others give the signal.
  expect(await asked((input) => input.write('\x03'))).toBe(false);
  const stop = new AbortController();
  expect(await asked(() => stop.abort(), stop)).toBe(false);
});

it('does not ask where nobody could answer', async () => {
  const piped = new PassThrough();
  const { signal } = new AbortController();
  for (const [input, output] of [
    [piped, terminal()],
    [terminal(), piped],
  ] as const) {
    await expect(
      confirmed('ipos', 'reset removes all images of ipos', { stdin: () => input, stderr: output, signal }),
    ).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      remedy: 'Say --yes when it is meant.',
    });
  }
});
