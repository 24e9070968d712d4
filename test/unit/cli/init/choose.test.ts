import { PassThrough } from 'node:stream';
import { choose } from '../../../../src/cli/init/choose';

const choice = { question: 'Which member names a record?', options: ['id', 'no'], flag: '--id MEMBER' };

async function chosen(answer: (input: PassThrough) => void, isTTY = true): Promise<string> {
  const [input, stderr] = [0, 1].map(() => Object.assign(new PassThrough(), { isTTY }));
  const { signal } = new AbortController();
  const asking = choose(choice, { stdin: () => input!, stderr: stderr!, signal });
  answer(input!);
  return await asking;
}

it.each([
  ['\n', 'id'],
  ['2\n', 'no'],
  ['no\n', 'no'],
])('takes %j for an answer', async (text, expected) => {
  expect(await chosen((input) => input.write(text))).toBe(expected);
});

it('asks again after a number that is not there', async () => {
  const typed = (input: PassThrough) => {
    input.write('7\n');
    setImmediate(() => input.write('1\n'));
  };
  expect(await chosen(typed)).toBe('id');
});

it.each([
  ['the input ends', true],
  ['there is no terminal', false],
])('names the flag when %s', async (_, isTTY) => {
  await expect(chosen((input) => input.end(), isTTY)).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    remedy: expect.stringContaining('--id MEMBER'),
  });
});
