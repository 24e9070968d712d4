import { ipos } from '../../src/feeds/ipos';
import { feedTopics } from '../../src/log/topics';
import { startKafka } from '../../tools/servers/kafka';
import { failureOf } from '../support/failure';
import { kafkaWorld } from '../support/kafka-world';

const kafka = kafkaWorld(() => startKafka({ properties: { 'transaction.max.timeout.ms': 5_000 } }));

it('brokers that end transactions sooner than the owner of a feed needs are named, with the setting', async () => {
  const acquired = kafka.log().acquire(feedTopics(ipos, kafka.prefix()), new AbortController().signal);
  expect(await failureOf(acquired)).toMatchObject({
    code: 'LOG_FAILED',
    message:
      'the brokers refuse a transaction that may be open for 10 s (INVALID_TRANSACTION_TIMEOUT): their transaction.max.timeout.ms is less than 10000',
    remedy: expect.stringMatching(/^Set transaction\.max\.timeout\.ms to 60000 or more/),
  });
});
