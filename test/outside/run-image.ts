import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../../src/simulator/simulator';
import { freePort } from '../../tools/servers/ports';
import { root } from '../support/build';
import { parseDockerfile } from '../support/dockerfile';
import { until } from '../support/until';
import { makeBaseImages } from './base-images';
import type { CommandResult } from './command';
import { runTool } from './missing-tool';
import { type Results, runChecks } from './results';

const WITHIN_MS = 10 * 60_000;
/** Besides Node.js, which differs from one version to the next. */
const MOST_MEGABYTES = 65;
const RECORDS = 20;
/** Nothing but the data folder to write to, nothing to gain. */
const confined = [
  '--read-only',
  '--read-only-tmpfs=false',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
];
/** Options for a machine that is itself confined: no network namespace, lower limits. */
const modest = [
  '--network=host',
  '--ulimit=nofile=1024:4096',
  '--ulimit=nproc=1000:1000',
  '--no-healthcheck',
];

/**
 * `npm run test:image`: builds and runs the Dockerfile with buildah and podman, which need no service. For root on Debian 12, with
 * buildah, podman, runc and debootstrap. Arguments: major versions of Node; without, the one of the Dockerfile.
 */
async function main(results: Results, scratch: string): Promise<void> {
  const { args } = parseDockerfile(readFileSync(path.join(root, 'Dockerfile'), 'utf8'));
  const majors = process.argv.length > 2 ? process.argv.slice(2) : [/\d+/.exec(args.NODE_IMAGE!)![0]];
  try {
    for (const major of majors) await checkImage(Number(major), scratch);
  } finally {
    // Images that this run replaced.
    await tryPodman('image', 'prune', '--force');
  }

  async function checkImage(major: number, folder: string): Promise<void> {
    process.stdout.write(`Image with Node ${major}\n`);
    const image = `localhost/highwater:node-${major}`;
    const bases = await makeBaseImages(buildah, major);
    const options = ['--format=docker', '--isolation=chroot', '--pull-never', '--tag', image];
    await buildah('bud', ...options, ...bases, root);
    results.ok('buildah builds it from the Dockerfile');

    const once = (...rest: string[]) => podman('run', '--rm', ...modest, ...confined, ...rest);
    const script = `
      const fs = require('node:fs');
      const writable = ['/', '/app', '/highwater', '/highwater/data', '/tmp', '/usr/local/bin', '/home/nonroot'].filter((folder) => {
        try { fs.writeFileSync(folder + '/x', ''); return true; } catch { return false; }
      });
      for (const name of ['libsql', 'lz4-napi', '@mongodb-js/zstd']) require('/app/node_modules/' + name);
      const shells = ['/bin/sh', '/bin/bash', '/usr/bin/env', '/usr/local/bin/npm', '/usr/bin/dpkg'].filter((file) => fs.existsSync(file));
      const [major] = process.versions.node.split('.');
      console.log(JSON.stringify({ uid: process.getuid(), pid: process.pid, major, writable, shells, nodeBytes: fs.statSync(process.execPath).size }));`;
    const { nodeBytes, ...facts } = JSON.parse(await once('--entrypoint=node', image, '-e', script)) as {
      readonly nodeBytes: number;
    };
    const expected = { uid: 65_532, pid: 1, major: String(major), writable: [], shells: [] };
    results.check(
      JSON.stringify(facts) === JSON.stringify(expected),
      'it runs as process 1 of user 65532, with nothing to write to, no shell and no package manager; native modules load',
      [JSON.stringify(facts)],
    );
    const [{ Size: bytes }] = JSON.parse(await podman('image', 'inspect', image)) as [{ Size: number }];
    const [all, besides] = [bytes, bytes - nodeBytes].map((one) => Math.round(one / 1e6)) as [number, number];
    results.check(besides < MOST_MEGABYTES, `it is small: ${all} MB, ${besides} MB of them not Node.js`);
    await checkPublisher(image, folder);
  }

  /** On the embedded log, with secrets as files, asked by its own health check, stopped and started again. */
  async function checkPublisher(image: string, folder: string): Promise<void> {
    const simulator = await startSimulator({
      records: { insights: RECORDS, analysts: RECORDS, ipos: RECORDS },
    });
    const name = `highwater-${path.basename(folder)}`;
    try {
      const secrets = path.join(folder, 'secrets');
      mkdirSync(secrets, { recursive: true });
      writeFileSync(path.join(secrets, 'api-token'), `${simulator.token}\n`);
      const port = await freePort();
      const settings = {
        HIGHWATER_API_URL: simulator.url,
        HIGHWATER_API_TOKEN_FILE: '/run/secrets/api-token',
        HIGHWATER_POLL_INTERVAL: '1s',
        HIGHWATER_REQUESTS_PER_SECOND: '1000',
        HIGHWATER_HTTP_PORT: String(port),
      };
      const env = Object.entries(settings).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
      const places = [`--volume=${name}:/highwater/data`, `--volume=${secrets}:/run/secrets:ro`];
      const start = () =>
        podman('run', '--detach', `--name=${name}`, ...modest, ...confined, ...places, ...env, image);
      const exec = (...args: string[]) => tryPodman('exec', name, 'highwater', ...args);
      const isReady = async () => (await exec('healthcheck')).code === 0;

      for (const time of ['first', 'second']) {
        await start();
        await until(isReady).catch(async (error: Error) => {
          const { stdout, stderr } = await tryPodman('logs', name);
          throw new Error(`${error.message}\n${stdout}${stderr}`);
        });
        const live = await tryPodman('exec', name, ...(await ownHealthcheck(image)));
        const status = await exec('status', '--json');
        results.check(
          live.code === 0 && status.code === 0 && status.stdout.trim().split('\n').length === 3,
          `it publishes with a read-only root, the ${time} time: the health check of the image passes, and status in it too`,
          [live.stdout, status.stdout, status.stderr],
        );
        const pages = ['/', '/page.js', '/page.css', '/metrics'].map(async (file) => {
          const answer = await fetch(`http://127.0.0.1:${port}${file}`);
          return `${answer.status} ${file}`;
        });
        const answers = await Promise.all(pages);
        results.check(
          answers.every((one) => one.startsWith('200 ')),
          'the dashboard and the metrics are there',
          answers,
        );
        const began = Date.now();
        await podman('stop', '--time=20', name);
        const [{ State: state }] = JSON.parse(await podman('inspect', name)) as [
          { State: { ExitCode: number } },
        ];
        const { stdout, stderr } = await tryPodman('logs', name);
        const endedWell = `${stdout}${stderr}`.includes('Ended: everything that was read is committed.');
        results.check(
          state.ExitCode === 0 && endedWell && Date.now() - began < 10_000,
          `SIGTERM ends it in order, within ${((Date.now() - began) / 1000).toFixed(1)} s`,
          [`exit code ${state.ExitCode}`, stdout, stderr],
        );
        await podman('rm', name);
      }
      const reader = ['tail', 'ipos', '--no-follow', '--json'];
      const tail = await podman('run', '--rm', ...modest, ...confined, places[0]!, image, ...reader);
      results.check(tail.split('\n').length === RECORDS, 'what it published is in the volume, once', [tail]);
    } finally {
      await tryPodman('rm', '--force', name);
      await tryPodman('volume', 'rm', '--force', name);
      await simulator.stop();
    }
  }
}

