import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readText } from '../../src/bytes/read-text';
import { loadConfig } from '../../src/config/load-config';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const inFolder = (name: string) => path.join(folder(), name);

function fifo(): string {
  execFileSync('mkfifo', [inFolder('pipe')]);
  return inFolder('pipe');
}

describe('a file that a person names', () => {
  it('is read behind symbolic links, as Kubernetes mounts a secret', () => {
    mkdirSync(inFolder('..2026_01_01'));
    writeFileSync(path.join(inFolder('..2026_01_01'), 'token'), 'T0KEN\n');
    symlinkSync('..2026_01_01', inFolder('..data'));
    symlinkSync('..data/token', inFolder('token'));
    expect(readText(inFolder('token'))).toEqual({ text: 'T0KEN\n' });
  });

  it('may be as large as 1 MiB', () => {
    writeFileSync(inFolder('large'), 'é'.repeat(524_288));
    expect(readText(inFolder('large'))).toEqual({ text: 'é'.repeat(524_288) });
    writeFileSync(inFolder('larger'), 'a'.repeat(1_048_577));
    expect(readText(inFolder('larger'))).toEqual({ failure: 'more than 1048576 bytes' });
  });

  it('is read where the system does not say its size', () => {
    expect(readText('/proc/self/status')).toEqual({ text: expect.stringMatching(/^Name:/) });
  });

  it.each([
    ['a device', () => '/dev/zero', 'a device, not a regular file'],
    ['a pipe that nobody writes to', fifo, 'a pipe, not a regular file'],
    ['a folder', folder, 'a folder, not a regular file'],
    ['nothing', () => inFolder('none'), 'ENOENT'],
  ])('is refused if it is %s', (_, file, failure) => {
    expect(readText(file())).toEqual({ failure });
  });

  it.each([
    'HIGHWATER_API_TOKEN_FILE',
    'HIGHWATER_HTTP_TOKEN_FILE',
    'KAFKA_SSL_CA_FILE',
    'KAFKA_SASL_PASSWORD_FILE',
    'config',
    'schema',
  ])('is refused by name if it is a pipe in place of %s', (place) => {
    fifo();
    writeFileSync(inFolder('of-schema.yaml'), 'feeds: {ipos: {schema: ./pipe}}');
    const config = place === 'config' ? './pipe' : place === 'schema' ? 'of-schema.yaml' : undefined;
    const env = { HIGHWATER_API_URL: 'https://api.example.com', [place]: './pipe' };
    const load = () => loadConfig({ flags: config === undefined ? {} : { config }, env, cwd: folder() });
    expect(load).toThrow(/pipe"?\)?:? cannot be read \(a pipe, not a regular file\)/);
  });
});
