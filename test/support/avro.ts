type Fields = Readonly<Record<string, unknown>>;

/** JSON text of a record's schema with what every record has; a field set to undefined is left out. */
export function avroRecord(name: string, fields: Fields = {}): string {
  return schema(name, {
    id: 'string',
    updated: 'long',
    extra: { type: 'map', values: 'string' },
    ...fields,
  });
}

/** JSON text of a transition's schema with what every event has. */
export function avroEvent(name: string, fields: Fields): string {
  return schema(name, {
    event_id: 'string',
    caused_by: 'string',
    origin: 'string',
    ts_ms: 'long',
    ...fields,
  });
}

function schema(name: string, fields: Fields): string {
  const list = Object.entries(fields)
    .filter(([, type]) => type !== undefined)
    .map(([field, type]) => ({ name: field, type }));
  return JSON.stringify({ type: 'record', name, fields: list });
}
