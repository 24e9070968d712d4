import { testFeed } from '../../support/feeds';
import { testPipeline } from '../../support/pipeline';
import { insight } from '../../support/records';

it('a group holds each record once, however often a snapshot shows it again', async () => {
  const pipeline = await testPipeline(testFeed('insights'));
  const rows = [insight({ id: 'a', updated: 1 }), insight({ id: 'b', updated: 2 })];
  pipeline.page(rows, { snapshot: true });
  const membersNow = () => {
    const [groups] = pipeline.state.begin().groups;
    const { symbol } = rows[0]!.security as { symbol: string };
    return [...groups!.members(`${symbol}|${rows[0]!.firm_id}`)].sort();
  };
  expect(membersNow()).toEqual(['a', 'b']);

  for (let i = 0; i < 3; i++) {
    const pending = pipeline.state.begin();
    pending.moveOffset({ snapshot: 'pending', snapshot_seq: pending.offset.seq });
    pending.settle();
    expect(pipeline.page(rows, { snapshot: true }).map(({ change }) => change.op)).toEqual(['r', 'r']);
    expect(membersNow()).toEqual(['a', 'b']);
  }
});
