import { HighwaterError } from '../../errors';
import type { Logger } from '../../logging/logger';
import type { AvroSchema } from './registry';

type Register = (subject: string, schema: AvroSchema) => Promise<number>;

/** Having given no answer once, the registry is not asked for that long about what it has told already: many subjects are asked for one by one. */
const NOT_ASKED_MS = 30_000;

/**
 * A feed is acquired again now and then, such as when another instance could not go on with it. A registry that is away then
 * must not stop it, as it does not stop a feed at work: what it has told this process still holds, for ids never change
 * their meaning. What it never told, it has to be asked for.
 */
export function rememberIds(register: Register, logger: Logger, now: () => number = Date.now): Register {
  const told = new Map<string, number>();
  let awayUntil = 0;
  return async (subject, schema) => {
    const asked = JSON.stringify([subject, schema]);
    const before = told.get(asked);
    if (before !== undefined && now() < awayUntil) return before;
    try {
      const id = await register(subject, schema);
      told.set(asked, id);
      return id;
    } catch (error) {
      const isAway = error instanceof HighwaterError && error.code === 'REGISTRY_UNREACHABLE';
      if (before === undefined || !isAway) throw error;
      awayUntil = now() + NOT_ASKED_MS;
      logger.warn('The schema registry gives no answer; the ids that it gave before are used.', {
        why: error.message,
        remedy: error.remedy,
      });
      return before;
    }
  };
}
