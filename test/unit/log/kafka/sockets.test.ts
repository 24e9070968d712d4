import { socketFactory } from '../../../../src/log/kafka/connection/guards/sockets';
import { startHttpServer } from '../../../support/http-server';

it('a connection that is ended for each failed request has no more listeners than one that is ended once', async () => {
  const server = await startHttpServer((_, response) => response.end());
  try {
    const { hostname: host, port } = new URL(server.url);
    const socket = socketFactory(() => null)({ host, port: Number(port), ssl: {}, onConnect() {} } as never);
    socket.destroy();
    socket.unref();
    const once = socket.listenerCount('connect');
    for (let times = 1; times < 20; times++) socket.unref();
    expect(socket.listenerCount('connect')).toBe(once);
  } finally {
    await server.stop();
  }
});
