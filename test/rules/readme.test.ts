import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config';
import { codeBlocks } from '../outside/guide';
import { tempFolder } from '../support/temp-folder';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const readme = read('README.md');
const folder = tempFolder();

it('docs/how-it-works.md prints the spine as it is', () => {
  const [spine] = /^export async function poll[\s\S]*?^}\n/m.exec(read('src/pipeline/poll.ts'))!;
  expect(read('docs/how-it-works.md')).toContain(`\`\`\`ts\n${spine}\`\`\`\n`);
});

it('the README has at most 120 lines', () => {
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
});

it.each(['README.md', 'CONTRIBUTING.md'])('%s names scripts that exist', (page) => {
  const { scripts } = JSON.parse(read('package.json'));
  const named = [...read(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name);
  expect(named).not.toEqual([]);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
});

it('the feed in the README loads with a schema that has its id and its time', () => {
  const [section = ''] = codeBlocks('../../README.md', 'yaml');
  const fields = [
    { name: 'order_id', type: 'string' },
    { name: 'modified_at', type: 'string' },
    { name: 'extra', type: { type: 'map', values: 'string' } },
  ];
  writeFileSync(path.join(folder(), 'highwater.yaml'), section);
  writeFileSync(
    path.join(folder(), 'order.avsc'),
    JSON.stringify({ type: 'record', name: 'Order', namespace: 'shop', fields }),
  );
  const env = { SHOP_TOKEN: 'some-token', HIGHWATER_FEEDS: 'orders' };
  const { feeds } = loadConfig({ flags: {}, env, cwd: folder() }, 'api');
  expect(feeds.map(({ name }) => name)).toEqual(['orders']);
});
