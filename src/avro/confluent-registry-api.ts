import { z } from 'zod';
import { HighwaterError } from '../errors';
import type { RegistryReply, RegistryRequest } from './confluent-registry-http';
import type { AvroSchema } from './registry';
import type { RegisteredVersion } from './schema-standing';

/** What highwater uses of the API that Confluent's registry has and others offer too. */
export interface ConfluentRegistryApi {
  /** The version that exactly this schema is, by the server's own comparison; null when there is none. */
  lookUp(
    subject: string,
    schema: AvroSchema,
  ): Promise<{ readonly id: number; readonly version: number } | null>;
  /** All versions of a subject, ascending; none when there is no such subject. */
  versions(subject: string): Promise<RegisteredVersion[]>;
  /** A conflict is an incompatible schema, and with some servers also another registration at the same time. */
  register(subject: string, schema: AvroSchema): Promise<{ readonly id: number } | Conflict>;
  schemaById(id: number): Promise<AvroSchema | null>;
  /** Compatibility that new versions of the subject are held to, its own or the server's default. */
  level(subject: string): Promise<string>;
  /** False with servers that set it for existing subjects only. */
  setLevel(subject: string, level: string): Promise<boolean>;
}

export interface Conflict {
  readonly conflict: string;
}

// What is no id must never come near a record's bytes: the wire format has four of them, without a sign.
const id = z.int().min(1).max(0xffff_ffff);
const version = z.int().min(1);
// The type is left out where it is Avro.
const stored = z.object({
  schemaType: z.literal('AVRO').nullish(),
  schema: z.string().transform(parseSchema),
});
const answers = {
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

/** @param send a call as `registryHttp` makes it */
export function confluentRegistryApi(
  send: (request: RegistryRequest) => Promise<RegistryReply>,
): ConfluentRegistryApi {
  /** Null when absent. */
  async function ask<S extends z.ZodType>(
    expected: S,
    request: RegistryRequest,
  ): Promise<z.output<S> | null> {
    const reply = await send(request);
    return reply.kind === 'absent' ? null : checked(expected, reply);
  }

  const of = (subject: string) => `/subjects/${encodeURIComponent(subject)}`;
  const text = (schema: AvroSchema) => ({ schema: JSON.stringify(schema) });

  async function level(subject: string): Promise<string> {
    const own = `/config/${encodeURIComponent(subject)}?defaultToGlobal=true`;
    const found =
      (await ask(answers.level, { method: 'GET', path: own })) ??
      (await ask(answers.level, { method: 'GET', path: '/config' }));
    return found?.compatibilityLevel.toUpperCase() ?? 'NONE';
  }

  return {
    level,
    lookUp: (subject, schema) =>
      ask(answers.found, { method: 'POST', path: of(subject), body: text(schema) }),
    async versions(subject) {
      const all = await ask(answers.numbers, { method: 'GET', path: `${of(subject)}/versions` });
      const found: RegisteredVersion[] = [];
      for (const number of (all ?? []).sort((a, b) => a - b)) {
        const one = await ask(answers.version, { method: 'GET', path: `${of(subject)}/versions/${number}` });
        // Absent: deleted since.
        if (one !== null) found.push({ id: one.id, version: one.version, schema: one.schema });
      }
      return found;
    },
    async register(subject, schema) {
      const path = `${of(subject)}/versions`;
      const reply = await send({ method: 'POST', path, body: text(schema) });
      return reply.kind === 'conflict' ? { conflict: reply.says } : checked(answers.registered, reply);
    },
    async schemaById(id) {
      const found = await ask(answers.stored, { method: 'GET', path: `/schemas/ids/${id}` });
      return found?.schema ?? null;
    },
    async setLevel(subject, wanted) {
      const path = `/config/${encodeURIComponent(subject)}`;
      const reply = await send({ method: 'PUT', path, body: { compatibility: wanted } });
      if (reply.kind === 'absent') return false;
      // Apicurio says so when somebody else sets it at the same time.
      if (reply.kind === 'conflict' && (await level(subject)) !== wanted) throw refused(reply);
      return true;
    },
  };
}

/** What the answer holds. @throws HighwaterError REGISTRY_REFUSED when that is something else than expected */
function checked<S extends z.ZodType>(expected: S, reply: RegistryReply): z.output<S> {
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

function refused(reply: RegistryReply): HighwaterError {
  const answered = reply.kind === 'conflict' ? `409: ${reply.says}` : '404';
  return new HighwaterError('REGISTRY_REFUSED', `${reply.request} answered ${answered}`);
}
