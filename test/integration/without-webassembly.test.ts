import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { build } from '../support/build';

it('without WebAssembly, rows are parsed and checksums are the same', async () => {
  const dist = await build();
  const from = (name: string) => `require(${JSON.stringify(path.join(dist, name))})`;
  const program = `
    const { ipos } = ${from('feeds/ipos')};
    const schema = ${from('avro/schemas')}.readSchema(ipos.schema);
    const image = ${from('avro/codec/wire-type')}.wireType(schema, 7);
    const reader = ${from('transcoder/transcoder')}.createRowReader(ipos, schema, image);
    ${from('log/kafka/protocol/crc32c')}.crc32c().then((checksum) => {
      const isThere = typeof WebAssembly !== 'undefined';
      const sum = checksum(Buffer.from('1234'), Buffer.from('56789')).toString(16);
      console.log(JSON.stringify({ isThere, isRead: reader !== null, sum }));
    });`;
  const run = (...flags: string[]) =>
    JSON.parse(execFileSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' })) as unknown;
  // The check value of CRC-32C.
  const sum = 'e3069283';
  expect(run('--jitless')).toEqual({ isThere: false, isRead: false, sum });
  expect(run()).toEqual({ isThere: true, isRead: true, sum });
});
