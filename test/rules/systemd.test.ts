import { readFileSync } from 'node:fs';
import path from 'node:path';
import { settings } from '../../src/config/settings';
import { root } from '../support/build';

const unit = readFileSync(path.join(root, 'deploy', 'systemd', 'highwater.service'), 'utf8');
const all = (key: string) => [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!);

describe('deploy/systemd/highwater.service', () => {
  it('sets nothing but settings, and no secret', () => {
    const names = all('Environment').map((one) => one.split('=')[0]);
    expect(names).not.toEqual([]);
    const open = Object.values(settings).filter(({ secret }) => !secret);
    expect(open.map(({ env }) => env as string)).toEqual(expect.arrayContaining(names));
  });

  it('hands over the credential that its variable names', () => {
    const credentials = all('LoadCredential').map((one) => one.split(':')[0]);
    const used = all('Environment').flatMap((one) => /=%d\/(.*)$/.exec(one)?.[1] ?? []);
    expect(used).toEqual(credentials);
  });
});
