import { errorKinds } from '../../../src/errors';
import { commandLineHere } from '../../support/cli';
import { tempFolder } from '../../support/temp-folder';

const cli = commandLineHere();
const folder = tempFolder();

async function explain(...args: string[]) {
  const command = cli(['explain', ...args], { cwd: folder() });
  const { code } = await command.ended();
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}

it('shows the page of a code, however it is written', async () => {
  const { code, stdout } = await explain('log_owned');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^LOG_OWNED\n\nA live publisher holds the data folder/);
  expect(stdout).toContain(`What to do: ${errorKinds.LOG_OWNED.remedy}`);
});

it('lists all codes', async () => {
  const { code, stdout } = await explain();
  expect(code).toBe(0);
  expect(stdout.match(/^\w+/gm)).toEqual(Object.keys(errorKinds));
});

it('says which code was meant', async () => {
  const { code, stderr } = await explain('LOG_OWNT');
  expect(code).toBe(2);
  expect(stderr).toContain('did you mean LOG_OWNED?');
});
