import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const readme = read('README.md');

it('prints the spine as it is', () => {
  const source = read('src/pipeline/poll.ts');
  const [spine] = /^export async function poll[\s\S]*?^}\n/m.exec(source)!;
  expect(readme).toContain(`\`\`\`ts\n${spine}\`\`\`\n`);
});

it('names scripts that exist', () => {
  const { scripts } = JSON.parse(read('package.json'));
  const named = [...readme.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name);
  expect(named).not.toEqual([]);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
});
