import { HighwaterError } from '../../src/errors';

/** The error by which this fails. @throws Error if it succeeds, or fails by an error of another class */
export async function failureOf(promise: Promise<unknown>): Promise<HighwaterError> {
  const error = await promise.then(
    (value) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof HighwaterError)) throw error;
  return error;
}
