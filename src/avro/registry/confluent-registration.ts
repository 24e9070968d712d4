import { type COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { HighwaterError } from '../../errors';
import { incompatible } from './compatibility';
import { answers, type ConfluentRegistryApi, checked, refused } from './confluent-registry-api';
import type { RegistryReply, RegistryRequest } from './confluent-registry-http';
import type { AvroSchema } from './registry';

/**
 * The version was not accepted, or not under the intended level: an incompatible schema, and with some servers also another registration
 * at the same time. The subject may have changed in between.
 */
interface Conflict {
  /** Code of the error, if the conflict lasts. */
  readonly code: 'SCHEMA_INCOMPATIBLE' | 'REGISTRY_REFUSED';
  readonly conflict: string;
}

/**
 * Registers by the library, which asks again for the subject's level, posts the schema, and sets the level of a first version if that was
 * not possible before.
 *
 * Its requests go through our own calls. The library's own client waits without end for a connection that breaks within an answer, an
 * error with the body `null` is an unhandled rejection (the end of the process), and the options of one instance change all others.
 * @param level the subject's compatibility level, or the level that it gets with its first version: `FULL_TRANSITIVE`
 */
export async function registerByLibrary(
  subject: string,
  schema: AvroSchema,
  level: string,
  isFirstVersion: boolean,
  api: ConfluentRegistryApi,
): Promise<{ readonly id: number } | Conflict> {
  // Without an address: no request goes out past the transport, and no password goes in.
  const library = new SchemaRegistry({
    host: '',
    middlewares: [transport(subject, level, isFirstVersion, api)],
  });
  try {
    const { id } = await library.register(
      { type: SchemaType.AVRO, schema: JSON.stringify(schema) },
      { subject, compatibility: level as COMPATIBILITY },
    );
    return { id };
  } catch (error) {
    return conflictIn(error, subject);
  }
}

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number];
type Exchange = NonNullable<ReturnType<Middleware>['response']>;

/** The outermost middleware: it answers by itself, so that the library's own client is never called. */
function transport(
  subject: string,
  level: string,
  isFirstVersion: boolean,
  api: ConfluentRegistryApi,
): Middleware {
  async function answer(call: string, request: Parameters<Exchange>[2]): Promise<unknown> {
    // Another publisher may set it at the same moment, which is as good.
    if (call === 'updateConfig') return api.setLevel(subject, level);
    // If the subject had no level of its own, the library would set one. That is not wanted for a subject with versions.
    if (call === 'config' && !isFirstVersion) return { compatibilityLevel: await api.level(subject) };
    const reply = await api.send({
      method: request.method().toUpperCase() as RegistryRequest['method'],
      path: request.path(),
      ...(request.body() === undefined ? {} : { body: String(request.body()) }),
    });
    if (reply.kind !== 'answer') throw new NoAnswer(reply);
    return checked(call === 'config' ? answers.level : answers.registered, reply);
  }

  return ({ resourceMethod }) => ({
    async response(_next, _renew, request) {
      const value = await answer(resourceMethod, request);
      // All that the library asks of a response.
      return { data: () => value } as unknown as Awaited<ReturnType<Exchange>>;
    },
  });
}

class NoAnswer extends Error {
  /** By 404 the library knows a subject that has no level yet. */
  readonly status: number;

  constructor(readonly reply: Exclude<RegistryReply, { kind: 'answer' }>) {
    super(reply.request);
    this.status = reply.kind === 'absent' ? 404 : 409;
  }
}

/** @throws any other error; a HighwaterError if the library itself refused the schema */
function conflictIn(error: unknown, subject: string): Conflict {
  if (error instanceof NoAnswer) {
    if (error.reply.kind === 'absent') throw refused(error.reply);
    return { code: 'SCHEMA_INCOMPATIBLE', conflict: `refused it (409): ${error.reply.says}` };
  }
  // The library exports no class of its errors.
  if (!(error instanceof Error) || error instanceof HighwaterError) throw error;
  if (error.name === 'ConfluentSchemaRegistryCompatibilityError') {
    return { code: 'REGISTRY_REFUSED', conflict: `holds the subject to another level: ${error.message}` };
  }
  if (error.name === 'ConfluentSchemaRegistryArgumentError') {
    throw incompatible(subject, {
      version: null,
      field: '',
      problem: `it cannot be registered: ${error.message}`,
    });
  }
  throw error;
}
