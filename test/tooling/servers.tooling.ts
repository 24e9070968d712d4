import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { root } from '../support/build';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const folder = tempFolder();
// More than a start takes on a machine that does much else; a failed one says why before.
const START_MS = 120_000;

/** Whether a process is there and not just waiting to be reaped. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

it('servers and their data are gone when their parent is killed, frozen ones too', async () => {
  const tools = (name: string) => JSON.stringify(path.join(root, 'tools', 'servers', name));
  const script = `
    const { startKafka } = require(${tools('kafka.ts')});
    const { startRegistry } = require(${tools('registry.ts')});
    (async () => {
      const [kafka, registry] = [await startKafka(), await startRegistry()];
      kafka.brokers[0].freeze();
      console.log(JSON.stringify([kafka.brokers[0].pid, registry.pid, kafka.folder, registry.folder]));
      setInterval(() => {}, 1000);
    })();`;
  const parent = spawn(process.execPath, ['--import', 'tsx', '-e', script], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let said = '';
    parent.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    await until(() => said.includes('\n'), START_MS);
    const [broker, registry, ...folders] = JSON.parse(said) as [number, number, string, string];
    expect([broker, registry].map(runs)).toEqual([true, true]);
    expect(folders.map((folder) => existsSync(folder))).toEqual([true, true]);
    parent.kill('SIGKILL');
    await until(
      () => ![broker, registry].some(runs) && !folders.some((folder) => existsSync(folder)),
      10_000,
    );
  } finally {
    parent.kill('SIGKILL');
  }
});

describe('npm run kafka', () => {
  it('runs on the usual ports or the next that are free, and leaves nothing behind at Ctrl-C', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const tmp = folder();
    const main = path.join(root, 'tools', 'servers', 'main.ts');
    const args = ['--import', 'tsx', main, '--port', String(port), '--registry-port', String(port)];
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, TMPDIR: tmp },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text) => {
        said += text;
      });
      await until(() => said.includes('Ctrl-C'), START_MS);
      const [, brokers = ''] = /^export KAFKA_BROKERS=(.*)$/m.exec(said)!;
      const [, registryUrl = ''] = /^export SCHEMA_REGISTRY_URL=(.*)$/m.exec(said)!;
      expect(Number(brokers.split(':')[1])).toBeGreaterThan(port);
      expect((await fetch(`${registryUrl}/subjects`)).status).toBe(200);
      const exited = once(child, 'exit');
      child.kill('SIGINT');
      expect(await exited).toEqual([0, null]);
      await expect(fetch(`${registryUrl}/subjects`)).rejects.toThrow('fetch failed');
      // tsx keeps its compiled files.
      expect(readdirSync(tmp).filter((name) => name.startsWith('highwater'))).toStrictEqual([]);
    } finally {
      child.kill('SIGKILL');
      taken.close();
    }
  });
});
