import { HighwaterError } from '../../errors';

/** @throws HighwaterError USAGE_INVALID when it has been removed, or this user may not look it up */
export function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new HighwaterError(
      'USAGE_INVALID',
      `the working directory has been removed, or this user may not read it (${code})`,
      {
        cause: error,
        remedy: 'Change to a folder that exists (`cd`), and start again.',
      },
    );
  }
}
