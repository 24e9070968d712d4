import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { build } from '../../support/build';

it('where there is no WebAssembly, pages are parsed, and kafkajs encodes what is sent', async () => {
  const dist = await build();
  const from = (name: string) => `require(${JSON.stringify(path.join(dist, name))})`;
  const program = `
    const { ipos } = ${from('feeds/ipos')};
    const schema = ${from('avro/schemas')}.readSchema(ipos.schema);
    const image = ${from('avro/wire-type')}.wireType(schema, 7);
    const reader = ${from('transcoder/transcoder')}.createRowReader(ipos, schema, image);
    ${from('log/kafka/encoding-check')}.isEncodedAlike().then((isEncoded) => {
      console.log(JSON.stringify({ isThere: typeof WebAssembly !== 'undefined', isRead: reader !== null, isEncoded }));
    });`;
  const run = (...flags: string[]) =>
    JSON.parse(execFileSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' })) as unknown;
  expect(run('--jitless')).toEqual({ isThere: false, isRead: false, isEncoded: false });
  expect(run()).toEqual({ isThere: true, isRead: true, isEncoded: true });
});
