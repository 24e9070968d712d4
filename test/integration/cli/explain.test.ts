import { errorKinds } from '../../../src/errors';
import { commandsHere } from '../../support/cli';

const { done } = commandsHere();

const explain = (...args: string[]) => done(['explain', ...args]);

it('shows the page of a code, however it is written', async () => {
  const { code, out } = await explain('log_owned');
  expect(code).toBe(0);
  expect(out).toMatch(/^LOG_OWNED\n\nA live publisher holds the data folder/);
  expect(out).toContain(`What to do: ${errorKinds.LOG_OWNED.remedy}`);
});

it('lists all codes', async () => {
  const { code, out } = await explain();
  expect(code).toBe(0);
  expect(out.match(/^\w+/gm)).toEqual(Object.keys(errorKinds));
});

it('says which code was meant', async () => {
  const { code, err } = await explain('LOG_OWNT');
  expect(code).toBe(2);
  expect(err).toContain('did you mean LOG_OWNED?');
});
