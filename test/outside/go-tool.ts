import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder } from './cache-folder';
import { MissingToolError, runTool } from './missing-tool';

const BUILD_MS = 15 * 60_000;

export interface GoTool {
  readonly name: string;
  /** `sigs.k8s.io/kustomize/kustomize/v5`, or the path of a file `.go` */
  readonly source: string;
  /** Folder of the go.mod and go.sum that pin it. */
  readonly folder: string;
  readonly tags?: string;
}

/**
 * A program that Go builds, once for each version of it and of what pins it.
 * @returns the file to start
 * @throws MissingToolError without Go, or when it fails
 */
export async function goTool({ name, source, folder, tags = '' }: GoTool): Promise<string> {
  const modules = ['go.mod', 'go.sum'].map((file) => path.join(folder, file));
  const files = source.endsWith('.go') ? [...modules, source] : modules;
  const made = await cacheFolder(name, files, async (target) => {
    for (const file of modules) copyFileSync(file, path.join(target, path.basename(file)));
    const args = ['build', '-tags', tags, '-o', path.join(target, name), source];
    await go(args, target, `${name} could not be built`);
  });
  return path.join(made, name);
}

/**
 * The folder of a module as Go's proxy has it, for the files that come with it.
 * @param module `github.com/owner/name@v1.2.3`
 * @throws MissingToolError without Go, or when it fails
 */
export async function goModule(module: string, cwd: string): Promise<string> {
  const answer = await go(['mod', 'download', '-json', module], cwd, `${module} could not be fetched`);
  return (JSON.parse(answer) as { readonly Dir: string }).Dir;
}

async function go(args: readonly string[], cwd: string, failure: string): Promise<string> {
  const options = { cwd, env: process.env, withinMs: BUILD_MS };
  const { code, stdout, stderr } = await runTool('go', args, 'Install Go 1.26 or later', options);
  if (code === 0) return stdout;
  const what = `${failure}: go ${args.join(' ')}\n${stdout}${stderr}`;
  throw new MissingToolError(what, 'Let Go reach its module proxy', undefined);
}
