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

it('links to files that exist, and names scripts that exist', () => {
  const { scripts } = JSON.parse(read('package.json'));
  for (const [, name] of readme.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name);
  for (const [, link] of readme.matchAll(/\]\(([^):#]+)\)/g)) expect(() => read(link!)).not.toThrow();
});
