import path from 'node:path';
import { findJava, firstLine } from '../../tools/servers/java';
import { jars } from './maven';
import { MissingToolError } from './missing-tool';

export interface JavaProgram {
  readonly java: string;
  /** Class path: Kafka's clients, Avro and their dependencies. */
  readonly libraries: string;
}

/**
 * Java and the class path for examples/Consume.java.
 * @throws MissingToolError without Java or Maven, or when Maven fails
 */
export async function javaProgram(): Promise<JavaProgram> {
  const java = await javaCommand();
  const folder = await jars('java', path.join(__dirname, 'java', 'pom.xml'));
  return { java, libraries: path.join(folder, '*') };
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
