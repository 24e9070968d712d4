/** Something that this machine lacks, and what to do. */
export class MissingToolError extends Error {
  constructor(what: string, remedy: string, cause: unknown) {
    super(`${what}\n  What needs it was not looked at.\n  ${remedy}, then run npm run test:outside again.`, {
      cause,
    });
    this.name = 'MissingToolError';
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
