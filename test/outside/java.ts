import { readdirSync } from 'node:fs';
import path from 'node:path';
import { findJava, firstLine } from '../../tools/servers/java';
import { cacheFolder } from './cache-folder';
import { run } from './command';
import { isMissing, MissingToolError } from './missing-tool';

const BUILD_MS = 300_000;
const project = path.join(__dirname, 'java');

export interface JavaProgram {
  readonly java: string;
  /** Kafka's clients, Avro and what they need. */
  readonly libraries: string;
  /** The same, and the compiled reader. */
  readonly classpath: string;
}

/**
 * The reader on the JVM, built by Maven once for each version of its sources.
 * @throws MissingToolError without Java or Maven, or when Maven fails
 */
export async function javaProgram(): Promise<JavaProgram> {
  const java = await findJava().catch((error: Error) => {
    throw new MissingToolError(
      firstLine(error),
      'Install a JDK, 17 or later (or set JAVA_HOME to one)',
      error,
    );
  });
  const pom = path.join(project, 'pom.xml');
  const sources = path.join(project, 'src', 'main', 'java');
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).sort();
  const javaFiles = files.filter((name) => name.endsWith('.java')).map((name) => path.join(sources, name));
  const folder = await cacheFolder('java', [pom, ...javaFiles], async (target) => {
    await maven(['-q', '-B', '-f', pom, `-Doutside=${target}`, 'process-classes']);
  });
  const libraries = path.join(folder, 'libraries', '*');
  return { java, libraries, classpath: [path.join(folder, 'classes'), libraries].join(path.delimiter) };
}

async function maven(args: readonly string[]): Promise<void> {
  try {
    const { code, stdout, stderr } = await run('mvn', args, { withinMs: BUILD_MS });
    if (code === 0) return;
    const what = `Maven could not build the reader: mvn ${args.join(' ')}\n${stdout}${stderr}`;
    throw new MissingToolError(what, 'Let Maven reach Maven Central or a mirror of it', undefined);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new MissingToolError(
      'Maven was not found, and the reader is not built yet',
      'Install Maven',
      error,
    );
  }
}
