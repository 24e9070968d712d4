import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

type Listener = (...given: unknown[]) => unknown;

/**
 * Ends a connection when one of its listeners throws, or returns a promise that is rejected. The requests that wait on that
 * connection fail, and kafkajs sends them again on another.
 *
 * The listeners are kafkajs's own, and some of them are async functions that nobody awaits. Without this, an error in them would be
 * an uncaught exception and end the process.
 */
export function guardedListeners(factory: ISocketFactory): ISocketFactory {
  return ({ onConnect, ...given }) => {
    const guarded =
      (listener: Listener): Listener =>
      (...args) => {
        try {
          const outcome = listener.apply(socket, args);
          if (outcome instanceof Promise) outcome.catch(end);
        } catch (error) {
          end(error);
        }
      };
    // A connection that has ended reports nothing more: a listener that fails each time would be called for ever.
    const end = (error: unknown): void => {
      socket.destroy(error instanceof Error ? error : new Error(String(error)));
    };
    const socket = factory({ ...given, onConnect: guarded(onConnect) });
    const on = socket.on;
    socket.on = function (this: Socket, event: string, listener: Listener): Socket {
      // Node finds a listener to take away by this member.
      return Reflect.apply(on, this, [event, Object.assign(guarded(listener), { listener })]) as Socket;
    } as Socket['on'];
    return socket;
  };
}
