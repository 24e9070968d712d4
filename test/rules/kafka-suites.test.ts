import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const tests = path.join(__dirname, '..');
const suites = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.test.ts'),
);

it('suites that start servers lie in test/kafka, where npm test leaves them out', () => {
  const starts = /from '[./]*(support\/servers|tools\/servers\/(kafka|registry))'/;
  const users = suites.filter((name) => starts.test(readFileSync(path.join(tests, name), 'utf8')));
  expect(users.length).toBeGreaterThan(0);
  expect(users.filter((name) => !name.startsWith(`kafka${path.sep}`))).toStrictEqual([]);
  const { scripts } = JSON.parse(readFileSync(path.join(tests, '..', 'package.json'), 'utf8'));
  expect(scripts.test).toContain('--selectProjects local');
  const { projects } = require('../../jest.config.cjs') as {
    projects: { testPathIgnorePatterns?: string[] }[];
  };
  expect(projects[0]!.testPathIgnorePatterns).toContain('/test/kafka/');
});
