import { disconnectForGood } from '../../../../src/log/kafka/final-disconnect';

/** A cluster with one connection, whose connecting ends when the test says so. */
async function clusterOf() {
  const opened: { succeed(): void; fail(): void }[] = [];
  const connection = {
    closed: 0,
    connect: () =>
      new Promise<boolean>((resolve, reject) => {
        opened.push({ succeed: () => resolve(true), fail: () => reject(new Error('refused')) });
      }),
    async disconnect() {
      connection.closed++;
    },
  };
  const cluster = {
    connectionPoolBuilder: { build: async () => ({ pool: [connection] }) },
    async disconnect() {},
  };
  disconnectForGood(cluster);
  await cluster.connectionPoolBuilder.build();
  return { cluster, connection, opened };
}

describe('connections of a cluster', () => {
  it('have one socket when two ask for it at once', async () => {
    const { connection, opened } = await clusterOf();
    const both = [connection.connect(), connection.connect()];
    expect(opened).toHaveLength(1);
    opened[0]!.succeed();
    expect(await Promise.all(both)).toEqual([true, true]);
  });

  it('are tried anew after a failure, which all who wait are told', async () => {
    const { connection, opened } = await clusterOf();
    const both = [connection.connect(), connection.connect()];
    opened[0]!.fail();
    for (const one of both) await expect(one).rejects.toThrow('refused');
    const again = connection.connect();
    expect(opened).toHaveLength(2);
    opened[1]!.succeed();
    expect(await again).toBe(true);
  });

  it('are closed again when they are there only after the end, and not made any more', async () => {
    const { cluster, connection, opened } = await clusterOf();
    const late = connection.connect();
    await cluster.disconnect();
    opened[0]!.succeed();
    await expect(late).rejects.toThrow('were closed');
    expect(connection.closed).toBe(1);
    await expect(connection.connect()).rejects.toThrow('were closed');
    expect(opened).toHaveLength(1);
  });
});
