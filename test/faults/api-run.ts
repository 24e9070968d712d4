import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { removeMembers } from '../../src/json/remove-members';
import { createRandom } from '../../src/simulator/random';
import { type ApiShape, startApi } from '../support/apis/api-server';
import { apiFeeds } from '../support/apis/feeds';
import type { Hostility } from '../support/apis/hostility';
import { judge } from '../support/judge/judge';
import { observe } from '../support/judge/observe';
import { describeVerdict, type Verdict } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';
import { DEADLINE_MS, until } from '../support/until';
import { type CliProcess, cliStarter } from './cli-process';
import type { PublisherLog } from './publisher-log';

/** A feed that reads one of the servers of `test/support/apis`. */
export interface ApiFeed {
  readonly shape: ApiShape;
  /** Name of the feed. */
  readonly feed: string;
  /** Folder of its `highwater.yaml` and schemas. The file names the vendor's address in `apiUrl`. */
  readonly folder: string;
  /** Variable that holds the token. */
  readonly tokenEnv: string;
  /** Placeholders in the file, and their values here. */
  readonly filledIn?: Readonly<Record<string, string>>;
  /** Members that the settings leave out. */
  readonly omit?: readonly string[];
}

export interface ApiRunOptions {
  readonly seed: number;
  readonly rows: number;
  readonly writes: number;
  readonly hostility: Partial<Hostility>;
  /** Empty. */
  readonly log: PublisherLog;
  /** Belongs to the test; the publishers run there. */
  readonly folder: string;
}

export interface ApiReport {
  /** By status; 0: cut off. */
  readonly answers: Readonly<Record<number, number>>;
  readonly writes: Readonly<Record<string, number>>;
  /** Exit code of the last publisher, ended by SIGTERM. */
  readonly exitCode: number | null;
  /** Output of the last publisher. */
  readonly output: string;
  readonly verdict: Verdict;
}

/**
 * Publishes a hostile API with the real program while its rows change, and kills it on the way. Then the API comes to rest, and a
 * reconcile deletes the records that are gone. Then the judge holds the log against all that the API ever showed.
 */
export async function runApi(of: ApiFeed, options: ApiRunOptions): Promise<ApiReport> {
  const { feed, shape } = of;
  const { seed, rows, hostility, log, folder } = options;
  const cli = await cliStarter();
  const api = await startApi(shape, { seed, rows, hostility });
  try {
    settingsFor(of, api.url, folder);
    const env = {
      [of.tokenEnv]: shape.token,
      HIGHWATER_POLL_INTERVAL: '100ms',
      HIGHWATER_REQUESTS_PER_SECOND: '1000',
      HIGHWATER_LOG_FORMAT: 'json',
      ...log.env,
    };
    const start = (...args: string[]): CliProcess => cli.start(args, { env, cwd: folder });
    const random = createRandom(seed);
    const writes: Record<string, number> = {};

    /** Writes a part of it while the publisher polls. */
    async function write(share: number, publisher: CliProcess): Promise<void> {
      const least = api.requests.length + 20;
      for (let i = 0; i < options.writes * share; i++) {
        const kind = api.store.write();
        writes[kind] = (writes[kind] ?? 0) + 1;
        const next = Date.now() + random.int(0, 20);
        await until(() => Date.now() >= next);
      }
      await until(() => publisher.hasExited() || api.requests.length >= least);
      if (publisher.hasExited()) throw new Error(`the publisher has ended: ${publisher.output()}`);
    }

    const hasSnapshot = (publisher: CliProcess) => async (): Promise<boolean> => {
      if (publisher.hasExited()) throw new Error(`the publisher has ended: ${publisher.output()}`);
      return (await log.read((seen) => observe(seen, [feed])))[feed]?.snapshot === 'complete';
    };

    // The first dies in the middle of its work, the second in the middle of a poll.
    const first = start('run');
    await write(0.3, first);
    await kill(first);
    const second = start('run');
    await until(hasSnapshot(second));
    await write(0.4, second);
    await kill(second);
    const last = start('run');
    await write(0.3, last);
    await until(hasSnapshot(last));

    api.calm();
    const calmAt = Date.now() + (hostility.lateMs ?? 0);
    await until(() => Date.now() > calmAt);
    // Something newer than all that is gone: a row at the very end is deleted only when the API shows that it does not lag.
    await until(() => Date.now() - calmAt > 1_100);
    api.behave({ lateMs: 0 });
    api.store.create();
    await reconciled(() => start('reconcile', feed, '--allow-deletes', '1000000', '--json'));
    last.signal('SIGTERM');
    const exitCode = await last.exited;

    const shown = api.store.truth();
    removeMembers([...shown.records.values(), ...shown.history.map(({ record }) => record)], of.omit ?? []);
    const truth = { [feed]: shown };
    const verdict = await log.read((seen) => judge(seen, truth));
    const answers: Record<number, number> = {};
    for (const { status } of api.requests) answers[status] = (answers[status] ?? 0) + 1;
    return { answers, writes, exitCode, output: last.output(), verdict };
  } finally {
    await cli.killAll();
    await api.stop();
  }
}

/** The files of the feed, with the server's address in the place of the vendor's. */
function settingsFor({ folder: from, filledIn = {} }: ApiFeed, url: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  cpSync(from, folder, { recursive: true });
  const file = path.join(folder, 'highwater.yaml');
  let text = readFileSync(file, 'utf8').replace(
    /^(\s*(?:apiUrl|tokenUrl): *)https?:\/\/[^/\s]+/gm,
    (_, key: string) => key + url,
  );
  for (const [blank, value] of Object.entries(filledIn)) text = text.replaceAll(blank, value);
  writeFileSync(file, text);
}

async function kill(publisher: CliProcess): Promise<void> {
  publisher.signal('SIGKILL');
  await publisher.exited;
}

/** Asks until it is done: the publisher may only just have acquired the feed. */
async function reconciled(start: () => CliProcess): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const asked = start();
    const timer = setTimeout(() => asked.signal('SIGKILL'), DEADLINE_MS);
    const code = await asked.exited;
    clearTimeout(timer);
    if (code === 0) return;
    if (attempt === 2) throw new Error(`the reconcile ended with ${code}: ${asked.output()}`);
  }
}

/**
 * A test for each server of `test/support/apis`, with its faults.
 * @param openLog the log of a publisher in this folder
 */
export function hostileApis(
  name: string,
  openLog: (folder: string) => Promise<PublisherLog & { stop(): Promise<void> }>,
): void {
  const folder = tempFolder();
  describe(`a publisher on ${name} of an API that is not ours, hostile, with kills`, () => {
    it.each(apiFeeds.map(({ of, hostility }) => [of.shape.name, of, hostility] as const))(
      '%s: ends with the rows that the API shows, and a chain of changes that leads there',
      async (_name, of, hostility) => {
        const data = path.join(folder(), 'data');
        const log = await openLog(data);
        const seed = Number(process.env.API_SEED ?? 1);
        const options = { seed, rows: 180, writes: 240, hostility, log, folder: data };
        const report = await runApi(of, options).finally(() => log.stop());
        expect(describeVerdict(report.verdict)).toBe('nothing to object to');
        expect([report.exitCode, report.answers[500]! > 0, report.answers[0]! > 0]).toEqual([0, true, true]);
        const { byOp, deadLetters } = report.verdict.feeds[of.feed]!;
        expect([byOp.r! > 0, byOp.c! > 0, byOp.u! > 0, byOp.d! > 0]).toEqual([true, true, true, true]);
        expect(deadLetters).toBe(0);
      },
    );
  });
}
