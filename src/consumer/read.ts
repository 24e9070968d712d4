import type { Decoder } from '../avro/codec/record-decoder';
import type { ConsumerLog, TopicEnds } from '../log/consumer-log';
import { type EventFilter, eventFilter, type LogEvent, toEvent } from './event';

export interface ReadOptions {
  /** `beginning` (default): from the first event that is kept. `end`: only events that are committed after the iteration begins. */
  readonly from?: 'beginning' | 'end';
  /** At the end, wait for more events until the signal. Default: false. */
  readonly follow?: boolean;
  readonly where?: EventFilter;
  /** Ends the iteration: with `follow` without an error, otherwise with the signal's reason. */
  readonly signal?: AbortSignal;
}

const BEGINNING: TopicEnds = { topicId: null, ends: new Map() };

/**
 * Events of a topic, without a group: no work is shared and no position is kept.
 * @param topic full name
 */
export async function* readEvents(
  topic: string,
  { from = 'beginning', follow = false, where, signal = new AbortController().signal }: ReadOptions,
  { log, decoder }: { readonly log: ConsumerLog; readonly decoder: Decoder },
): AsyncGenerator<LogEvent> {
  const wanted = eventFilter(where);
  const { topicId, ends } = from === 'end' ? await log.ends(topic, 'reachable', signal) : BEGINNING;
  if (from === 'end' && !follow) return;
  const records = follow ? log.follow(topic, ends, signal, topicId) : log.load(topic, signal);
  for await (const record of records) {
    if (wanted(record)) yield await toEvent(record, decoder);
  }
}
