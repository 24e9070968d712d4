import { readSchema } from '../../src/avro/schemas';
import { ipos } from '../../src/feeds/ipos';

/** Registers what the peers write: the same record as ours, in an event without the image before. */
export async function registerPeerSchema(registryUrl: string, subject: string): Promise<void> {
  const answer = await fetch(`${registryUrl}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(eventSchema()) }),
  });
  if (!answer.ok) throw new Error(`the registry answered ${answer.status}: ${await answer.text()}`);
}

function eventSchema() {
  const record = readSchema(ipos.schema);
  const optionalText = ['null', 'string'];
  return {
    type: 'record',
    name: 'IpoChange',
    namespace: 'bench',
    fields: [
      { name: 'event', type: 'string' },
      { name: 'id', type: 'string' },
      { name: 'updated', type: 'long' },
      { name: 'changed', type: { type: 'array', items: 'string' } },
      { name: 'from_status', type: optionalText, default: null },
      { name: 'to_status', type: optionalText, default: null },
      // `extra` is what our decoder keeps of members that the schema lacks; the vendor has no such member.
      { name: 'after', type: { ...record, fields: record.fields.filter(({ name }) => name !== 'extra') } },
    ],
  };
}
