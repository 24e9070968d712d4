import { bySeq, type ChangeEvent } from './change-log';

/** Id → the event that last wrote it, for ids that are live. */
export type Live = Map<string, ChangeEvent>;

/** The events of one incarnation, by their numbers. */
export interface Life {
  readonly incarnation: string;
  readonly events: readonly ChangeEvent[];
}

/** An incarnation, and the records that were live at its end. */
export interface LivedLife extends Life {
  readonly live: Live;
}

/** Oldest first. A reset begins a new one; one without events leaves no trace. */
export function livesOf(events: readonly ChangeEvent[]): Life[] {
  const byIncarnation = new Map<string, ChangeEvent[]>();
  for (const event of events) {
    const known = byIncarnation.get(event.incarnation);
    if (known === undefined) byIncarnation.set(event.incarnation, [event]);
    else known.push(event);
  }
  const lives = [...byIncarnation].map(([incarnation, own]) => ({ incarnation, events: bySeq(own) }));
  return lives.sort((a, b) => a.events[0]!.row.timestamp - b.events[0]!.row.timestamp);
}
