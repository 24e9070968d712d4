import type { CliProcess } from '../support/cli';
import { cliPublisher } from '../support/cli-publisher';
import { kafkaWorld } from '../support/kafka-world';
import { samplesOf } from '../support/metrics-text';
import { until } from '../support/until';

const kafka = kafkaWorld();
const { start } = cliPublisher(() => ({ ...kafka.env(), KAFKA_SESSION_TIMEOUT: '5s' }));

interface Ready {
  readonly ok: boolean;
  readonly feeds: Record<string, { readonly ready: boolean; readonly condition: string }>;
}

async function instance(): Promise<{
  process: CliProcess;
  conditions(): Promise<string[]>;
  page(path: string): Promise<string>;
}> {
  const process = start(['run', '--poll-interval', '5s', '--http-port', '0']);
  const [, url] = await process.sees(/Metrics at (http:\S+)\/metrics/, 'stderr');
  const page = async (path: string) => (await fetch(`${url}${path}`)).text();
  return {
    process,
    page,
    async conditions() {
      const { ok, feeds } = JSON.parse(await page('/readyz')) as Ready;
      expect(ok).toBe(Object.values(feeds).every(({ ready }) => ready));
      return ['ipos', 'analysts'].map((feed) => feeds[feed]!.condition);
    },
  };
}

const isShared = (conditions: readonly string[]) => [...conditions].sort().join() === 'standby,up-to-date';

it('instances that share feeds are ready, each says which it waits for, and who is left has all when one dies', async () => {
  const first = await instance();
  await until(async () => (await first.conditions()).every((one) => one === 'up-to-date'));
  const second = await instance();
  await until(async () => isShared(await first.conditions()) && isShared(await second.conditions()));
  expect(await first.conditions()).toEqual([...(await second.conditions())].reverse());

  // For each feed, one instance shows its owner's knowledge.
  const texts = await Promise.all([first.page('/metrics'), second.page('/metrics')]);
  for (const name of ['highwater_tracked_records', 'highwater_heartbeat_timestamp_seconds']) {
    const feeds = texts.flatMap((text) => samplesOf(text, name).map(({ labels }) => labels.feed));
    expect(feeds.sort()).toEqual(['analysts', 'ipos']);
  }
  expect(texts.map((text) => samplesOf(text, 'highwater_fenced_total').map(({ value }) => value))).toEqual([
    [0, 0],
    [0, 0],
  ]);

  first.process.signal('SIGKILL');
  await until(async () => (await second.conditions()).every((one) => one === 'up-to-date'));
  const owned = samplesOf(await second.page('/metrics'), 'highwater_feed_owned');
  expect(owned.map(({ value }) => value)).toEqual([1, 1]);
});
