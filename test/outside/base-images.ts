import { copyFileSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder } from './cache-folder';
import { runTool } from './missing-tool';

const WITHIN_MS = 10 * 60_000;
const suite = 'bookworm';
const certificates = '/etc/ssl/certs/ca-certificates.crt';
/** The contents of the image named below, by its own description. */
const runtimePackages = [
  'base-files',
  'netbase',
  'tzdata',
  'media-types',
  'libc6',
  'libssl3',
  'libgcc-s1',
  'libgomp1',
  'libstdc++6',
];
const commandPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Runs buildah with its own images, apart from the machine's. @returns its output */
export type Buildah = (...args: string[]) => Promise<string>;

/**
 * The images that the Dockerfile begins with, made of Debian's packages and of Node as npm has it, since no registry of
 * images is asked: near enough to `node:24-bookworm-slim` and `gcr.io/distroless/cc-debian12` to build on and to run in.
 * @returns what the Dockerfile is told to begin with
 * @throws MissingToolError without debootstrap, or when it fails
 */
export async function makeBaseImages(buildah: Buildah, nodeMajor: number): Promise<readonly string[]> {
  const folder = await cacheFolder(`image-bases-${nodeMajor}`, [__filename], async (target) => {
    await nodeRoot(path.join(target, 'node'), nodeMajor);
    await runtimeRoot(path.join(target, 'runtime'), target);
  });
  const [node, runtime] = [`localhost/node:${nodeMajor}-${suite}-slim`, 'localhost/cc-debian12'];
  await commit(buildah, path.join(folder, 'node'), node);
  await commit(buildah, path.join(folder, 'runtime'), runtime);
  return ['--build-arg', `NODE_IMAGE=${node}`, '--build-arg', `RUNTIME=${runtime}`];
}

async function commit(buildah: Buildah, folder: string, name: string): Promise<void> {
  const container = await buildah('from', 'scratch');
  await buildah('add', '--quiet', container, folder, '/');
  const env = ['--env', `PATH=${commandPath}`, '--env', `SSL_CERT_FILE=${certificates}`];
  // npm speaks to its registry through what this machine trusts.
  await buildah('config', ...env, '--env', `NODE_EXTRA_CA_CERTS=${certificates}`, container);
  await buildah('commit', '--quiet', '--rm', container, name);
}

async function nodeRoot(folder: string, major: number): Promise<void> {
  await tool('debootstrap', ['--variant=minbase', suite, folder]);
  const modules = path.join(folder, 'usr', 'local', 'lib');
  const name = `node-linux-${process.arch}`;
  writeFileSync(path.join(modules, 'package.json'), '{ "private": true }');
  // The npm that the image of each of them has.
  const npm = major < 24 ? 10 : 11;
  await tool('npm', [
    'install',
    '--prefix',
    modules,
    '--no-audit',
    '--no-fund',
    `${name}@${major}`,
    `npm@${npm}`,
  ]);
  const bin = path.join(folder, 'usr', 'local', 'bin');
  copyFileSync(path.join(modules, 'node_modules', name, 'bin', 'node'), path.join(bin, 'node'));
  rmSync(path.join(modules, 'node_modules', name), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(bin, 'npm'));
  trust(folder);
}

async function runtimeRoot(folder: string, scratch: string): Promise<void> {
  const packages = path.join(scratch, 'packages');
  mkdirSync(packages);
  await tool('apt-get', ['download', ...runtimePackages], packages);
  for (const file of readdirSync(packages)) await tool('dpkg-deb', ['-x', path.join(packages, file), folder]);
  for (const name of ['doc', 'man', 'lintian'])
    rmSync(path.join(folder, 'usr', 'share', name), { recursive: true, force: true });
  const users =
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n';
  writeFileSync(path.join(folder, 'etc', 'passwd'), users);
  writeFileSync(path.join(folder, 'etc', 'group'), 'root:x:0:\nnonroot:x:65532:\n');
  trust(folder);
}

function trust(folder: string): void {
  mkdirSync(path.join(folder, 'etc', 'ssl', 'certs'), { recursive: true });
  copyFileSync(certificates, path.join(folder, certificates));
}

async function tool(program: string, args: readonly string[], cwd = '.'): Promise<void> {
  const options = { cwd, env: process.env, withinMs: WITHIN_MS };
  const { code, stdout, stderr } = await runTool(program, args, 'Install it (on Debian 12)', options);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`);
}
