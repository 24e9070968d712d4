import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { ipos } from '../../src/feeds/ipos';
import { openLocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import { batch, deadline, readAll, record } from '../support/log-records';
import { type PublisherProcess, startPublisher } from '../support/publisher-process';
import { tempFolder } from '../support/temp-folder';

describe('ownership of a data folder', () => {
  const folder = tempFolder();
  const started: PublisherProcess[] = [];
  const topics = feedTopics(ipos, '');

  async function start(options?: { feed?: string; batches?: number }): Promise<PublisherProcess> {
    const publisher = await startPublisher(folder(), options);
    started.push(publisher);
    return publisher;
  }

  afterEach(async () => {
    for (const publisher of started.splice(0)) await publisher.kill();
  });

  it('refuses a second process and names the first, its feeds and since when', async () => {
    const owner = await start({ feed: 'ipos' });

    const { refused } = await start({ feed: 'analysts' });

    expect(refused).toMatchObject({ code: 'LOG_OWNED' });
    expect(refused!.message).toContain(
      `belongs to the publisher of a test, process ${owner.pid} on ${hostname()}`,
    );
    expect(refused!.message).toMatch(/since \d{4}-\d\d-\d\dT.*Z \(ipos\)$/);
  });

  it('stays with a process that is merely stopped', async () => {
    const stopped = await start();
    stopped.signal('SIGSTOP');

    expect((await start()).refused).toMatchObject({ code: 'LOG_OWNED' });

    stopped.signal('SIGCONT');
  });

  it('lets go with the last feed that is released', async () => {
    const log = openLocalLog({ dataDir: folder() });
    const one = await log.commitLog.acquire(topics, deadline());
    const two = await log.commitLog.acquire(feedTopics({ ...ipos, name: 'b', topic: 'b' }, ''), deadline());
    await one.release();
    expect((await start()).refused).toMatchObject({ code: 'LOG_OWNED' });

    await two.release();

    expect((await start()).refused).toBeNull();
    await log.commitLog.close();
  });

  it('lets go when a feed cannot be acquired and no other is held', async () => {
    const log = openLocalLog({ dataDir: folder() });
    const clash = { ...topics, current: { ...topics.current, name: topics.changes.name } };
    await expect(log.commitLog.acquire(clash, deadline())).rejects.toMatchObject({
      code: 'LOG_TOPIC_MISMATCH',
    });

    expect((await start()).refused).toBeNull();
    await log.commitLog.close();
  });

  it('stays when a refused process of the same folder goes', async () => {
    const log = openLocalLog({ dataDir: folder() });
    await log.commitLog.acquire(topics, deadline());
    for (let i = 0; i < 2; i++) {
      const refused = openLocalLog({ dataDir: folder() });
      await expect(refused.commitLog.acquire(topics, deadline())).rejects.toMatchObject({
        code: 'LOG_OWNED',
        message: expect.stringContaining(`process ${process.pid} `),
      });
      await refused.commitLog.close();
    }

    expect((await start()).refused).toMatchObject({ code: 'LOG_OWNED' });
    await log.commitLog.close();
  });

  it('fences an owner whose lock was lost, by the epoch in the file', async () => {
    const log = openLocalLog({ dataDir: folder() });
    const session = await log.commitLog.acquire(topics, deadline());
    // On a network folder, or by hand: the lock no longer keeps anyone out.
    rmSync(path.join(folder(), 'publisher.lock'));
    await (await start({ feed: 'analysts' })).committed(0);

    const late = session.commit(batch(session, topics, [record('ipos', 'a', '1')]));

    await expect(late).rejects.toMatchObject({ code: 'LOG_FENCED' });
    expect(await readAll(log.commitLog, ['ipos'])).toStrictEqual([]);
    await log.commitLog.close();
  });

  it('leaves whole batches behind whenever the process is killed', async () => {
    for (let round = 0; round < 3; round++) {
      const publisher = await start({ feed: `feed-${round}`, batches: 100_000 });
      await publisher.committed(5 + 7 * round);
      await publisher.kill();
    }
    const log = openLocalLog({ dataDir: folder() });
    for (let round = 0; round < 3; round++) {
      const { changes, current, sourceOffset } = feedTopics(
        { ...ipos, name: `feed-${round}`, topic: `feed-${round}` },
        '',
      );
      const number = ({ value }: { value: Buffer | null }) => Number(value);
      const [offset] = (await readAll(log.commitLog, [sourceOffset.name])).map(number);
      const events = (await readAll(log.commitLog, [changes.name])).map(number);
      const images = (await readAll(log.commitLog, [current.name])).map(number);

      expect(offset).toBeGreaterThanOrEqual(5);
      expect(events).toEqual(Array.from({ length: offset! * 20 }, (_, i) => Math.floor(i / 20) + 1));
      expect(images).toEqual(Array(20).fill(offset));
    }
    await log.commitLog.close();
  });
});
