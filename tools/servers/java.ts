import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { MissingToolError } from './missing-tool';

const OLDEST = 17;
const install = `Install Java ${OLDEST} or later (or set JAVA_HOME to one)`;

/**
 * The Java to run the servers with: that of JAVA_HOME, else the one on the PATH.
 * @throws MissingToolError when there is none, or it is too old
 */
export async function findJava(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { JAVA_HOME } = env;
  const java = JAVA_HOME ? path.join(JAVA_HOME, 'bin', 'java') : 'java';
  let said: string;
  try {
    said = (await promisify(execFile)(java, ['-version'], { env })).stderr;
  } catch (error) {
    const what = `Java was not found: ${java} -version failed (${firstLine(error)})`;
    throw new MissingToolError(what, install, { cause: error });
  }
  const version = /version "(?:1\.)?(\d+)/.exec(said)?.[1];
  if (version === undefined || Number(version) < OLDEST) {
    throw new MissingToolError(`${java} is too old: ${said.split('\n')[0]?.trim()}`, install);
  }
  return java;
}

/** What a command that failed says first. */
export function firstLine(error: unknown): string {
  return (error as Error).message.split('\n')[0] ?? '';
}