/** The command that Docker would run again and again. */
async function ownHealthcheck(image: string): Promise<readonly string[]> {
  const [{ Config, Healthcheck }] = JSON.parse(await podman('image', 'inspect', image)) as [
    { Config?: { Healthcheck?: Check }; Healthcheck?: Check },
  ];
  const [kind, ...command] = (Healthcheck ?? Config?.Healthcheck)?.Test ?? [];
  if (kind !== 'CMD') throw new Error(`no health check of the kind CMD: ${kind}`);
  return command;
}

interface Check {
  readonly Test: readonly string[];
}

/** Apart from the images and containers of the machine. */
const { XDG_CACHE_HOME } = process.env;
const storage = path.join(XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'highwater', 'outside', 'images');
const apart = ['--root', path.join(storage, 'root'), '--runroot', path.join(storage, 'run')];

const buildah = (...args: string[]) => must('buildah', [...apart, ...args]);
const podmanArgs = (args: readonly string[]) => [
  ...apart,
  '--tmpdir',
  path.join(storage, 'tmp'),
  '--runtime',
  'runc',
  '--cgroup-manager',
  'cgroupfs',
  ...args,
];
const podman = (...args: string[]) => must('podman', podmanArgs(args));
const tryPodman = (...args: string[]) => start('podman', podmanArgs(args));

async function must(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await start(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout.trim();
}

function start(program: string, args: readonly string[]): Promise<CommandResult> {
  const remedy = 'Install buildah, podman, runc and debootstrap';
  return runTool(program, args, remedy, { env: process.env, withinMs: WITHIN_MS });
}

void runChecks('the image was not looked at to the end', main);
