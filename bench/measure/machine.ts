import { execFile } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { versions } from '../../tools/servers/artefacts';
import { findJava } from '../../tools/servers/java';
import { findGo } from './go';

/** One line of what the figures were measured with: `2 cores (…), 24 GiB, Node 20.20.2, Java 17.0.15, Go 1.26.8, Kafka 4.3.1`. */
export async function machineFacts(): Promise<string> {
  const processors = cpus();
  const java = await said(() => findJava(), ['-version'], /version "([^"]+)"/);
  const go = await said(() => findGo(), ['version'], /go(\d[\w.]*)/);
  return [
    `${processors.length} cores (${processors[0]?.model.trim() ?? 'unknown'})`,
    `${Math.round(totalmem() / 2 ** 30)} GiB`,
    `Node ${process.versions.node}`,
    `Java ${java}`,
    `Go ${go}`,
    `Kafka ${versions.kafka}`,
  ].join(', ');
}

async function said(
  find: () => Promise<string | null>,
  args: readonly string[],
  version: RegExp,
): Promise<string> {
  const program = await find().catch(() => null);
  if (program === null) return 'not installed';
  const { stdout, stderr } = await promisify(execFile)(program, [...args]);
  return version.exec(`${stdout}${stderr}`)?.[1] ?? 'of unknown version';
}
