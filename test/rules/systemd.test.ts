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
    const known = [CONFIG_VARIABLE, ...open.map(({ env }) => env)];
    expect(known).toEqual(expect.arrayContaining(names));
  });

  it('runs as a user that systemd-sysusers makes, whom readers of the log can be', () => {
    const users = readFileSync(path.join(root, 'deploy', 'systemd', 'highwater.sysusers'), 'utf8');
    expect(all('User')).toEqual([/^u (\S+) /m.exec(users)?.[1]]);
    expect(all('DynamicUser')).toStrictEqual([]);
  });

  it('hands over the credential that its variable names', () => {
    const credentials = all('LoadCredential').map((one) => one.split(':')[0]);
    const used = all('Environment').flatMap((one) => /=%d\/(.*)$/.exec(one)?.[1] ?? []);
    expect(used).toEqual(credentials);
  });
});
