import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { configSchema } from '../../../src/cli/config';
import { deliverySettings } from '../../../src/config/deliveries';
import { feedSettings } from '../../../src/config/feeds/feed-settings';
import { settingKeys } from '../../../src/config/settings';
import { openLocalLog } from '../../../src/log/local/local-log';
import { exampleFile } from '../../../tools/generate/config-reference';
import { build, root } from '../../support/build';
import { changeWriter } from '../../support/change-writer';
import { commandsHere, jsonLines } from '../../support/cli';

const { file, done } = commandsHere();

const said = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => done(args, env);

function filesBelow(...places: readonly string[]): string[] {
  return places.flatMap((place) => {
    const whole = path.join(root, place);
    if (place.endsWith('.md')) return [whole];
    const found = readdirSync(whole, { recursive: true, encoding: 'utf8' });
    return found
      .filter((name) => !name.includes('node_modules') && /\.md$|(^|\/)highwater\.yaml$/.test(name))
      .map((name) => path.join(whole, name));
  });
}

describe('highwater config', () => {
  it('show has each setting with its value and where it comes from, and no secret', async () => {
    writeFileSync(file('highwater.yaml'), 'apiUrl: https://api.example\npollInterval: 2m\n');
    const env = { HIGHWATER_API_TOKEN: 'S3CRET-TOKEN', HIGHWATER_POLL_INTERVAL: '30s' };
    const { code, out } = await said(['config', 'show', '--json', '--app-id', 'desk'], env);
    expect(code).toBe(0);
    expect(out).not.toContain('S3CRET');
    const all = jsonLines<Record<string, unknown>>(out);
    expect(all.map(({ key }) => key)).toEqual(settingKeys);
    expect(all).toEqual(
      expect.arrayContaining([
        { key: 'apiUrl', value: 'https://api.example', from: 'highwater.yaml, line 1' },
        { key: 'apiToken', value: '(set, not shown)', from: 'HIGHWATER_API_TOKEN' },
        { key: 'pollInterval', value: 30_000, from: 'HIGHWATER_POLL_INTERVAL' },
        { key: 'appId', value: 'desk', from: '--app-id' },
        { key: 'dataDir', value: './data', from: 'default' },
        { key: 'apiTokenFile', value: null, from: 'default' },
      ]),
    );
    expect((await said(['config', 'show'], env)).out).toMatch(
      /^apiUrl +https:\/\/api\.example +highwater\.yaml, line 1$/m,
    );
  });

  it('show ends with the mistakes as any other command', async () => {
    const { code, err } = await said(['config', 'show'], { HIGHWATER_POLL_INTERVAL: 'soon' });
    expect([code, err]).toEqual([2, expect.stringContaining('pollInterval (HIGHWATER_POLL_INTERVAL)')]);
  });

  it('schema knows every setting and every setting of a feed, and nothing else', async () => {
    const schema = JSON.parse((await said(['config', 'schema'])).out);
    expect(schema).toEqual(configSchema());
    expect(Object.keys(schema.properties).sort()).toEqual([...settingKeys, 'feeds', 'deliveries'].sort());
    const feed = schema.properties.feeds.additionalProperties;
    expect(Object.keys(feed.properties).sort()).toEqual(Object.keys(feedSettings.shape).sort());
    const delivery = schema.properties.deliveries.additionalProperties;
    expect(Object.keys(delivery.properties).sort()).toEqual(Object.keys(deliverySettings.shape).sort());
    expect([schema, feed, delivery].map((one) => one.additionalProperties)).toEqual([false, false, false]);
    for (const key of exampleFile.matchAll(/^(\w+):/gm)) expect(schema.properties).toHaveProperty(key[1]!);
  });

  it('schema takes every highwater.yaml of the documents, the deployments and the examples', () => {
    const schema = z.fromJSONSchema(configSchema() as Parameters<typeof z.fromJSONSchema>[0]);
    const files = filesBelow('docs', 'deploy', 'examples', 'README.md');
    const samples = files.flatMap((file): [string, string][] => {
      const text = readFileSync(file, 'utf8');
      if (path.basename(file) === 'highwater.yaml') return [[file, text]];
      const blocks = file.endsWith('.md') ? [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)] : [];
      return blocks.flatMap(([, block = '']) => (/^(apiUrl|feeds):/m.test(block) ? [[file, block]] : []));
    });
    expect(samples.length).toBeGreaterThan(8);
    for (const [file, text] of [...samples, ['the example of docs/configuration.md', exampleFile]] as const)
      expect([file, schema.safeParse(parse(text)).error?.issues]).toEqual([file, undefined]);
    for (const wrong of ['pollIntervall: 5s', 'feeds: { ipos: { pth: /x } }', 'enabledFeeds: { ipos: yes }'])
      expect([wrong, schema.safeParse(parse(wrong)).success]).toEqual([wrong, false]);
  });
});

