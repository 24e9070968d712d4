import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import { NOT_KAFKA, TLS_EXPECTED } from '../tls-failure';

/** Each answer begins with its length: https://kafka.apache.org/protocol#protocol_common */
const LENGTH_BYTES = 4;
/** An answer also says which request it belongs to. A login of the oldest kind is answered by nothing but a length. */
const ID_BYTES = 4;
/** No request asks for so much. A longer length means that no broker answers there: the text "HTTP", read as a length, is 1.2 GB. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Hands out answers only once they have come in whole.
 *
 * kafkajs keeps the bytes of an unfinished answer on an object that it uses again for the next connection. When a
 * connection is cut in the middle of an answer, kafkajs takes the first bytes of the next connection for the rest of
 * it. That ends in an uncaught exception, or in waiting for a gigabyte (tulios/kafkajs#715). Here the unfinished bytes
 * are dropped with their socket. Listeners of `data` are called only for whole answers, so an unfinished answer does
 * not count as a sign of life either.
 */
export function wholeAnswers(factory: ISocketFactory): ISocketFactory {
  return (given) => {
    const socket = factory(given);
    const emit = socket.emit;
    const take = assembler(socket, (answer) => void Reflect.apply(emit, socket, ['data', answer]));
    socket.emit = function (this: Socket, ...args: unknown[]): boolean {
      if (args[0] !== 'data') return Reflect.apply(emit, this, args) as boolean;
      take(args[1] as Buffer);
      return true;
    } as Socket['emit'];
    return socket;
  };
}

/** Puts the pieces of a connection together. */
function assembler(socket: Socket, handOn: (answer: Buffer) => void): (piece: Buffer) => void {
  let pieces: Buffer[] = [];
  let have = 0;
  /** Length of the answer that is coming in; null: not known yet. */
  let length: number | null = null;

  return (piece) => {
    pieces.push(piece);
    have += piece.length;
    // kafkajs has ended this connection and may use the next one already: a late answer would be taken for one of that.
    while (!socket.destroyed && !socket.writableEnded && have >= LENGTH_BYTES + (length ?? 0)) {
      const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
      pieces = [bytes];
      if (length === null) {
        length = bytes.readInt32BE(0);
        if (isOfKafka(length)) continue;
        socket.destroy(foreignAnswer(bytes));
        return;
      }
      const end = LENGTH_BYTES + length;
      pieces = [bytes.subarray(end)];
      have -= end;
      length = null;
      handOn(bytes.subarray(0, end));
    }
  };
}

function isOfKafka(length: number): boolean {
  return length === 0 || (length >= ID_BYTES && length <= MAX_BYTES);
}

function foreignAnswer(bytes: Buffer): Error {
  // A TLS alert, from a broker that expects TLS and got something else.
  const code = bytes[0] === 0x15 && bytes[1] === 0x03 ? TLS_EXPECTED : NOT_KAFKA;
  return Object.assign(new Error(code), { code });
}
