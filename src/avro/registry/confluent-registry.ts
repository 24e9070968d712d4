import { setTimeout as sleep } from 'node:timers/promises';
import { HighwaterError } from '../../errors';
import type { Logger } from '../../logging/logger';
import { forSchema } from '../codec/wire-type';
import { typeName } from '../schemas';
import { incompatible, schemaStanding } from './compatibility';
import { registerByLibrary } from './confluent-registration';
import { ConfluentRegistryApi } from './confluent-registry-api';
import { registryHttp, type SchemaRegistryConfig } from './confluent-registry-http';
import {
  type AvroSchema,
  FULL_TRANSITIVE,
  type SchemaRegistry,
  type SchemaStanding,
  type SchemaStatus,
} from './registry';

export interface ConfluentRegistryOptions {
  readonly logger: Logger;
  /** Ends calls under way. */
  readonly signal?: AbortSignal;
  /**
   * For an existing subject with a lower level than FULL_TRANSITIVE. The publisher warns, since somebody may have lowered it on purpose.
   * A command that registers raises it. Highwater's own check is the same for both.
   */
  readonly weakerLevel?: 'warn' | 'raise';
  /** For one call of the server with all its tries, ms. */
  readonly timeoutMs?: number;
  /** How often, at most, ids are confirmed, in ms. */
  readonly confirmEveryMs?: number;
}

/** Another publisher may register the same at the same time, which some servers answer with 409. */
const triesOfRegistration = 5;

/**
 * A Confluent-compatible server. Compatibility is checked here, against all versions of the subject, and then again by the server. Ids
 * come only from the server's answers.
 */
