import type { ConsumerLog } from '../log/consumer-log';
import type { Decoder } from './decoder';
import type { EventFilter, LogEvent } from './event';
import { toEvent } from './events';
import { eventFilter } from './handling/filter';

export interface ReadOptions {
  /** With the first event that is kept (default), or with what comes once the first one is asked for. */
  readonly from?: 'beginning' | 'end';
  /** Waits for more at the end, until the signal. Default: it ends there. */
  readonly follow?: boolean;
  readonly where?: EventFilter;
  /** Ends it, without an error when it follows. */
  readonly signal?: AbortSignal;
}

/**
 * Events of a topic without a group: nobody else's work is shared, and nothing is remembered.
 * @param topic full name
 */
export async function* readEvents(
  topic: string,
  { from = 'beginning', follow = false, where, signal = new AbortController().signal }: ReadOptions,
  { log, decoder }: { readonly log: ConsumerLog; readonly decoder: Decoder },
): AsyncGenerator<LogEvent> {
  const wanted = eventFilter(where);
  const begin = from === 'end' ? await log.presentEnds(topic, signal) : new Map<number, number>();
  if (from === 'end' && !follow) return;
  const records = follow ? log.follow(topic, begin, signal) : log.load(topic, signal);
  for await (const record of records) {
    if (wanted(record)) yield await toEvent(record, decoder);
  }
}
