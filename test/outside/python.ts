import path from 'node:path';
import { virtualEnvironment } from './virtual-environment';

export const project = path.join(__dirname, 'python');

/**
 * The Python that the readers of `python/` run on, with the packages that they import.
 * @returns its `python`
 * @throws MissingToolError without Python, or when pip fails
 */
export async function pythonProgram(): Promise<string> {
  return path.join(await virtualEnvironment('python', path.join(project, 'requirements.txt')), 'python');
}
