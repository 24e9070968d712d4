import { existsSync, mkdtempSync, rmdirSync, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { errorKinds } from '../../errors';
import type { FeedProblem } from '../../feed-status/feed-status';
import { agoText } from '../../format/durations';
import { assertLockable, assertWhole, examineLocalLog, type LocalLogReport } from '../../log/local/examine';
import { networkOf } from '../../log/local/file/network-folder';
import { type Check, type Checks, checked, failed, failedBy, ok, skipped, warning } from './check';

const leastFreeMegabytes = 200;
/** A transaction may be as large: 8 MB of values, their keys, headers and indexes. */
const neededMegabytes = 16;

/** The folder of the embedded log, the file in it, and who publishes there. Leaves no trace. */
export async function* checkEmbeddedLog(dataDir: string): Checks {
  const folder = checkFolder(dataDir);
  yield folder;
  let report: LocalLogReport;
  try {
    report = examineLocalLog(dataDir);
    assertWhole(dataDir);
  } catch (error) {
    yield failedBy('log-file', error);
    yield skipped('owner', 'the log cannot be read');
    return;
  }
  const { file, topics } = report;
  if (topics === null) {
    yield ok('log-file', `${file} is not there yet: the first run makes it`);
  } else yield ok('log-file', `${file} can be read, ${topics.length} topics`);
  yield await checked('owner', () => checkOwner(report, dataDir));
}

function checkOwner({ owner, ownerRuns }: LocalLogReport, dataDir: string): Check {
  assertLockable(dataDir);
  if (owner === null) return ok('owner', 'nobody');
  const { instance, pid, host, since, feeds } = owner;
  const who = `${instance} (process ${pid} on ${host})`;
  const began = agoText(Date.now() - since);
  if (ownerRuns === false) return ok('owner', `nobody: ${who}, which began ${began}, ended without a word`);
  if (ownerRuns) return ok('owner', `${who} publishes ${feeds.join(', ')}; it began ${began}`);
  return warning(
    'owner',
    `${who}, which began ${began} and cannot be seen from here`,
    'Look there whether it runs.',
  );
}

function checkFolder(dataDir: string): Check {
  const folder = nearestExisting(dataDir);
  const refusal = statSync(folder).isDirectory() ? refusalOf(folder) : `${folder} is not a folder`;
  if (refusal !== null) {
    const remedy = 'Make the folder writable for this user, or name another one (HIGHWATER_DATA_DIR).';
    return failed('data-folder', refusal, remedy, 'LOG_UNWRITABLE');
  }
  const free = freeMegabytes(folder);
  if (free < leastFreeMegabytes) {
    const more = 'Free space on the disk, or name a folder on a larger one (HIGHWATER_DATA_DIR).';
    const found = `${dataDir} is writable, ${free} MB are free`;
    if (free >= neededMegabytes) return warning('data-folder', found, more);
    return failed('data-folder', `${found}, and ${neededMegabytes} MB are needed`, more, 'LOG_FULL');
  }
  const network = networkOf(folder);
  if (network !== null)
    return warning(
      'data-folder',
      `${dataDir} is on a network file system (${network}), on which SQLite may lose or damage records`,
      'Name a folder on a disk of this machine (HIGHWATER_DATA_DIR), or publish to Kafka.',
    );
  return ok('data-folder', foundWritable(dataDir, folder));
}

/** The folder for files of images. A publisher does without it. */
export function checkStateFolder(stateDir: string): Check {
  const folder = nearestExisting(stateDir);
  const refusal = refusalOf(folder);
  if (refusal === null) return ok('state-folder', foundWritable(stateDir, folder));
  return warning(
    'state-folder',
    `${refusal}, so that images take memory, about 1 KB for each record`,
    'Make the folder writable for this user, or name another one (HIGHWATER_STATE_DIR).',
  );
}

/** Null: it can be written to. By trying: a file system that has become read-only after an error still claims to be writable. */
function refusalOf(folder: string): string | null {
  try {
    rmdirSync(mkdtempSync(path.join(folder, '.highwater-doctor-')));
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The free space is looked at apart.
    return code === 'ENOSPC' ? null : `${folder} cannot be written to (${code})`;
  }
}

/** @param nearest the folder, or the one in which it will be made */
function foundWritable(folder: string, nearest: string): string {
  const free = freeMegabytes(nearest);
  const room = free < 10_240 ? `${free} MB` : `${Math.floor(free / 1024)} GB`;
  return `${folder} ${nearest === folder ? 'is writable' : 'will be made'}, ${room} free`;
}

/** Null: the disk has room for a publisher. */
export function fullDisk(dataDir: string): FeedProblem | null {
  const free = freeMegabytes(dataDir);
  if (free >= neededMegabytes) return null;
  const what = `On the disk of ${dataDir}, ${free} MB are free, and ${neededMegabytes} MB are needed.`;
  return { code: 'LOG_FULL', severity: 'bad', what, remedy: errorKinds.LOG_FULL.remedy };
}

function freeMegabytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return Math.floor((bavail * bsize) / 1_048_576);
}

/** The first run creates them. */
function nearestExisting(folder: string): string {
  let nearest = folder;
  while (!existsSync(nearest) && path.dirname(nearest) !== nearest) nearest = path.dirname(nearest);
  return nearest;
}
