import type { BatchContext, LogEvent, PositionStore } from 'highwater/consumer';
import type { Database } from 'libsql';

export interface ExactlyOnce {
  /** For the consumer: where this database stands. */
  readonly positions: PositionStore;
  /** Writes the events of a batch and the place after them in one transaction. An event that is in already is left out. */
  apply<Event extends LogEvent>(
    events: readonly Event[],
    place: BatchContext,
    write: (event: Event) => void,
  ): void;
}

/** The consumer's place lies in the database that it fills: rows and place change together or not at all. */
export function exactlyOnce(db: Database): ExactlyOnce {
  db.exec(
    `CREATE TABLE IF NOT EXISTS positions (
       topic TEXT NOT NULL, partition INTEGER NOT NULL, topic_id TEXT NOT NULL, next INTEGER NOT NULL,
       PRIMARY KEY (topic, partition, topic_id)
     ) STRICT`,
  );
  // A topic that was deleted and created again has another id, and is read from its first event.
  const select = db.prepare('SELECT next FROM positions WHERE topic = ? AND partition = ? AND topic_id = ?');
  const upsert = db.prepare(
    'INSERT INTO positions VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next',
  );

  function positionOf(topic: string, partition: number, topicId: string | null): number | null {
    const row = select.get(topic, partition, topicId ?? '') as { readonly next: number } | undefined;
    return row?.next ?? null;
  }

  return {
    positions: { load: positionOf },
    apply(events, { topic, partition, topicId, next }, write) {
      const transaction = db.transaction(() => {
        const done = positionOf(topic, partition, topicId) ?? 0;
        // Another consumer was here: this one was taken for dead, and has woken up with its batch in hand.
        if (next <= done) return;
        for (const event of events) if (event.offset >= done) write(event);
        upsert.run(topic, partition, topicId ?? '', next);
      });
      // Immediate: locked before the place is read, so that nobody moves it in between.
      transaction.immediate();
    },
  };
}
