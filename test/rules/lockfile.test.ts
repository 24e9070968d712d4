import { readFileSync } from 'node:fs';
import path from 'node:path';

interface Entry {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const file = path.join(__dirname, '..', '..', 'package-lock.json');
const packages = Object.entries(
  (JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Entry> }).packages,
);

describe('package-lock.json', () => {
  it('has every optional package, else `npm ci` refuses it (npm run lockfile)', () => {
    const names = new Set(packages.map(([at]) => at));
    const missing = packages.flatMap(([at, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !names.has(`${at}/node_modules/${name}`) && !names.has(`node_modules/${name}`),
      ),
    );
    expect(missing).toStrictEqual([]);
  });

  it('names no registry', () => {
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toStrictEqual([]);
  });
});
