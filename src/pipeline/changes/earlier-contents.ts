import { createHash } from 'node:crypto';

const MOST_RECORDS = 10_000;
const MOST_CONTENTS = 8;
/** A server may lag for so long. A price may come back to a value later. */
const KNOWN_MS = 60_000;
/** For contents that the API has shown beside others. */
const KEPT_MS = 86_400_000;

/** A server may go on showing a record that is gone for so long. */
const GONE_MS = 3_600_000;

interface Earlier {
  readonly hashes: readonly string[];
  readonly untilMs: number;
}

/**
 * Contents that records had before they changed without a later `updated`. If one comes again soon, a server that lags may have shown
 * it, or another record with the same id. Times are those of observation, Unix ms.
 */
export class EarlierContents {
  private readonly records = new Map<string, Earlier>();
  /** Id of a record that was deleted → `updated` of its last image, Unix seconds, and when that was. */
  private readonly gone = new Map<string, { readonly updated: number; readonly atMs: number }>();

  /** @param image with its `updated`, so contents of an earlier second are others */
  add(id: string, image: Buffer, nowMs: number): void {
    const known = this.known(id, nowMs);
    const hashes = [...(known?.hashes ?? []), hashOf(image)].slice(-MOST_CONTENTS);
    this.records.delete(id);
    this.records.set(id, { hashes, untilMs: Math.max(known?.untilMs ?? 0, nowMs + KNOWN_MS) });
    if (this.records.size > MOST_RECORDS) this.records.delete(this.records.keys().next().value!);
  }

  /** Contents that the API shows beside the published ones. */
  addBeside(id: string, image: Buffer, nowMs: number): void {
    if (!this.has(id, image, nowMs)) this.add(id, image, nowMs);
    this.keep(id, nowMs);
  }

  /** The API shows contents of the record beside others. */
  keep(id: string, nowMs: number): void {
    const known = this.known(id, nowMs);
    if (known !== null) this.records.set(id, { ...known, untilMs: nowMs + KEPT_MS });
  }

  has(id: string, image: Buffer, nowMs: number): boolean {
    return this.known(id, nowMs)?.hashes.includes(hashOf(image)) === true;
  }

  noteGone(id: string, updated: number, nowMs: number): void {
    this.gone.delete(id);
    this.gone.set(id, { updated, atMs: nowMs });
    if (this.gone.size > MOST_RECORDS) this.gone.delete(this.gone.keys().next().value!);
  }

  /** Whether a record was deleted lately, with this time or a later one. */
  wasGone(id: string, updated: number, nowMs: number): boolean {
    const gone = this.gone.get(id);
    return gone !== undefined && updated <= gone.updated && nowMs - gone.atMs <= GONE_MS;
  }

  private known(id: string, nowMs: number): Earlier | null {
    const known = this.records.get(id);
    return known !== undefined && nowMs <= known.untilMs ? known : null;
  }
}

function hashOf(image: Buffer): string {
  return createHash('sha256').update(image).digest('base64');
}
