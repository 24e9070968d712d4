import { z } from 'zod';
import { HighwaterError } from '../../errors';
import type { RegistryReply, RegistryRequest } from './confluent-registry-http';
import type { AvroSchema, RegisteredVersion } from './registry';

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

/** The calls of Confluent's registry API that highwater uses. Other registries offer them too. */
export class ConfluentRegistryApi {
  /** @param send a call as `registryHttp` makes it */
  constructor(readonly send: (request: RegistryRequest) => Promise<RegistryReply>) {}

  /** The version that equals the schema, by the server's own comparison; null if there is none. */
  lookUp(subject: string, schema: AvroSchema) {
    const body = JSON.stringify({ schema: JSON.stringify(schema) });
    return this.ask(answers.found, { method: 'POST', path: pathOf(subject), body });
  }

  /** All versions of a subject, ascending; none if there is no such subject. */
  async versions(subject: string): Promise<RegisteredVersion[]> {
    const all = await this.ask(answers.numbers, { method: 'GET', path: `${pathOf(subject)}/versions` });
    const found: RegisteredVersion[] = [];
    for (const number of (all ?? []).sort((a, b) => a - b)) {
      const path = `${pathOf(subject)}/versions/${number}`;
      const one = await this.ask(answers.version, { method: 'GET', path });
      // Absent: deleted since.
      if (one !== null) found.push({ id: one.id, version: one.version, schema: one.schema });
    }
    return found;
  }

  async schemaById(id: number, timeoutMs?: number): Promise<AvroSchema | null> {
    const limit = timeoutMs === undefined ? {} : { timeoutMs };
    const found = await this.ask(answers.stored, { method: 'GET', path: `/schemas/ids/${id}`, ...limit });
    return found?.schema ?? null;
  }

  /** The compatibility that the subject demands of new versions: its own level or the server's default. */
  async level(subject: string): Promise<string> {
    const own = `/config/${encodeURIComponent(subject)}?defaultToGlobal=true`;
    const found =
      (await this.ask(answers.level, { method: 'GET', path: own })) ??
      (await this.ask(answers.level, { method: 'GET', path: '/config' }));
    return found?.compatibilityLevel.toUpperCase() ?? 'NONE';
  }

  /** False with servers that set it for existing subjects only. */
  async setLevel(subject: string, wanted: string): Promise<boolean> {
    const path = `/config/${encodeURIComponent(subject)}`;
    const reply = await this.send({ method: 'PUT', path, body: JSON.stringify({ compatibility: wanted }) });
    if (reply.kind === 'absent') return false;
    // Apicurio answers 409 if somebody else sets it at the same time.
    if (reply.kind === 'conflict' && (await this.level(subject)) !== wanted) throw refused(reply);
    return true;
  }

  /** Null when absent. */
  private async ask<S extends z.ZodType>(expected: S, request: RegistryRequest): Promise<z.output<S> | null> {
    const reply = await this.send(request);
    return reply.kind === 'absent' ? null : checked(expected, reply);
  }
}

function pathOf(subject: string): string {
  return `/subjects/${encodeURIComponent(subject)}`;
}
