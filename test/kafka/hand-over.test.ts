import { cliPublisher } from '../support/cli-publisher';
import { kafkaWorld } from '../support/kafka-world';
import { startProxiedKafka } from '../support/proxied-kafka';
import { until } from '../support/until';

const kafka = kafkaWorld(startProxiedKafka, { registry: true });
const { api, publishing, start } = cliPublisher(kafka.env);

it('a commit that hangs does not keep the other feeds of a publisher that ends from their next owner', async () => {
  const env = { ...publishing(), HIGHWATER_FEEDS: 'ipos,analysts,insights' };
  const first = start(['run'], { ...env, KAFKA_BROKERS: kafka.server().brokers });
  await first.sees(/This instance has \w+, \w+, \w+\./, 'stderr');
  const second = start(['run'], env);
  const [, one, other] = await first.sees(/This instance has (\w+), (\w+);/, 'stderr');
  await first.sees(new RegExp(`${one}: (first )?snapshot complete`), 'stderr');

  let [isHanging, hasEnded] = [false, false];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  for (const api of ['EndTxn', 'InitProducerId'] as const)
    kafka.server().proxy.at({ api, where: 'request', every: 1 }, async ({ transactionalId }) => {
      if (transactionalId?.endsWith(one!)) {
        isHanging = true;
        await released;
      }
      return 'pass' as const;
    });
  api().marketDay.start(20);
  await until(() => isHanging);

  void first.ended().then(() => {
    hasEnded = true;
  });
  first.signal('SIGTERM');
  await second.sees(new RegExp(`This instance has [^.;]*${other}[^.;]*; \\S+ has ${one}`), 'stderr');
  expect(hasEnded).toBe(false);
  await second.sees(/This instance has \w+, \w+, \w+\./, 'stderr');
  release();
  await first.ended();
});
