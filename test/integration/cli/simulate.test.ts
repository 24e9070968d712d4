import { commandsInFolder } from '../../support/cli';

const { start, here, done } = commandsInFolder();

it('serves an API that the printed commands can use, until Ctrl-C', async () => {
  const simulator = start('simulate --ipos 30 --analysts 5 --insights 5 --seed 3 --interval 1h'.split(' '));
  const [, settings = '', args = ''] = await simulator.sees(
    /(HIGHWATER_API_URL=.*) npx highwater (run .*)\n/,
  );
  const curls = [...simulator.stdout().matchAll(/curl (?:-g )?'(\S+)'/g)].map(([, url]) => url!);
  expect(curls).toHaveLength(3);
  for (const url of curls) {
    const answer = (await (await fetch(url)).json()) as Record<string, unknown[]>;
    expect(Object.values(answer)[0]!.length).toBeGreaterThan(0);
  }
  const pairs = settings.split(' ').map((one) => one.split('=') as [string, string]);
  const { code, err } = await done([...args.split(' '), '--once'], Object.fromEntries(pairs));
  expect([code, err]).toEqual([0, expect.stringMatching(/ipos: (first )?snapshot complete +records=30/)]);
  expect(await simulator.stop('SIGINT')).toEqual({ code: 0, signal: null });
});

it('names a port that is taken', async () => {
  const first = here(['simulate']);
  const [, port = ''] = await first.sees(/address +http:\/\/[\d.]+:(\d+)/);
  const { code, err } = await done(['simulate', '--port', port]);
  expect(code).toBe(1);
  expect(err).toContain(`port ${port} of 127.0.0.1 cannot be used: another program listens there`);
});

it('listens where it is told to, or names the address', async () => {
  const simulator = here(['simulate', '--host', '0.0.0.0']);
  const [, port = ''] = await simulator.sees(/address +http:\/\/0\.0\.0\.0:(\d+)/);
  expect((await fetch(`http://localhost:${port}/`)).status).toBe(404);
  const { code, err } = await done(['simulate', '--host', '192.0.2.1']);
  expect(code).toBe(1);
  expect(err).toContain('of 192.0.2.1 cannot be used: this machine does not have the address');
});
