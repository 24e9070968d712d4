import { allSubjects, feedSubjects } from '../../avro/feed-subjects';
import { FULL_TRANSITIVE, type SchemaStatus } from '../../avro/registry/registry';
import { feedSchemas } from '../../avro/schemas';
import { commandSchema, commandSubject } from '../../commands/command-record';
import type { Config } from '../../config/load-config';
import { errorKinds, HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { commandsTopic, feedTopics } from '../../log/topics';
import type { OpenRegistry } from '../log/open-log';
import { isHeld } from '../schemas';
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

type Inspected = { readonly subject: string; readonly status: SchemaStatus };

/** The registry, and how each feed's schemas and that of commands stand in it. */
export async function* checkSchemas(config: Config, { registry, place }: OpenRegistry): Checks {
  const onlyLookedUp = config.schemaRegistry?.registration === 'lookup';
  let isAnswering = false;
  for (const [i, feed] of config.feeds.entries()) {
    const subject = { check: 'schemas', feed: feed.name };
    const inspected: Inspected[] = [];
    try {
      for (const { subject: name, schema } of subjectsOf(feed, config)) {
        inspected.push({ subject: name, status: await registry.inspect(name, schema) });
      }
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
    yield standing(subject, inspected, onlyLookedUp, 'the first run');
  }
  const subject = commandSubject(commandsTopic(config.appId, config.topicPrefix));
  const check = async () => {
    const status = await registry.inspect(subject, commandSchema);
    return standing('command-schema', [{ subject, status }], onlyLookedUp, 'the first command');
  };
  yield forCommands(await checked('command-schema', check));
}

function subjectsOf(feed: Feed, { topicPrefix }: Config) {
  return allSubjects(feedSubjects(feed, feedTopics(feed, topicPrefix), feedSchemas(feed)));
}

function standing(
  subject: Subject,
  inspected: readonly Inspected[],
  onlyLookedUp: boolean,
  registeredBy: string,
): Check {
  const incompatible = inspected.flatMap(({ subject: name, status }) =>
    status.state === 'incompatible' ? [`${name}: ${status.reason.problem}`] : [],
  );
  if (incompatible.length > 0) {
    const { remedy } = errorKinds.SCHEMA_INCOMPATIBLE;
    return failed(subject, incompatible.join('; '), remedy, 'SCHEMA_INCOMPATIBLE');
  }
  const fresh = inspected.filter(({ status }) => status.state !== 'registered').map((one) => one.subject);
  if (fresh.length > 0 && onlyLookedUp) {
    const remedy = 'Register them: `highwater schemas register`.';
    return failed(subject, `not registered: ${fresh.join(', ')}`, remedy, 'SCHEMA_UNREGISTERED');
  }
  const registered = inspected.flatMap(({ subject: name, status }) =>
    status.state === 'registered' ? [`${name} ${status.version}`] : [],
  );
  const found = [
    registered.length === 0 ? null : `registered: ${registered.join(', ')}`,
    fresh.length === 0 ? null : `new, ${registeredBy} registers them: ${fresh.join(', ')}`,
  ]
    .filter((part) => part !== null)
    .join('; ');
  const weaker = inspected.filter(({ status }) => !isHeld(status)).map((one) => one.subject);
  if (weaker.length === 0) return ok(subject, found);
  const less = `held to less than ${FULL_TRANSITIVE}: ${weaker.join(', ')}`;
  return warning(subject, `${found}; ${less}`, 'Raise it: `highwater schemas register`.');
}
