import { readdirSync } from 'node:fs';
import path from 'node:path';
import { findJava, firstLine } from '../../tools/servers/java';
import { cacheFolder } from './cache-folder';
import { maven } from './maven';
import { MissingToolError } from './missing-tool';

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
  const java = await javaCommand();
  const pom = path.join(project, 'pom.xml');
  const sources = path.join(project, 'src', 'main', 'java');
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).sort();
  const javaFiles = files.filter((name) => name.endsWith('.java')).map((name) => path.join(sources, name));
  const folder = await cacheFolder('java', [pom, ...javaFiles], async (target) => {
    await maven(pom, [`-Doutside=${target}`, 'process-classes']);
  });
  const libraries = path.join(folder, 'libraries', '*');
  return { java, libraries, classpath: [path.join(folder, 'classes'), libraries].join(path.delimiter) };
}

/** @throws MissingToolError without Java */
export async function javaCommand(): Promise<string> {
  return findJava().catch((error: Error) => {
    throw new MissingToolError(
      firstLine(error),
      'Install a JDK, 17 or later (or set JAVA_HOME to one)',
      error,
    );
  });
}
