import { FULL_TRANSITIVE, type SchemaStatus } from '../../avro/registry/registry';
import { commandSchema, commandSubject } from '../../commands/command-record';
import type { Config } from '../../config/load-config';
import { errorKinds, HighwaterError } from '../../errors';
import { commandsTopic } from '../../log/topics';
import type { OpenRegistry } from '../log/open-log';
import { breaksIn, inspectAll, isHeld, type Judged, subjectsOf } from '../schemas';
import {
  type Check,
  type Checks,
  checked,
  failed,
  failedBy,
  forCommands,
  ok,
  okByClock,
  type Subject,
  skipped,
  warning,
} from './check';

type Inspected = Judged<SchemaStatus>;

/** The registry, and how each feed's schemas and that of commands stand in it. */
export async function* checkSchemas(config: Config, { registry, place }: OpenRegistry): Checks {
  const onlyLookedUp = config.schemaRegistry?.registration === 'lookup';
  let isAnswering = false;
  for (const [i, feed] of config.feeds.entries()) {
    const subject = { check: 'schemas', feed: feed.name };
    let inspected: Inspected[];
    try {
      inspected = await inspectAll(subjectsOf(feed, config.topicPrefix), registry);
    } catch (error) {
      const isDown = error instanceof HighwaterError && /^(REGISTRY|LOG)_/.test(error.code);
      if (!isDown || isAnswering) {
        yield failedBy(subject, error);
        continue;
      }
      yield failedBy('registry', error);
      for (const { name } of config.feeds.slice(i)) {
        yield skipped({ check: 'schemas', feed: name }, 'the registry cannot be used');
      }
      yield skipped('command-schema', 'the registry cannot be used');
      return;
    }
    if (!isAnswering) {
      yield config.schemaRegistry === null
        ? ok('registry', `kept in ${place}`)
        : okByClock('registry', `${place} answers`, registry.clockAheadMs?.() ?? null, "the registry's");
    }
    isAnswering = true;
    yield standing(subject, inspected, 'the first run');
  }
  const subject = commandSubject(commandsTopic(config.appId, config.topicPrefix));
  const check = async () => {
    const inspected = await inspectAll([{ subject, schema: commandSchema }], registry);
    return standing('command-schema', inspected, 'the first command');
  };
  yield forCommands(await checked('command-schema', check));

  /** @param registeredBy for people, what registers new schemas: `the first run` */
  function standing(subject: Subject, inspected: readonly Inspected[], registeredBy: string): Check {
    const incompatible = breaksIn(inspected);
    if (incompatible.length > 0) {
      const { remedy } = errorKinds.SCHEMA_INCOMPATIBLE;
      return failed(subject, incompatible.join('; '), remedy, 'SCHEMA_INCOMPATIBLE');
    }
    const fresh = inspected.filter((one) => one.standing.state !== 'registered').map((one) => one.subject);
    if (fresh.length > 0 && onlyLookedUp) {
      const remedy = 'Register them: `highwater schemas register`.';
      return failed(subject, `not registered: ${fresh.join(', ')}`, remedy, 'SCHEMA_UNREGISTERED');
    }
    const registered = inspected.flatMap((one) =>
      one.standing.state === 'registered' ? [`${one.subject} ${one.standing.version}`] : [],
    );
    const found = [
      registered.length === 0 ? null : `registered: ${registered.join(', ')}`,
      fresh.length === 0 ? null : `new, ${registeredBy} registers them: ${fresh.join(', ')}`,
    ]
      .filter((part) => part !== null)
      .join('; ');
    const weaker = inspected.filter((one) => !isHeld(one.standing)).map((one) => one.subject);
    if (weaker.length === 0) return ok(subject, found);
    const less = `held to less than ${FULL_TRANSITIVE}: ${weaker.join(', ')}`;
    return warning(subject, `${found}; ${less}`, 'Raise it: `highwater schemas register`.');
  }
}
