import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config';
import { apiFeeds } from '../support/apis/feeds';

const folder = path.join(__dirname, '..', '..', 'examples', 'apis');
const readme = readFileSync(path.join(folder, 'README.md'), 'utf8');
const examples = apiFeeds.filter(({ of }) => of.folder.startsWith(folder));

it('every example has a server in its shape and a line in the table of the page', () => {
  const folders = readdirSync(folder).filter((name) => name !== 'README.md');
  expect(examples.map(({ of }) => of.shape.name).sort()).toEqual(folders.sort());
  for (const name of folders) expect(readme).toContain(`| [${name}](${name}) |`);
});

it.each(examples.map(({ of }) => [of.shape.name, of] as const))(
  'the settings of %s load, and name the variable and the blanks of the page',
  (name, { feed, tokenEnv, filledIn = {} }) => {
    const cwd = path.join(folder, name);
    const { feeds } = loadConfig({ flags: {}, env: { [tokenEnv]: 'some-token' }, cwd }, 'api');
    expect(feeds.map((one) => one.name)).toEqual([feed]);
    const row = readme.split('\n').find((line) => line.startsWith(`| [${name}]`))!;
    for (const blank of [tokenEnv, ...Object.keys(filledIn)]) expect(row).toContain(`\`${blank}\``);
  },
);
