import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { settings } from '../../src/config/settings';
import { parseDockerfile, type Stage } from '../support/dockerfile';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const { args, stages } = parseDockerfile(read('Dockerfile'));
const [built, image] = stages as [Stage, Stage];
const manifest = JSON.parse(read('package.json')) as {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly bin: { readonly highwater: string };
  readonly license: string;
  readonly scripts: { readonly build: string };
};
const all = (stage: Stage, name: string) =>
  stage.instructions.filter((one) => one.name === name).map(({ text }) => text);
const copied = all(built, 'COPY').flatMap((text) => text.split(' ').slice(0, -1));

describe('Dockerfile', () => {
  it('copies what there is, and what .dockerignore lets through', () => {
    expect(copied.filter((file) => !existsSync(path.join(root, file)))).toStrictEqual([]);
    const allowed = read('.dockerignore').match(/(?<=^!).+$/gm);
    expect([...copied].sort()).toEqual([...allowed!].sort());
  });

  it('copies what the build runs', () => {
    const used = [...manifest.scripts.build.matchAll(/[\w./-]+\.(?:json|cjs)/g)].map(([file]) => file);
    expect(used).not.toEqual([]);
    const isCopied = (file: string) => copied.some((one) => file === one || file.startsWith(`${one}/`));
    expect(used.filter((file) => !isCopied(file))).toStrictEqual([]);
  });

  it('builds with a Node that the package takes', () => {
    const [, major] = /^node:(\d+)\.\d+\.\d+-/.exec(args.NODE_IMAGE!) ?? [];
    expect(Number(major)).toBeGreaterThanOrEqual(Number(/\d+/.exec(manifest.engines.node)![0]));
    expect([built.from, image.from].map((one) => one.slice(2, -1))).toEqual(Object.keys(args).slice(0, 2));
  });

  it('pins its base images by digest', () => {
    for (const base of Object.values(args)) expect(base).toMatch(/@sha256:[0-9a-f]{64}$/);
  });

  it('takes nothing into the image but by copying: there is no shell', () => {
    expect(all(image, 'RUN')).toStrictEqual([]);
    for (const name of ['ENTRYPOINT', 'CMD']) {
      for (const text of all(image, name)) expect(JSON.parse(text)).toEqual(expect.any(Array));
    }
    const [program] = JSON.parse(all(image, 'ENTRYPOINT')[0]!) as string[];
    const target = `/usr/local/bin/${program}`;
    expect(all(image, 'COPY').filter((text) => text.endsWith(` ${target}`))).toHaveLength(1);
    expect(all(built, 'RUN').join('\n')).toContain(`require('/app/${manifest.bin.highwater}')`);
  });

  it('runs as a user by number, who owns nothing but the data', () => {
    const [user = ''] = all(image, 'USER');
    expect(user).toMatch(/^[1-9]\d+:[1-9]\d+$/);
    const owned = image.instructions.filter(({ flags }) => flags.chown !== undefined);
    expect(owned.map(({ text, flags }) => [text, flags.chown])).toEqual([
      ['/app/highwater /highwater', `${user.split(':')[0]}:0`],
    ]);
    expect(all(image, 'WORKDIR')).toEqual(['/highwater']);
  });

  it('asks for health where the program answers, and not whether all is up to date', () => {
    const [port] = all(image, 'EXPOSE');
    expect(all(image, 'ENV')).toContain(`${settings.httpPort.env}=${port}`);
    const [check = ''] = all(image, 'HEALTHCHECK');
    expect(check).toMatch(/CMD \["highwater", "healthcheck", "--live"\]$/);
  });

  it('has labels that agree with package.json', () => {
    const [labels = ''] = all(image, 'LABEL');
    expect(labels).toContain(`image.version="${manifest.version}"`);
    expect(labels).toContain(`image.licenses="${manifest.license}"`);
  });
});