export function confluentRegistry(
  config: SchemaRegistryConfig,
  {
    logger,
    signal,
    weakerLevel = 'warn',
    timeoutMs = 10_000,
    confirmEveryMs = 60_000,
  }: ConfluentRegistryOptions,
): SchemaRegistry {
  const { url, registration } = config;
  let aheadMs: number | null = null;
  const dated = (serverMs: number): void => {
    aheadMs = Date.now() - serverMs;
  };
  const api = new ConfluentRegistryApi(registryHttp(config, { timeoutMs, signal, dated }));
  /** By id; ids never change their meaning. */
  const known = new Map<number, Promise<AvroSchema>>();
  const warned = new Set<string>();
  /** Subjects that had no version and are not registered yet. Their level is ours to set, even after a failure. */
  const begun = new Set<string>();
  /** When ids were last confirmed, own clock. */
  const confirmedAt = new Map<number, number>();

  async function standing(subject: string, schema: AvroSchema): Promise<SchemaStanding> {
    // First, because the server recognizes a schema even if it stores it in another form.
    const found = await api.lookUp(subject, schema);
    if (found !== null) return { state: 'registered', ...found };
    return schemaStanding(schema, await api.versions(subject));
  }

  async function register(subject: string, schema: AvroSchema): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      const found = await standing(subject, schema);
      if (registration === 'lookup') return onlyRegistered(subject, found);
      if (found.state === 'incompatible') throw incompatible(subject, found.reason);
      const isFirstVersion = found.state === 'new';
      const level = isFirstVersion ? await begin(subject) : await holdToLevel(subject);
      const registered =
        found.state === 'registered'
          ? found
          : await registerByLibrary(subject, schema, level, isFirstVersion, api);
      if ('id' in registered) {
        begun.delete(subject);
        return registered.id;
      }
      if (attempt === triesOfRegistration) {
        throw new HighwaterError(
          registered.code,
          `new schema for ${subject}: the registry at ${url} ${registered.conflict}`,
        );
      }
      await sleep(Math.random() * 100 * attempt, undefined, { signal });
    }
  }

  function onlyRegistered(subject: string, found: SchemaStanding): number {
    if (found.state === 'registered') return found.id;
    const what =
      found.state === 'new'
        ? `the registry at ${url} has no subject ${subject}`
        : `none of the versions of ${subject} in the registry at ${url} is this schema`;
    const why = found.state === 'incompatible' ? `, and it cannot follow them: ${found.reason.problem}` : '';
    throw new HighwaterError('SCHEMA_UNREGISTERED', `${what}${why}`);
  }

  /** Sets the level before the first version, so that no version is accepted on a lower level. Some servers refuse it until then. */
  async function begin(subject: string): Promise<string> {
    begun.add(subject);
    await api.setLevel(subject, FULL_TRANSITIVE);
    return FULL_TRANSITIVE;
  }

  /** For a subject that exists. @returns its level from now on */
  async function holdToLevel(subject: string): Promise<string> {
    const level = await api.level(subject);
    if (level === FULL_TRANSITIVE) return level;
    const isToBeRaised = weakerLevel === 'raise' || begun.has(subject);
    if (isToBeRaised && (await api.setLevel(subject, FULL_TRANSITIVE))) {
      logger.info('compatibility level of a subject raised', { subject, from: level, to: FULL_TRANSITIVE });
      return FULL_TRANSITIVE;
    }
    if (warned.has(subject)) return level;
    warned.add(subject);
    logger.warn(`The registry holds ${subject} to ${level} only.`, {
      now: 'Highwater itself lets nothing incompatible through; another program could.',
      remedy: 'Set it to FULL_TRANSITIVE: `highwater schemas register` does.',
    });
    return level;
  }

  async function fetchSchema(id: number): Promise<AvroSchema> {
    const schema = await api.schemaById(id);
    if (schema !== null) return schema;
    throw new HighwaterError('SCHEMA_UNKNOWN', `the registry at ${url} has no schema with id ${id}`);
  }

  async function confirmId(id: number, schema: AvroSchema): Promise<void> {
    const since = confirmedAt.get(id);
    const now = performance.now();
    // The first time: the registry has just given it.
    if (since === undefined) confirmedAt.set(id, now);
    if (since === undefined || now - since < confirmEveryMs) return;
    const held = await api.schemaById(id, CONFIRM_MS).catch((error: unknown) => {
      if (error instanceof HighwaterError) return schema;
      throw error;
    });
    if (held === null || !isSame(held, schema)) {
      const instead = held === null ? 'has no schema with this id' : 'has another schema under this id';
      const what = `the registry at ${url} gave id ${id} for ${typeName(schema)} and now ${instead}`;
      throw new HighwaterError('SCHEMA_LOST', what);
    }
    confirmedAt.set(id, now);
  }

  return {
    isPartOfLog: false,
    clockAheadMs: () => aheadMs,
    register: rememberIds(register, logger),
    async inspect(subject, schema): Promise<SchemaStatus> {
      const found = await standing(subject, schema);
      return { ...found, level: found.state === 'new' ? null : await api.level(subject) };
    },
    schemaById(id) {
      const fetched = known.get(id) ?? fetchSchema(id);
      known.set(id, fetched);
      // A failed request is made again the next time.
      fetched.catch(() => known.delete(id));
      return fetched;
    },
    versions: (subject) => api.versions(subject),
    /** Looks as a consumer would: by id, and past the schemas that are known here. */
    async confirm(given) {
      await Promise.all([...given].map(([id, schema]) => confirmId(id, schema)));
    },
  };
}

/** Commits wait for it, in ms. */
const CONFIRM_MS = 2_000;

/** Whether values of both have the same bytes. */
function isSame(held: AvroSchema, own: AvroSchema): boolean {
  try {
    return forSchema(held).equals(forSchema(own));
  } catch {
    return false; // not an Avro schema
  }
}

type Register = (subject: string, schema: AvroSchema) => Promise<number>;

/** After no answer, the registry is not asked again for ids that it gave before: many subjects are looked up one by one. */
const NOT_ASKED_MS = 30_000;

/**
 * A feed is acquired again now and then, for example if another instance could not continue it. A registry that is down then must not
 * stop it, just as it does not stop a running feed. The ids that it gave this process are still valid, since ids never change their
 * meaning. Only unknown ids need the registry.
 */
function rememberIds(register: Register, logger: Logger): Register {
  const told = new Map<string, number>();
  let awayUntil = 0;
  return async (subject, schema) => {
    const asked = JSON.stringify([subject, schema]);
    const before = told.get(asked);
    if (before !== undefined && Date.now() < awayUntil) return before;
    try {
      const id = await register(subject, schema);
      told.set(asked, id);
      return id;
    } catch (error) {
      const isAway = error instanceof HighwaterError && error.code === 'REGISTRY_UNREACHABLE';
      if (before === undefined || !isAway) throw error;
      awayUntil = Date.now() + NOT_ASKED_MS;
      logger.warn('The schema registry gives no answer; the ids that it gave before are used.', {
        why: error.message,
        remedy: error.remedy,
      });
      return before;
    }
  };
}
