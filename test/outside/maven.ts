import { cacheFolder } from './cache-folder';
import { MissingToolError, runTool } from './missing-tool';

const BUILD_MS = 300_000;

/** @throws MissingToolError without Maven, or when it fails */
async function maven(pom: string, args: readonly string[]): Promise<void> {
  const all = ['-q', '-B', '-f', pom, ...args];
  const remedy = 'Install Maven, because what it would fetch is not in the cache yet';
  const { code, stdout, stderr } = await runTool('mvn', all, remedy, { withinMs: BUILD_MS });
  if (code === 0) return;
  const what = `Maven failed: mvn ${all.join(' ')}\n${stdout}${stderr}`;
  throw new MissingToolError(what, 'Let Maven reach Maven Central or a mirror of it', undefined);
}

/**
 * A folder with a pom's jars and their dependencies, fetched once for each version of the file.
 * @throws MissingToolError without Maven, or when it fails
 */
export function jars(name: string, pom: string): Promise<string> {
  return cacheFolder(name, [pom], (folder) =>
    maven(pom, [`-DoutputDirectory=${folder}`, `${plugin}:copy-dependencies`, '-DincludeScope=runtime']),
  );
}

const plugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1';
