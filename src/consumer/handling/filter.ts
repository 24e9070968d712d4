import type { LogRecord } from '../../log/commit-log';
import type { EventFilter } from '../event';

/** Whether an event is wanted, told by its headers and key alone: what is not wanted is never decoded. */
export function eventFilter(where: EventFilter | undefined): (record: LogRecord) => boolean {
  if (where === undefined) return () => true;
  const { op, symbol, changedFields, eventType, key } = where;
  const wanted: ((record: LogRecord) => boolean)[] = [];
  const add = (values: readonly string[] | undefined, of: (record: LogRecord) => string | undefined) => {
    if (values === undefined) return;
    const set = new Set(values);
    wanted.push((record) => set.has(of(record) ?? ''));
  };
  add(key, (record) => record.key);
  add(op, ({ headers }) => headers.op);
  add(symbol, ({ headers }) => headers.symbol);
  add(eventType, ({ headers }) => headers.ce_type);
  if (changedFields !== undefined) {
    const set = new Set(changedFields);
    wanted.push(({ headers }) => (headers['changed-fields'] ?? '').split(',').some((name) => set.has(name)));
  }
  return (record) => wanted.every((holds) => holds(record));
}
