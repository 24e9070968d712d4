import { unlessAborted } from '../../async/wait';
import { isUnreadable, recordDecoder } from '../../avro/codec/record-decoder';
import type { Config } from '../../config/load-config';
import { errorKinds, type HighwaterError } from '../../errors';
import type { FeedStatus } from '../../feed-status/feed-status';
import { feedTopics } from '../../log/topics';
import type { Logger } from '../../logging/logger';
import { openReader } from '../log/open-log';
import { explained, isUnexplained, type PublisherView, problemAtPublisher } from '../process/ask-publisher';
import { readStatus } from '../status';
import { type Check, type Checks, failed, failedBy, ok, skipped, warning } from './check';

/** How each feed stands by what its publisher has committed. Only what stands still until somebody acts is a failure. */
export async function* checkStatus(
  config: Config,
  logger: Logger,
  view: () => Promise<PublisherView | null>,
  signal: AbortSignal,
): Checks {
  const { feeds, kafka, topicPrefix } = config;
  const open = openReader(config, { logger, signal });
  const topicsOf = (name: string) => feedTopics(feeds.find((feed) => feed.name === name)!, topicPrefix);
  const { commitLog, registry } = open;
  try {
    const names = new Set(await unlessAborted(commitLog.topicNames(), signal));
    const isAnyStored = feeds.some(({ name }) => names.has(topicsOf(name).sourceOffset.name));
    // If no publisher has run yet, asking for the owners would create Kafka's topic of groups.
    if (!isAnyStored)
      for (const { name } of feeds) yield (await lostState(name, 0)) ?? ok(subjectOf(name), nothing);
    else {
      const all = await readStatus(config, open, signal);
      const doOthersRun = all.some(({ owner }) => owner !== null);
      for (const status of all) {
        const lost = (await lostState(status.feed, status.records)) ?? (await checkImages(status.feed));
        const known = isUnexplained(status) ? explained(status, await view()) : status;
        yield lost ?? statusCheck(known, doOthersRun);
      }
    }

    /** One of the two topics that hold a feed's state is gone. @param records as the source offset counts them; 0: there may be none */
    async function lostState(name: string, records: number): Promise<Check | null> {
      const { current, sourceOffset } = topicsOf(name);
      const lost =
        records > 0
          ? !names.has(current.name) &&
            `Topic ${current.name} is gone, and the source offset counts ${records} images.`
          : !names.has(sourceOffset.name) &&
            (await holdsImages(current.name)) &&
            `Topic ${current.name} holds images, and the topic ${sourceOffset.name} is gone.`;
      return lost === false
        ? null
        : failed(subjectOf(name), lost, errorKinds.STATE_DAMAGED.remedy, 'STATE_DAMAGED');
    }

    async function holdsImages(topic: string): Promise<boolean> {
      if (!names.has(topic)) return false;
      for await (const { value } of commitLog.read([topic], { fromBeginning: true, follow: false, signal }))
        if (value !== null) return true;
      return false;
    }
  } catch (error) {
    for (const { name } of feeds) yield failedBy(subjectOf(name), error);
  } finally {
    await commitLog.close();
  }

  /** @returns null if all images of the feed can be decoded; on Kafka they are not checked, because they would have to be fetched */
  async function checkImages(name: string): Promise<Check | null> {
    if (kafka !== null) return null;
    const topic = topicsOf(name).current.name;
    const decode = recordDecoder(registry);
    const damaged: HighwaterError[] = [];
    let images = 0;
    for await (const record of commitLog.read([topic], { fromBeginning: true, follow: false, signal })) {
      if (record.value === null) continue;
      images++;
      await decode(record).catch((error: unknown) => {
        if (!isUnreadable(error)) throw error;
        damaged.push(error);
      });
    }
    if (damaged.length === 0) return null;
    const found = `${damaged.length} of ${images} images cannot be decoded: ${damaged[0]!.message}`;
    return failed(subjectOf(name), found, errorKinds.STATE_DAMAGED.remedy, 'STATE_DAMAGED');
  }
}

/** Without the log: the state of the feeds according to the publisher on this machine. @param view null: it does not answer */
export function statusByPublisher({ feeds }: Config, view: PublisherView | null): Check[] {
  return feeds.map(({ name }) => {
    const subject = subjectOf(name);
    const problem = view === null ? null : problemAtPublisher(view, name);
    if (problem !== null) return warning(subject, problem.what, `Fix the log first. Then: ${problem.remedy}`);
    const found = view?.feeds?.[name];
    if (found === undefined) return skipped(subject, 'the log cannot be read');
    if (found.ready) return ok(subject, `up to date, says ${view!.url}`);
    return warning(subject, `${found.reason}, says ${view!.url}`, 'Fix the log first.');
  });
}

const nothing = 'nothing is committed yet';

function subjectOf(feed: string): { readonly check: string; readonly feed: string } {
  return { check: 'status', feed };
}

/** @param doOthersRun another feed of these settings has an owner, so this one does not just wait for a start */
function statusCheck(status: FeedStatus, doOthersRun: boolean): Check {
  const { feed, condition, reason, commit, problems } = status;
  const subject = subjectOf(feed);
  if (commit === 0 && condition === 'no-owner' && !doOthersRun) return ok(subject, nothing);
  // It is not a fault that nobody publishes before a start, and the owner has a check of its own.
  const [worst] = problems.filter(({ code }) => doOthersRun || code !== 'NO_OWNER');
  if (worst === undefined || (worst.severity === 'note' && condition !== 'paused'))
    return ok(subject, reason);
  const { what, remedy, code } = worst;
  const found = reason === what ? what : `${reason}: ${what}`;
  return condition === 'parked' || code === 'NO_ANSWER'
    ? failed(subject, found, remedy, code)
    : warning(subject, found, remedy);
}
