interface Connection {
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
}

/** Where kafkajs makes the connections of one cluster. */
interface Connecting {
  disconnect(): Promise<void>;
  readonly connectionPoolBuilder: {
    build(...place: unknown[]): Promise<{ readonly pool: readonly Connection[] }>;
  };
}

/**
 * Has a cluster close every socket that it opens. kafkajs leaves sockets open in two cases, and they keep the process from ending:
 * - An unfinished call is tried again on a new connection after the cluster was disconnected.
 * - Requests that need the same new connection at the same time open a socket each, and only the last one is known.
 */
export function disconnectForGood(cluster: Connecting): void {
  const { connectionPoolBuilder: builder } = cluster;
  const [build, disconnect] = [builder.build.bind(builder), cluster.disconnect.bind(cluster)];
  let isOver = false;

  function guard(connection: Connection): void {
    const connect = connection.connect.bind(connection);
    const disconnect = connection.disconnect.bind(connection);
    let connecting: Promise<unknown> | null = null;
    connection.connect = async () => {
      assertNotOver();
      connecting ??= connect().finally(() => {
        connecting = null;
      });
      const connected = await connecting;
      if (isOver) await connection.disconnect();
      assertNotOver();
      return connected;
    };
    connection.disconnect = () => {
      connecting = null;
      return disconnect();
    };
  }

  function assertNotOver(): void {
    // This error counts as the end of a connection, so the caller tries again with the next cluster.
    if (isOver) throw new Error('Connection timeout: the connections of this cluster were closed');
  }

  builder.build = async (...place) => {
    const built = await build(...place);
    for (const connection of built.pool) guard(connection);
    return built;
  };
  cluster.disconnect = () => {
    isOver = true;
    return disconnect();
  };
}
