import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { agoText } from '../../format/durations';
import { examineLocalLog, type LocalLogReport } from '../../log/local/examine';
import { type Check, type Checks, failed, failedBy, ok, skipped, warning } from './check';

const leastFreeMegabytes = 200;

/** The folder of the embedded log, the file in it, and who publishes there. Leaves no trace. */
export function* checkEmbeddedLog(dataDir: string): Checks {
  const folder = checkFolder(dataDir);
  yield folder;
  let report: LocalLogReport;
  try {
    report = examineLocalLog(dataDir);
  } catch (error) {
    yield failedBy('log-file', error);
    yield skipped('owner', 'the log cannot be read');
    return;
  }
  const { file, topics, owner, ownerRuns } = report;
  if (topics === null) {
    yield ok('log-file', `${file} is not there yet: the first run makes it`);
    yield ok('owner', 'nobody');
    return;
  }
  yield ok('log-file', `${file} can be read, ${topics.length} topics`);
  if (owner === null) {
    yield ok('owner', 'nobody');
    return;
  }
  const { instance, pid, host, since, feeds } = owner;
  const who = `${instance} (process ${pid} on ${host})`;
  const began = agoText(Date.now() - since);
  if (ownerRuns === false) yield ok('owner', `nobody: ${who}, which began ${began}, ended without a word`);
  else if (ownerRuns) yield ok('owner', `${who} publishes ${feeds.join(', ')}; it began ${began}`);
  else
    yield warning(
      'owner',
      `${who}, which began ${began} and cannot be seen from here`,
      'Look there whether it runs.',
    );
}

function checkFolder(dataDir: string): Check {
  const folder = nearestExisting(dataDir);
  const remedy = 'Make the folder writable for this user, or name another one (HIGHWATER_DATA_DIR).';
  try {
    if (!statSync(folder).isDirectory()) {
      return failed('data-folder', `${folder} is no folder`, remedy, 'LOG_UNWRITABLE');
    }
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return failed('data-folder', `${folder} cannot be written to (${code})`, remedy, 'LOG_UNWRITABLE');
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = Math.floor((bavail * bsize) / 1_048_576);
  if (free < leastFreeMegabytes) {
    const more = 'Free space on the disk, or name a folder on a larger one (HIGHWATER_DATA_DIR).';
    return warning('data-folder', `${dataDir} is writable, ${free} MB are free`, more);
  }
  const room = free < 10_240 ? `${free} MB` : `${Math.floor(free / 1024)} GB`;
  const made = folder === dataDir ? 'is writable' : 'will be made';
  return ok('data-folder', `${dataDir} ${made}, ${room} free`);
}

/** The first run makes what is missing. */
function nearestExisting(folder: string): string {
  let nearest = folder;
  while (!existsSync(nearest) && path.dirname(nearest) !== nearest) nearest = path.dirname(nearest);
  return nearest;
}
