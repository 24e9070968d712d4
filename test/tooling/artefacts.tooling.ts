import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { artefacts } from '../../tools/servers/artefacts';
import { findJava } from '../../tools/servers/java';
import { root } from '../support/build';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();

/** A machine whose only programs are these, as shell scripts. */
function machine(programs: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const bin = path.join(folder(), 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  return { PATH: bin, HIGHWATER_SERVERS_DIR: path.join(folder(), 'cache') };
}

/** A slow stand-in for Maven. It counts its calls in a file, and its result is complete only at its end. */
const maven = () => `
for argument; do case $argument in -Dservers=*) servers=\${argument#-Dservers=};; esac; done
echo called >> ${folder()}/calls
mkdir -p "$servers/kafka" "$servers/registry"
echo half > "$servers/kafka/kafka.jar"; sleep 0.3; echo whole > "$servers/kafka/kafka.jar"`;
const calls = () => readFileSync(path.join(folder(), 'calls'), 'utf8').trim().split('\n').length;

const parts = /^(.+)\n {2}(Kafka and the schema registry were not started\.)\n {2}(.+)$/s;
const todo = /KAFKA_BROKERS and SCHEMA_REGISTRY_URL.*npm test/;

describe('what the machine lacks is named, with what to do', () => {
  it('no Java', async () => {
    const failure = await findJava(machine({})).catch((error: Error) => error.message);
    const [, what, , remedy] = parts.exec(failure)!;
    expect(what).toMatch(/Java was not found.*ENOENT/);
    expect(remedy).toMatch(/^Install Java 17 or later/);
    expect(remedy).toMatch(todo);
  });

  it('a Java that is too old', async () => {
    const env = machine({ java: `echo 'openjdk version "1.8.0_392"' >&2` });
    await expect(findJava(env)).rejects.toThrow(/^java is too old: openjdk version "1\.8\.0_392"/);
  });

  it('the Java of JAVA_HOME goes before that of the PATH', async () => {
    const env = { ...machine({ java: `echo 'openjdk version "17.0.1"' >&2` }), JAVA_HOME: '/nowhere' };
    await expect(findJava(env)).rejects.toThrow('Java was not found: /nowhere/bin/java -version failed');
    expect(await findJava({ ...env, JAVA_HOME: '' })).toBe('java');
  });

  it('no Maven', async () => {
    const failure = await artefacts(machine({})).then(String, (error: Error) => error.message);
    const [, what, , remedy] = parts.exec(failure)!;
    expect(what).toMatch(/Maven was not found.*ENOENT/);
    expect(remedy).toMatch(/^Install Maven/);
    expect(remedy).toMatch(todo);
  });

  it('a Maven that fails, in its own words; the next try begins anew', async () => {
    const env = machine({ mvn: `${maven()}\necho 'Could not transfer artifact'; exit 1` });
    await expect(artefacts(env)).rejects.toThrow(/Could not transfer artifact/);
    expect(readdirSync(env.HIGHWATER_SERVERS_DIR!)).toStrictEqual([]);
    machine({ mvn: maven() });
    expect(existsSync((await artefacts(env)).kafka)).toBe(true);
  });

  it('npm run kafka says so and fails', async () => {
    const script = path.join(root, 'tools', 'servers', 'main.ts');
    const run = promisify(execFile)(process.execPath, ['--import', 'tsx', script], {
      cwd: root,
      env: machine({}),
    });
    await expect(run).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Java was not found/),
    });
  });
});

describe('what the servers run from', () => {
  it('is fetched once, whoever asks at the same time, and never seen half fetched', async () => {
    const env = machine({ mvn: maven() });
    const script = `
      const { artefacts } = require(${JSON.stringify(path.join(root, 'tools/servers/artefacts.ts'))});
      artefacts(${JSON.stringify(env)}).then(({ kafka }) => console.log(require('fs').readFileSync(kafka + '/kafka.jar', 'utf8')));`;
    const asked = [1, 2, 3].map(() =>
      promisify(execFile)(process.execPath, ['--import', 'tsx', '-e', script], { cwd: root }),
    );
    for (const { stdout } of await Promise.all(asked)) expect(stdout.trim()).toBe('whole');
    expect(calls()).toBe(1);
  });

  it('is fetched again after a fetch that was killed', async () => {
    const env = machine({ mvn: `${maven()}; kill -9 $PPID` });
    const script = `require(${JSON.stringify(path.join(root, 'tools/servers/artefacts.ts'))}).artefacts(${JSON.stringify(env)})`;
    const killed = promisify(execFile)(process.execPath, ['--import', 'tsx', '-e', script], { cwd: root });
    await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
    expect(readdirSync(env.HIGHWATER_SERVERS_DIR!)).toEqual([expect.stringMatching(/^unfinished-/)]);
    // Its lock counts for ten seconds after its last sign of life: they have passed.
    utimesSync(`${env.HIGHWATER_SERVERS_DIR}.lock`, 0, 0);
    machine({ mvn: maven() });
    const { kafka } = await artefacts(env);
    expect(readFileSync(path.join(kafka, 'kafka.jar'), 'utf8')).toBe('whole\n');
    expect(readdirSync(env.HIGHWATER_SERVERS_DIR!)).toEqual([path.basename(path.dirname(kafka))]);
  });
});
