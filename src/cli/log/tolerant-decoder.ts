import { type DecodedRecord, isUnreadable, recordDecoder } from '../../avro/codec/record-decoder';
import { WIRE_HEADER_BYTES } from '../../avro/codec/wire';
import type { SchemaLookup } from '../../avro/registry/registry';
import { HighwaterError } from '../../errors';
import type { LogRecord } from '../../log/commit-log';
import type { CommandContext } from '../process/command-context';

/** Decodes the records that a command shows. Records that cannot be read are named and left out. */
export function tolerantDecoder(registry: SchemaLookup, { report }: Pick<CommandContext, 'report'>) {
  const decode = recordDecoder(registry);
  /** Schema ids that the registry does not have. Each is asked for once and named once. */
  const refused = new Set<number | null>();
  let code: 0 | 1 = 0;

  return {
    /** Null for a record that is left out. @throws HighwaterError REGISTRY_UNREACHABLE, LOG_* */
    async decode(record: LogRecord): Promise<DecodedRecord | null> {
      try {
        if (record.value !== null && refused.has(idOf(record.value))) return null;
        return await decode(record);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        code = 1;
        const isOfId = error.code !== 'VALUE_FOREIGN';
        if (isOfId) refused.add(idOf(record.value!));
        const now = isOfId
          ? 'Records of this schema are left out. All others are shown.'
          : 'This record is left out. All others are shown.';
        report(new HighwaterError(error.code, error.message, { cause: error, now, remedy: error.remedy }));
        return null;
      }
    },
    /** Exit code of the command: 1 if a record was left out. */
    exitCode: () => code,
  };
}

/** Null for a value that is too short to name a schema. */
function idOf(value: Buffer): number | null {
  return value.length < WIRE_HEADER_BYTES ? null : value.readUInt32BE(1);
}
