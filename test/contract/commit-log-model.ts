import fc from 'fast-check';
import { HighwaterError } from '../../src/errors';
import type { CommitLog, FeedTopics, ProducerRecord, TopicEnd } from '../../src/log/commit-log';
import { batch, byKey, deadline, plain, readAll, record, restored } from '../support/log-records';
import type { CommitLogHarness } from './commit-log';

interface ModelChange {
  readonly topic: 'changes' | 'current' | 'deadLetters';
  readonly key: string;
  readonly value: string | null;
}

type Step =
  | { readonly kind: 'restart' }
  | { readonly kind: 'keep' }
  | {
      readonly kind: 'commit' | 'fail and retry' | 'fail and drop';
      readonly changes: readonly ModelChange[];
    };

const change: fc.Arbitrary<ModelChange> = fc.record({
  topic: fc.constantFrom('changes', 'current', 'deadLetters'),
  key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  value: fc.option(fc.string({ maxLength: 4 }), { freq: 4 }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'keep' } as const) },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constantFrom('commit', 'commit', 'commit', 'fail and retry', 'fail and drop'),
      changes: fc.array(change, { maxLength: 8 }),
    }),
  },
);

export const steps = fc.array(step, { maxLength: 12 });

/** Takes the steps on the log and on a list, and compares the records that are read. @returns the log that is open at the end */
export async function runAgainstModel(
  sequence: readonly Step[],
  topics: FeedTopics,
  { harness, open }: { harness: CommitLogHarness; open(): Promise<CommitLog> },
): Promise<CommitLog> {
  const model: ProducerRecord[] = [];
  /** Images as they were, and the end that the topic then had. */
  const kept: { readonly end: TopicEnd; readonly images: Record<string, string> }[] = [];
  const images = () => latest(model.filter(({ topic }) => topic === topics.current.name));
  let log = await open();
  let session = await log.acquire(topics, deadline());

  for (const [i, step] of sequence.entries()) {
    if (step.kind === 'restart') {
      await log.close();
      log = await open();
      session = await log.acquire(topics, deadline());
      continue;
    }
    if (step.kind === 'keep') {
      const end = session.endOf(topics.current.name);
      // After a failure it may not be known.
      if (end !== null) kept.push({ end, images: images() });
      continue;
    }
    const records = step.changes.map(({ topic, key, value }) => record(topics[topic].name, key, value));
    const page = batch(session, topics, records, i);
    if (step.kind !== 'commit') {
      await harness.breakCommits();
      await expect(session.commit(page)).rejects.toBeInstanceOf(HighwaterError);
      await harness.mendCommits();
    }
    if (step.kind === 'fail and drop') continue;
    await session.commit(page);
    model.push(...page.records);
  }

  const changes = (await readAll(log, [topics.changes.name])).map(plain);
  expect(byKey(changes)).toEqual(byKey(model.filter(({ topic }) => topic === topics.changes.name)));
  for (const { name } of [topics.current, topics.deadLetters, topics.sourceOffset]) {
    expect(await restored(session, name)).toEqual(latest(model.filter(({ topic }) => topic === name)));
  }
  await session.release();
  session = await log.acquire(topics, deadline());
  for (const { end, images: before } of kept) {
    const after = await restored(session, topics.current.name, { end, images: before });
    expect(after).toEqual(images());
  }
  await session.release();
  return log;
}

function latest(records: readonly ProducerRecord[]): Record<string, string> {
  const values = new Map(records.map(({ key, value }) => [key, value]));
  return Object.fromEntries(
    [...values].flatMap(([key, value]) => (value === null ? [] : [[key, value.toString()]])),
  );
}
