import { recordDecoder } from '../../../src/avro/codec/record-decoder';
import type { SchemaRegistry } from '../../../src/avro/registry/registry';
import type { LogRecord } from '../../../src/log/commit-log';

/** A registry that was set up again: id 1 is another schema than that of the value. */
const registry: Pick<SchemaRegistry, 'schemaById'> = { schemaById: async () => 'double' };

const record = (value: Buffer) =>
  ({ topic: 'ipos', partition: 0, logOffset: 7n, key: 'a', value }) as unknown as LogRecord;

it('a value that does not fit the schema of its id names a replaced registry as the likely cause', async () => {
  const decode = recordDecoder(registry as SchemaRegistry);
  const text = Buffer.from([0, 0, 0, 0, 1, 4, 0x68, 0x69]);
  await expect(decode(record(text))).rejects.toMatchObject({
    code: 'VALUE_FOREIGN',
    remedy: expect.stringMatching(/registry was probably emptied or replaced.*SCHEMA_REGISTRY_URL/),
  });
});

it('a value that names no schema does not', async () => {
  const decode = recordDecoder(registry as SchemaRegistry);
  await expect(decode(record(Buffer.from('{"id":1}')))).rejects.toMatchObject({
    code: 'VALUE_FOREIGN',
    remedy: expect.not.stringContaining('replaced'),
  });
});
