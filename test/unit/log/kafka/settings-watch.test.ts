import { HighwaterError } from '../../../../src/errors';
import { watchSettings } from '../../../../src/log/kafka/ownership/settings-watch';
import { quietLogger } from '../../../support/source';
import { until } from '../../../support/until';

it('a look that fails changes nothing, and one at topics that are right again takes the mismatch back', async () => {
  let looks = 0;
  let found: () => number | null = () => 2_000;
  const verify = async () => {
    looks += 1;
    return found();
  };
  const watch = watchSettings({ verify, maxRecordBytes: 1_000, logger: quietLogger() }, 1);
  const findings = async (next: typeof found) => {
    found = next;
    const before = looks;
    // The look under way may have the earlier answer.
    await until(() => looks >= before + 3);
    return [watch.maxRecordBytes(), watch.mismatch()];
  };
  const fails = (error: Error) => () => {
    throw error;
  };
  const mismatch = new HighwaterError('LOG_TOPIC_MISMATCH', 'a topic is kept otherwise than is needed');
  expect(watch.maxRecordBytes()).toBe(1_000);
  expect(await findings(() => 2_000)).toEqual([2_000, null]);
  expect(await findings(fails(new HighwaterError('KAFKA_FORBIDDEN', 'no')))).toEqual([2_000, null]);
  expect(await findings(fails(new Error('closed')))).toEqual([2_000, null]);
  expect(await findings(() => null)).toEqual([2_000, null]);
  expect(await findings(fails(mismatch))).toEqual([2_000, mismatch]);
  expect(await findings(fails(new Error('closed')))).toEqual([2_000, mismatch]);
  expect(await findings(() => 3_000)).toEqual([3_000, null]);
  await watch.stop();
});
