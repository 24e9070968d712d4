import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CONFIG_VARIABLE } from '../../src/config/files/read-config-file';
import { settings } from '../../src/config/settings';
import { root } from '../support/build';

const unit = readFileSync(path.join(root, 'deploy', 'systemd', 'highwater.service'), 'utf8');
const all = (key: string) => [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!);

describe('deploy/systemd/highwater.service', () => {
  it('sets nothing but settings, and no secret', () => {
    const names = all('Environment').map((one) => one.split('=')[0]);
    expect(names).not.toEqual([]);
    const open = Object.values(settings).filter(({ secret }) => !secret);
    const known = [CONFIG_VARIABLE, 'MALLOC_MMAP_THRESHOLD_', ...open.map(({ env }) => env)];
    expect(known).toEqual(expect.arrayContaining(names));
  });

  it('runs as a user that systemd-sysusers makes, whom readers of the log can be', () => {
    const users = readFileSync(path.join(root, 'deploy', 'systemd', 'highwater.sysusers'), 'utf8');
    expect(all('User')).toEqual([/^u (\S+) /m.exec(users)?.[1]]);
    expect(all('DynamicUser')).toStrictEqual([]);
  });

  it('reads the token from the file that docs/deploy.md installs, and not from a copy that stays as it is', () => {
    const files = all('Environment').flatMap((one) => /^HIGHWATER_API_TOKEN_FILE=(.*)$/.exec(one)?.[1] ?? []);
    const page = readFileSync(path.join(root, 'docs', 'deploy.md'), 'utf8');
    const installed = [...page.matchAll(/^install -D -m 640 -g highwater api-token (\S+)/gm)].map(
      ([, file]) => file,
    );
    expect(files).toEqual(installed);
    expect(all('LoadCredential')).toStrictEqual([]);
  });
});
