import type { z } from 'zod';
import type { RegisteredVersion } from './compatibility';
import { answers, checked, refused } from './confluent-answers';
import { type Conflict, type Registration, registerByLibrary } from './confluent-registration';
import type { RegistryReply, RegistryRequest } from './confluent-registry-http';
import type { AvroSchema } from './registry';

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
  register(registration: Registration): Promise<{ readonly id: number } | Conflict>;
  schemaById(id: number): Promise<AvroSchema | null>;
  /** Compatibility that new versions of the subject are held to, its own or the server's default. */
  level(subject: string): Promise<string>;
  /** False with servers that set it for existing subjects only. */
  setLevel(subject: string, level: string): Promise<boolean>;
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

  async function level(subject: string): Promise<string> {
    const own = `/config/${encodeURIComponent(subject)}?defaultToGlobal=true`;
    const found =
      (await ask(answers.level, { method: 'GET', path: own })) ??
      (await ask(answers.level, { method: 'GET', path: '/config' }));
    return found?.compatibilityLevel.toUpperCase() ?? 'NONE';
  }

  async function setLevel(subject: string, wanted: string): Promise<boolean> {
    const path = `/config/${encodeURIComponent(subject)}`;
    const reply = await send({ method: 'PUT', path, body: JSON.stringify({ compatibility: wanted }) });
    if (reply.kind === 'absent') return false;
    // Apicurio says so when somebody else sets it at the same time.
    if (reply.kind === 'conflict' && (await level(subject)) !== wanted) throw refused(reply);
    return true;
  }

  return {
    level,
    setLevel,
    lookUp: (subject, schema) =>
      ask(answers.found, {
        method: 'POST',
        path: of(subject),
        body: JSON.stringify({ schema: JSON.stringify(schema) }),
      }),
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
    register: (registration) => registerByLibrary(registration, { send, level, setLevel }),
    async schemaById(id) {
      const found = await ask(answers.stored, { method: 'GET', path: `/schemas/ids/${id}` });
      return found?.schema ?? null;
    },
  };
}
