import type { ChangesView, ChangeView, DeliveryView, FeedView, PublisherView } from '../../dashboard/view';

/** All that the page knows. Values only: each message makes a new one. */
export interface Model {
  readonly connection: Connection;
  readonly publisher: PublisherView | null;
  /** Own clock when the publisher last said how its feeds are, ms. */
  readonly heardAtMs: number | null;
  /** The publisher's clock minus the own one. */
  readonly aheadMs: number;
  readonly feeds: readonly FeedView[];
  readonly deliveries: readonly DeliveryView[];
  /** Newest first, by when highwater saw them. */
  readonly rows: readonly Row[];
  /** Numbers of the rows that come. */
  readonly nextId: number;
  /** Changes that were committed, but not sent to the page, since it began or was cleared. */
  readonly left: number;
  /** Types of transitions that were seen, in alphabetical order. */
  readonly types: readonly string[];
}

/** A change as it lies in the list; ids grow with arrival, through all restarts of the publisher. */
export interface Row {
  readonly id: number;
  readonly change: ChangeView;
}

/** `token`: the publisher wants one; `wasWrong` when it got one and refused it. */
export type Connection =
  | { readonly state: 'connecting' | 'open' }
  | { readonly state: 'lost'; readonly sinceMs: number }
  | { readonly state: 'token'; readonly wasWrong: boolean };

export type Message =
  | { readonly kind: 'opened' }
  | { readonly kind: 'lost'; readonly atMs: number }
  | { readonly kind: 'refused'; readonly wasWrong: boolean }
  | { readonly kind: 'publisher'; readonly view: PublisherView; readonly atMs: number }
  | { readonly kind: 'feeds'; readonly views: readonly FeedView[]; readonly atMs: number }
  | { readonly kind: 'deliveries'; readonly views: readonly DeliveryView[] }
  | { readonly kind: 'changes'; readonly view: ChangesView }
  | { readonly kind: 'cleared' };

/** More changes than are shown, so a filter also finds some that have already scrolled away. */
const ROWS_KEPT = 2_000;

export const firstModel: Model = {
  connection: { state: 'connecting' },
  publisher: null,
  heardAtMs: null,
  aheadMs: 0,
  feeds: [],
  deliveries: [],
  rows: [],
  nextId: 0,
  left: 0,
  types: [],
};

export function reduce(model: Model, message: Message): Model {
  switch (message.kind) {
    case 'opened':
      return { ...model, connection: { state: 'open' } };
    case 'lost':
      // Each further try fails for the same loss.
      return model.connection.state === 'lost'
        ? model
        : { ...model, connection: { state: 'lost', sinceMs: message.atMs } };
    case 'refused':
      return { ...model, connection: { state: 'token', wasWrong: message.wasWrong } };
    case 'publisher':
      return { ...model, publisher: message.view, aheadMs: message.view.nowMs - message.atMs };
    case 'feeds':
      return { ...model, feeds: message.views, heardAtMs: message.atMs };
    case 'deliveries':
      return { ...model, deliveries: message.views };
    case 'changes':
      return withChanges(model, message.view);
    case 'cleared':
      return { ...model, rows: [], left: 0 };
  }
}

function withChanges(model: Model, { fresh, changes, left }: ChangesView): Model {
  const arrived = changes.map((change, at): Row => ({ id: model.nextId + at, change })).reverse();
  // Changes that were committed while no page was open come feed by feed.
  const rows = [...arrived, ...(fresh ? [] : model.rows)].sort(
    (a, b) => b.change.observedAtMs - a.change.observedAtMs,
  );
  const found = changes.flatMap(({ transitions }) => transitions.map(({ type }) => type));
  const isNew = found.some((type) => !model.types.includes(type));
  return {
    ...model,
    rows: rows.slice(0, ROWS_KEPT),
    nextId: model.nextId + changes.length,
    left: (fresh ? 0 : model.left) + left,
    types: isNew ? [...new Set([...model.types, ...found])].sort() : model.types,
  };
}

/** The publisher speaks every second. */
export const SILENCE_MS = 12_000;

/**
 * Since when nothing is known of the publisher, own clock; null: it is heard. A machine that slept notices its silence
 * before its connection does.
 */
export function lostSince({ connection, heardAtMs }: Model, nowMs: number): number | null {
  if (connection.state === 'lost') return heardAtMs ?? connection.sinceMs;
  if (connection.state === 'open' && heardAtMs !== null && nowMs - heardAtMs > SILENCE_MS) return heardAtMs;
  return null;
}
