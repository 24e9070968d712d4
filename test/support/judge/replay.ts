import { bySeq, type ChangeEvent, sameImage, where } from './change-log';
import { noticeable } from './difference';
import { canonical, expectedImage, type Image } from './expected-image';
import type { Findings } from './verdict';

/** What the API showed under one id, oldest first. `record` null: it was removed. */
export interface ApiVersion {
  readonly id: string;
  readonly record: Readonly<Record<string, unknown>> | null;
}

/** Id → the event that last wrote it, for ids that are live. */
export type Live = Map<string, ChangeEvent>;

/** I3 and I6 over one incarnation: the chain of each id, and a reason for each event. @returns what is live at the end */
export function replay(feed: string, events: readonly ChangeEvent[], found: Findings): Live {
  const live: Live = new Map();
  for (const event of bySeq(events)) {
    const { id, row, envelope } = event;
    const { op, before, after } = envelope;
    const former = live.get(id);
    if ((op === 'c' || op === 'r') && former !== undefined)
      found.add('I3', 'twice', `${where(row)}: ${op} of ${id}, live since ${where(former.row)}`);
    if (op === 'u' || op === 'd') {
      if (former === undefined) found.add('I3', 'lost', `${where(row)}: ${op} of ${id}, which is not live`);
      else if (!sameImage(before, former.envelope.after))
        found.add('I3', 'lost', `${where(row)}: before ${differenceOf(before, former.envelope.after)}`);
    }
    if (op === 'u' && before !== null && after !== null) checkReason(feed, event, before, after, found);
    if (after === null) live.delete(id);
    else live.set(id, event);
  }
  return live;
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

/** I1: each published image is one that the API showed, and those of one id come in the order in which it did. */
export function checkVersions(
  feed: string,
  events: readonly ChangeEvent[],
  history: readonly ApiVersion[],
  found: Findings,
): void {
  const shown = versionsById(feed, history);
  const reached = new Map<string, number>();
  for (const event of bySeq(events)) {
    const { id, row, envelope } = event;
    if (envelope.after === null) continue;
    const versions = shown.get(id) ?? [];
    const after = canonical(envelope.after);
    const from = reached.get(id) ?? -1;
    const at = versions.indexOf(after, from + 1);
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

function nearest(versions: readonly string[], from: number): Image | null {
  const text = versions[from + 1] ?? versions.at(-1);
  return text === undefined ? null : (JSON.parse(text) as Image);
}

function versionsById(feed: string, history: readonly ApiVersion[]): Map<string, string[]> {
  const shown = new Map<string, string[]>();
  for (const { record } of history) {
    if (record === null || !isUsable(record)) continue;
    const image = expectedImage(feed, record);
    const id = image.id as string;
    const versions = shown.get(id);
    if (versions === undefined) shown.set(id, [canonical(image)]);
    else versions.push(canonical(image));
  }
  return shown;
}

export function isUsable(record: Readonly<Record<string, unknown>>): boolean {
  return typeof record.id === 'string' && record.id !== '' && typeof record.updated === 'number';
}

/** I1 at the end: what is live is what the API shows, to anybody who reads it. */
export function checkTruth(
  feed: string,
  live: Live,
  truth: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  found: Findings,
): void {
  for (const [id, record] of truth) {
    const image = live.get(id)?.envelope.after;
    if (image === undefined || image === null) {
      found.add('I1', 'lost', `${id} is missing, updated ${String(record.updated)}`);
      continue;
    }
    const differing = noticeable(feed, image, expectedImage(feed, record));
    if (differing.length > 0)
      found.add(
        'I1',
        'lost',
        `${id} is behind in [${differing}]: published updated ${String(image.updated)}, the API shows ${String(record.updated)}`,
      );
  }
  for (const id of live.keys()) {
    if (!truth.has(id)) found.add('I1', 'wrong', `${id} is live, and the API does not show it`);
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
