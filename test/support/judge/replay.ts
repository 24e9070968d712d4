import { type ChangeEvent, sameImage, where } from './change-log';
import { noticeable } from './difference';
import { canonical, expectedImage, type Image, updatedSeconds } from './expected-image';
import { type ApiVersion, byId, isHidden, isUsable } from './history';
import type { Life, Live } from './lives';
import type { Findings } from './verdict';

/**
 * I3 and I6 over one incarnation: the chain of each id, and a reason for each event.
 * @param snapshots how often a later snapshot was asked for
 * @returns what is live at the end
 */
export function replay(feed: string, { events }: Life, snapshots: number, found: Findings): Live {
  const live: Live = new Map();
  const again = new Map<string, number>();
  for (const event of events) {
    const { id, row, envelope } = event;
    const { op, before, after } = envelope;
    const former = live.get(id);
    if (op === 'c' && former !== undefined)
      found.add('I3', 'twice', `${where(row)}: ${op} of ${id}, live since ${where(former.row)}`);
    if (op === 'r' && former !== undefined) {
      again.set(id, (again.get(id) ?? 0) + 1);
      checkShownAgain(feed, event, former, again.get(id)! <= snapshots, found);
    }
    if (op === 'u' || op === 'd') {
      if (former === undefined) found.add('I3', 'lost', `${where(row)}: ${op} of ${id}, which is not live`);
      else if (!sameImage(before, former.envelope.after))
        found.add('I3', 'lost', `${where(row)}: before ${differenceOf(before, former.envelope.after)}`);
    }
    if (op === 'u' && before !== null && after !== null) checkReason(feed, event, before, after, found);
    checkOrigin(event, former !== undefined, found);
    if (after === null) live.delete(id);
    else live.set(id, event);
  }
  return live;
}

/** A later snapshot shows a live record once more. A difference comes as an update. */
function checkShownAgain(
  feed: string,
  { row, id, envelope }: ChangeEvent,
  former: ChangeEvent,
  isAsked: boolean,
  found: Findings,
): void {
  if (!isAsked)
    found.add('I3', 'twice', `${where(row)}: r of ${id}, live since ${where(former.row)}, and no snapshot`);
  const differing = noticeable(feed, former.envelope.after!, envelope.after!);
  if (differing.length > 0)
    found.add('I3', 'wrong', `${where(row)}: r of ${id}, which differs in [${differing}] and is no update`);
}

/** Where a change of each kind can come from. */
const origins: Readonly<Record<string, readonly string[]>> = {
  c: ['poll', 'reconcile'],
  u: ['poll', 'snapshot', 'backfill', 'reconcile'],
  d: ['reconcile'],
  r: ['snapshot', 'backfill'],
  'r again': ['poll', 'snapshot', 'backfill', 'reconcile'],
};

function checkOrigin({ row, envelope }: ChangeEvent, isLive: boolean, found: Findings): void {
  const { op, source } = envelope;
  const kind = op === 'r' && isLive ? 'r again' : op;
  if (!origins[kind]!.includes(source.origin))
    found.add('I3', 'wrong', `${where(row)}: op ${op} of origin ${source.origin}`);
}

function checkReason(feed: string, event: ChangeEvent, before: Image, after: Image, found: Findings): void {
  const { row, envelope } = event;
  const differing = noticeable(feed, before, after);
  if (differing.length === 0)
    found.add('I6', 'twice', `${where(row)}: nothing that a reader would notice has changed`);
  const named = [...envelope.changed_fields].sort();
  if (canonical(named) !== canonical(differing))
    found.add('I6', 'wrong', `${where(row)}: changed_fields [${named}], the images differ in [${differing}]`);
}

/**
 * I1: each published image is one that the API showed, and those of one id come in the order in which it did. A record that
 * is read once more, or for the first time in an incarnation, may be as it was; one that comes back after a delete is not
 * what was deleted.
 */
