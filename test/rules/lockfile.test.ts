import { readFileSync } from 'node:fs';
import path from 'node:path';

interface Entry {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly dev?: boolean;
  readonly engines?: { readonly node?: string };
}

const root = path.join(__dirname, '..', '..');
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  readonly engines: { readonly node: string };
  readonly overrides?: object;
};

const file = path.join(root, 'package-lock.json');
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

  // light-my-request, which comes with fastify, is a dependency only for this: its next version needs Node 22.
  it('has no package that needs a newer Node than the program', () => {
    const oldest = (range: string) =>
      Math.min(...range.split('||').map((part) => Number(/\d+/.exec(part)?.[0] ?? 0)));
    const ours = oldest(manifest.engines.node);
    const newer = packages.filter(([, { dev, engines }]) => !dev && oldest(engines?.node ?? '') > ours);
    expect(newer.map(([at]) => at)).toStrictEqual([]);
  });

  it('needs no overrides, which do not hold where the packed file is installed', () => {
    expect(manifest.overrides).toBeUndefined();
  });
});
