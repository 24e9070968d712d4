import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { ISocketFactoryArgs } from 'kafkajs';
import { bootstrap } from '../../../../src/log/kafka/connection/bootstrap';

/** Three addresses, and a clock that goes on by one with each look. */
function three() {
  let time = 0;
  const begins = bootstrap(['a:1', 'b:1', 'c:1'], () => time++);
  const factory = begins.watched(() => new EventEmitter() as Socket);
  return {
    next: async () => (await begins.next()).join(),
    /** Something comes from the address. */
    hear: (host: string) =>
      void factory({ host, port: 1 } as ISocketFactoryArgs).emit('data', Buffer.alloc(1)),
  };
}

it('goes through the addresses in their order, again and again, while none answers', async () => {
  const { next } = three();
  const begun: string[] = [];
  for (let i = 0; i < 7; i++) begun.push(await next());
  expect(begun).toEqual(['a:1', 'b:1', 'c:1', 'a:1', 'b:1', 'c:1', 'a:1']);
});

it('stays with the one that answers', async () => {
  const { next, hear } = three();
  await next();
  expect(await next()).toBe('b:1');
  hear('b');
  for (let i = 0; i < 4; i++) {
    expect(await next()).toBe('b:1');
    hear('b');
  }
});

it('leaves one that answers no more for one that was heard since, and then for one that was not', async () => {
  const { next, hear } = three();
  hear('a');
  hear('c');
  hear('b');
  expect([await next(), await next(), await next()]).toEqual(['b:1', 'c:1', 'a:1']);
  hear('c');
  expect([await next(), await next()]).toEqual(['c:1', 'b:1']);
});

it('takes no notice of addresses that it was not given', async () => {
  const { next, hear } = three();
  hear('elsewhere');
  expect(await next()).toBe('a:1');
});

it('gives kafkajs no colon in a host, and sockets the IPv6 address', async () => {
  const begins = bootstrap(['[2001:db8::a1]:9092']);
  const [given = ''] = await begins.next();
  const [host = '', port] = given.split(':');
  expect(given.split(':')).toHaveLength(2);
  const hosts: string[] = [];
  const factory = begins.watched((of) => {
    hosts.push(of.host);
    return new EventEmitter() as Socket;
  });
  factory({ host, port: Number(port) } as ISocketFactoryArgs);
  expect(hosts).toEqual(['2001:db8::a1']);
});
