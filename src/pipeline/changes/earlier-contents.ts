import { createHash } from 'node:crypto';

/** Records that are remembered. */
const MOST = 10_000;

/**
 * Contents that records had before they changed without a later `updated`. If one comes again, a server that lags may have shown it, or
 * another record with the same id.
 */
export class EarlierContents {
  private readonly hashes = new Map<string, Set<string>>();

  /** @param image with its `updated`, so contents of an earlier second are others */
  add(id: string, image: Buffer): void {
    const known = this.hashes.get(id) ?? new Set();
    this.hashes.delete(id);
    this.hashes.set(id, known.add(hashOf(image)));
    if (this.hashes.size > MOST) this.hashes.delete(this.hashes.keys().next().value!);
  }

  has(id: string, image: Buffer): boolean {
    return this.hashes.get(id)?.has(hashOf(image)) === true;
  }
}

function hashOf(image: Buffer): string {
  return createHash('sha256').update(image).digest('base64');
}
