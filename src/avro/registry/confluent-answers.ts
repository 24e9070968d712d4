import { z } from 'zod';
import { HighwaterError } from '../../errors';
import type { RegistryReply } from './confluent-registry-http';
import type { AvroSchema } from './registry';

// An id must fit into the wire format, which has four bytes without a sign.
const id = z.int().min(1).max(0xffff_ffff);
const version = z.int().min(1);
// The type is left out for Avro.
const stored = z.object({
  schemaType: z.literal('AVRO').nullish(),
  schema: z.string().transform(parseSchema),
});

/** The answers of a Confluent-compatible registry. */
export const answers = {
  found: z.object({ id, version }),
  numbers: z.array(version),
  version: stored.extend({ id, version }),
  registered: z.object({ id }),
  stored,
  level: z.object({ compatibilityLevel: z.string() }),
};

function parseSchema(text: string, context: z.RefinementCtx): AvroSchema {
  try {
    return JSON.parse(text) as AvroSchema;
  } catch {
    context.addIssue({ code: 'custom', message: 'expected an Avro schema as JSON' });
    return z.NEVER;
  }
}

/** The value of the answer. @throws HighwaterError REGISTRY_REFUSED if it is not the expected answer */
export function checked<S extends z.ZodType>(expected: S, reply: RegistryReply): z.output<S> {
  if (reply.kind !== 'answer') throw refused(reply);
  const parsed = expected.safeParse(reply.value);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  const place = path.length === 0 ? '' : `${path.join('.')}: `;
  throw new HighwaterError(
    'REGISTRY_REFUSED',
    `${reply.request} was answered as no registry does: ${place}${message}`,
  );
}

export function refused(reply: RegistryReply): HighwaterError {
  const answered = reply.kind === 'conflict' ? `409: ${reply.says}` : '404';
  return new HighwaterError('REGISTRY_REFUSED', `${reply.request} answered ${answered}`);
}
