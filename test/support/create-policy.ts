import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { artefacts } from '../../tools/servers/artefacts';
import { findJava } from '../../tools/servers/java';

/**
 * Compiles `CreatePolicy.java`, for `startKafka`.
 * @param folder for the jars of a broker that has the policy
 */
export async function createPolicy(folder: string) {
  const java = await findJava();
  const { kafka } = await artefacts();
  const [jars, classes] = [path.join(folder, 'jars'), path.join(folder, 'classes')];
  mkdirSync(jars);
  const all = readdirSync(kafka).filter((name) => name.endsWith('.jar'));
  for (const jar of all) symlinkSync(path.join(kafka, jar), path.join(jars, jar));
  const source = path.join(__dirname, 'CreatePolicy.java');
  const compiler = [
    '-m',
    'jdk.compiler/com.sun.tools.javac.Main',
    '-d',
    classes,
    '-cp',
    all.map((jar) => path.join(kafka, jar)).join(':'),
  ];
  const packer = ['-m', 'jdk.jartool/sun.tools.jar.Main', '-cf', path.join(jars, 'policy.jar')];
  await promisify(execFile)(java, [...compiler, source]);
  await promisify(execFile)(java, [...packer, '-C', classes, '.']);
  const properties = { 'create.topic.policy.class.name': 'highwater.CreatePolicy' };
  return { jars: () => jars, properties };
}
