import { commandsTopic } from '../../src/log/topics';
import { kafkaWorld } from '../support/kafka-world';
import { deadline, readAll, record } from '../support/log-records';
import { startProxiedKafka } from '../support/proxied-kafka';

const kafka = kafkaWorld(startProxiedKafka);
const open = (brokers: string) => kafka.log({ brokers, topicPrefix: '' });

it.each(['request', 'answer'] as const)(
  'an append whose %s is lost is made all the same, or fails and can be made again; the order stays',
  async (where) => {
    const topic = commandsTopic('test', kafka.prefix());
    const log = open(kafka.server().brokers);
    await log.append(topic, [record(topic.name, 'ipos', '0', { timestamp: Date.now() })], deadline());
    const watch = kafka.server().proxy.cut({ api: 'Produce', where, every: 3 });
    for (let i = 1; i <= 12; i++) {
      const one = record(topic.name, 'ipos', `${i}`, { timestamp: Date.now() });
      for (let made = false; !made; )
        made = await log.append(topic, [one], deadline()).then(
          () => true,
          (error) => {
            expect(error).toMatchObject({ code: expect.stringMatching(/^(KAFKA_UNREACHABLE|LOG_FAILED)$/) });
            return false;
          },
        );
    }
    expect(watch.met()).toBeGreaterThanOrEqual(4);
    watch.remove();

    const values = (await readAll(open(kafka.brokers()), [topic.name])).map(({ value }) => Number(value));
    // One that was made again may be there twice.
    expect(values.filter((value, i) => value !== values[i - 1])).toEqual(
      Array.from({ length: 13 }, (_, i) => i),
    );
  },
);

it('an append that the brokers do not answer ends with the signal, and the next one finds its way', async () => {
  const topic = commandsTopic('test', kafka.prefix());
  const log = open(kafka.server().brokers);
  const say = (text: string) => [record(topic.name, 'ipos', text, { timestamp: Date.now() })];
  await log.append(topic, say('before'), deadline());
  kafka.server().proxy.freeze();
  const stop = new AbortController();
  const hanging = log.append(topic, say('meanwhile'), stop.signal);
  const behind = log.append(topic, say('behind'), deadline());
  stop.abort(new Error('enough'));
  await expect(hanging).rejects.toThrow('enough');
  kafka.server().proxy.thaw();
  await behind;

  const values = (await readAll(open(kafka.brokers()), [topic.name])).map(({ value }) => String(value));
  expect(values[0]).toBe('before');
  expect(values).toContain('behind');
});
