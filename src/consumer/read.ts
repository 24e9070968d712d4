import type { ConsumerLog, TopicEnds } from '../log/consumer-log';
import type { Decoder } from './decoder';
import { type EventFilter, eventFilter, type LogEvent, toEvent } from './event';

export interface ReadOptions {
  /** With the first event that is kept (default), or with events that come after the first one is asked for. */
  readonly from?: 'beginning' | 'end';
  /** Waits for more at the end, until the signal. Default: it ends there. */
  readonly follow?: boolean;
  readonly where?: EventFilter;
  /** Ends it, without an error when it follows. */
  readonly signal?: AbortSignal;
}

const BEGINNING: TopicEnds = { topicId: null, ends: new Map() };

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
  const { topicId, ends } = from === 'end' ? await log.endsWithId(topic, signal) : BEGINNING;
  if (from === 'end' && !follow) return;
  const records = follow ? log.follow(topic, ends, signal, topicId) : log.load(topic, signal);
  for await (const record of records) {
    if (wanted(record)) yield await toEvent(record, decoder);
  }
}
