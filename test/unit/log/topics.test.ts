import { insights } from '../../../src/feeds/insights';
import { ipos } from '../../../src/feeds/ipos';
import { allTopics, feedTopics } from '../../../src/log/topics';

describe('topics of a feed', () => {
  it('puts the prefix before every name', () => {
    expect(allTopics(feedTopics(ipos, 'staging.')).map(({ name }) => name)).toEqual([
      'staging.ipos',
      'staging.ipos.deal-status',
      'staging.ipos.current',
      'staging.ipos.dead-letters',
      'staging.ipos.source-offset',
    ]);
  });

  it('spreads what consumers read, and keeps the rest in one partition', () => {
    const topics = feedTopics(insights, '');
    expect(topics.changes).toEqual({ name: 'insights', partitions: 3, cleanup: 'delete' });
    expect(topics.current).toEqual({ name: 'insights.current', partitions: 3, cleanup: 'compact' });
    expect(topics.transitions).toEqual([
      { name: 'insights.rating-changes', partitions: 3, cleanup: 'delete' },
    ]);
    expect(topics.sourceOffset).toEqual({
      name: 'insights.source-offset',
      partitions: 1,
      cleanup: 'compact',
    });
    expect(topics.deadLetters).toEqual({
      name: 'insights.dead-letters',
      partitions: 1,
      cleanup: 'compact,delete',
    });
  });

  it('names the state by the feed where the changes go to a topic of another name', () => {
    const topics = feedTopics({ ...ipos, topic: 'calendar.ipos' }, '');
    expect(topics.changes.name).toBe('calendar.ipos');
    expect(topics.current.name).toBe('ipos.current');
  });

  it('lists a topic once that a transition shares with the changes', () => {
    const shared = { ...ipos, transitions: ipos.transitions.map((t) => ({ ...t, topic: 'ipos' })) };
    const topics = feedTopics(shared, '');
    expect(topics.transitions).toEqual([topics.changes]);
    expect(allTopics(topics).filter(({ name }) => name === 'ipos')).toHaveLength(1);
  });
});