export function checkVersions(
  feed: string,
  lives: readonly Life[],
  history: readonly ApiVersion[],
  found: Findings,
): void {
  const shown = imagesById(feed, history);
  const reached = new Map<string, number>();
  for (const { events } of lives) {
    const met = new Set<string>();
    for (const { id, row, envelope } of events) {
      const versions = shown.get(id) ?? [];
      const from = reached.get(id) ?? -1;
      const isAsBefore = envelope.op === 'r' || !met.has(id);
      met.add(id);
      if (envelope.after === null) {
        // Which removal it was: the first that is still ahead.
        const gone = versions.indexOf(null, from + 1);
        if (gone >= 0) reached.set(id, gone);
        continue;
      }
      const after = canonical(envelope.after);
      const at = versions.indexOf(after, isAsBefore ? Math.max(from, 0) : from + 1);
      if (at >= 0) reached.set(id, at);
      else if (versions.includes(after))
        found.add(
          'I4',
          'order',
          `${where(row)}: version ${versions.indexOf(after)} of ${id} after version ${from}`,
        );
      else
        found.add(
          'I1',
          'wrong',
          `${where(row)}: the API never showed this ${id}: ${differenceOf(envelope.after, nearest(versions, from))}`,
        );
    }
  }
}

function nearest(versions: readonly (string | null)[], from: number): Image | null {
  const text =
    versions.slice(from + 1).find((version) => version !== null) ??
    versions.findLast((version) => version !== null);
  return text == null ? null : (JSON.parse(text) as Image);
}

/** As they must be published; null: it was removed. */
function imagesById(feed: string, history: readonly ApiVersion[]): Map<string, (string | null)[]> {
  const shown = new Map<string, (string | null)[]>();
  for (const [id, versions] of byId(feed, history)) {
    const usable = versions.filter(({ record }) => record === null || isUsable(feed, record));
    shown.set(
      id,
      usable.map(({ record }) => (record === null ? null : canonical(expectedImage(feed, record)))),
    );
  }
  return shown;
}

/**
 * I1 at the end: what is live is what the API shows, to anybody who reads it. A row that only a reconcile can find may be missing
 * if it appeared after the last whole reading.
 * @param readUntilMs rows that appeared before have been read; 0: none
 */
export function checkTruth(
  feed: string,
  live: Live,
  truth: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  history: readonly ApiVersion[],
  {
    overlapSeconds = 5,
    readUntilMs,
  }: { readonly overlapSeconds?: number | undefined; readonly readUntilMs: number },
  found: Findings,
): void {
  const versions = byId(feed, history);
  const isExcused = (id: string): boolean => {
    const last = versions.get(id)?.at(-1);
    return last !== undefined && isHidden(feed, last, overlapSeconds) && last.shownFromMs > readUntilMs;
  };
  for (const [id, record] of truth) {
    if (isExcused(id)) continue;
    const image = live.get(id)?.envelope.after;
    if (image === undefined || image === null) {
      found.add('I1', 'lost', `${id} is missing, updated ${updatedSeconds(feed, record)}`);
      continue;
    }
    const differing = noticeable(feed, image, expectedImage(feed, record));
    if (differing.length > 0)
      found.add(
        'I1',
        'lost',
        `${id} is behind in [${differing}]: published updated ${updatedSeconds(feed, image)}, the API shows ${updatedSeconds(feed, record)}`,
      );
  }
  for (const id of live.keys()) {
    if (!truth.has(id) && !isExcused(id))
      found.add('I1', 'wrong', `${id} is live, and the API does not show it`);
  }
}

function differenceOf(found: Image | null, expected: Image | null): string {
  if (found === null || expected === null)
    return `is ${found === null ? 'null' : 'there'}, expected ${expected === null ? 'null' : 'an image'}`;
  const names = new Set([...Object.keys(found), ...Object.keys(expected)]);
  const parts = [...names]
    .filter((name) => canonical(found[name] ?? null) !== canonical(expected[name] ?? null))
    .map((name) => `${name} is ${short(found[name])}, expected ${short(expected[name])}`);
  return parts.slice(0, 4).join('; ');
}

function short(value: unknown): string {
  const text = canonical(value ?? null) ?? 'null';
  return text.length > 120 ? `…${text.slice(-120)}` : text;
}