it('highwater feeds lists endpoints and topics, with the prefix', async () => {
  const env = { HIGHWATER_API_URL: 'https://api.example', HIGHWATER_TOPIC_PREFIX: 'p.' };
  const { code, out } = await said(['feeds', '--json', '--feeds', 'ipos'], env);
  expect([code, JSON.parse(out)]).toEqual([
    0,
    {
      feed: 'ipos',
      api: 'https://api.example',
      path: '/api/v2.1/calendar/ipos',
      poll_interval_ms: 60_000,
      topics: expect.arrayContaining(['p.ipos', 'p.ipos.deal-status', 'p.ipos.current']),
    },
  ]);
  expect((await said(['feeds'], env)).out).toMatch(
    /^insights +https:\/\/api\.example\/\S+ +60 s +p\.insights/m,
  );
});

it('highwater topics lists what the log has, and says by name that there is none', async () => {
  expect(await said(['topics'])).toMatchObject({ code: 1, err: expect.stringContaining('LOG_MISSING') });
  const { commitLog, registry } = openLocalLog({ dataDir: file('data') });
  const writer = await changeWriter({ commitLog, registry }, '');
  await writer.write({ id: 'a', status: 'Filed' });
  await writer.close();
  await commitLog.close();
  const { code, out } = await said(['topics', '--json']);
  expect(code).toBe(0);
  expect(out.split('\n')).toContain('{"topic":"ipos","feed":"ipos"}');
});

describe('highwater completion', () => {
  let dist: string;
  beforeAll(async () => {
    dist = await build();
  });
  const complete = (script: string, words: readonly string[]): string[] =>
    execFileSync('bash', [
      '-c',
      `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _highwater; printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      ...words,
    ])
      .toString()
      .trim()
      .split('\n');

  it('is what bash sources', () => {
    const line =
      'source <(node dist/cli/main.js completion bash); complete -p highwater; COMP_WORDS=(highwater re); COMP_CWORD=1; _highwater; declare -p COMPREPLY';
    const printed = execFileSync('bash', ['-c', line], { cwd: path.dirname(dist) }).toString();
    expect(printed.split('\n')).toEqual([
      expect.stringMatching(/^complete .*-F _highwater highwater$/),
      'declare -a COMPREPLY=([0]="resume" [1]="reset" [2]="reconcile" [3]="restore")',
      '',
    ]);
  });

  it('completes commands, their parts, their options and feeds in bash', async () => {
    const { out } = await said(['completion', 'bash']);
    expect(complete(out, ['highwater', 'sta'])).toEqual(['status']);
    expect(complete(out, ['highwater', 'schemas', 'ch'])).toEqual(['check']);
    expect(complete(out, ['highwater', 'status', '--js'])).toEqual(['--json']);
    expect(complete(out, ['highwater', 'dead-letters', 'list', '--js'])).toEqual(['--json']);
    expect(complete(out, ['highwater', 'pause', 'ip'])).toEqual(['ipos']);
  });

  it.each(['zsh', 'fish'])('names every command in %s', async (shell) => {
    const { code, out } = await said(['completion', shell]);
    expect(code).toBe(0);
    for (const name of ['run', 'tail', 'status', 'dead-letters', 'completion']) expect(out).toContain(name);
  });

  it('an unknown shell is refused', async () => {
    expect((await said(['completion', 'cmd'])).code).toBe(2);
  });
});
