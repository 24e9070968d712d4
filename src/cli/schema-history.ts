import { statSync } from 'node:fs';
import type { Subject } from '../avro/feed-subjects';
import { type HistoryStanding, historyFolder, historyStanding } from '../avro/registry/schema-history';
import { fullName } from '../avro/schemas';
import { HighwaterError } from '../errors';
import { historyLine } from './lines/schema-line';
import type { CommandContext } from './process/command-context';
import { usageError } from './process/usage';

type Judged = Subject & { readonly standing: HistoryStanding };

/**
 * `schemas check --history`: each schema against the versions that are kept of it.
 * @throws HighwaterError SCHEMA_INCOMPATIBLE, SCHEMA_UNRECORDED, USAGE_INVALID
 */
export async function checkHistory(
  subjects: readonly Subject[],
  folder: string,
  isJson: boolean,
  context: CommandContext,
): Promise<number> {
  assertFolder(folder);
  const judged = subjects.map((subject) => ({ ...subject, standing: historyStanding(subject, folder) }));
  const subjectCells = Math.max(0, ...judged.map(({ subject }) => subject.length));
  for (const one of judged) {
    const { subject, standing } = one;
    await context.print(
      isJson ? jsonLine(one) : historyLine(subject, standing, { subjectCells, color: context.color }),
    );
  }
  refuse(judged, folder);
  return 0;
}

function refuse(judged: readonly Judged[], folder: string): void {
  const now = 'Nothing was changed.';
  const broken = judged.flatMap(({ subject, standing }) =>
    standing.state === 'incompatible' ? [`\n  ${subject}: ${standing.reason.problem}`] : [],
  );
  if (broken.length > 0) {
    const what = `not every version in ${folder} and these schemas can read each other:${broken.join('')}`;
    throw new HighwaterError('SCHEMA_INCOMPATIBLE', what, { now });
  }
  const missing = judged.flatMap(({ subject, schema, standing }) => {
    if (standing.state === 'changed') return [`\n  ${subject}: ${changed(standing.latest)}`];
    if (standing.state !== 'unexplained') return [];
    return [
      `\n  ${subject}: ${standing.changelog} has no line for version ${standing.version} of ${fullName(schema)}`,
    ];
  });
  if (missing.length === 0) return;
  throw new HighwaterError('SCHEMA_UNRECORDED', `the history does not have all of it:${missing.join('')}`);
}

function changed(latest: number | null): string {
  return latest === null
    ? 'no version of it is kept'
    : `it differs from version ${latest}, the latest that is kept`;
}

function assertFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  throw usageError(
    `--history: ${folder} is not a folder`,
    'Nothing was checked.',
    `Name a folder with <subject>/<version>.avsc, or leave it out to compare with the schemas that come with highwater (${historyFolder}).`,
  );
}

/** The contract of `--json` with `--history`: these members in this order. */
function jsonLine({ subject, schema, standing }: Judged): string {
  const { state } = standing;
  const version = 'version' in standing ? standing.version : state === 'changed' ? standing.latest : null;
  const reason = state === 'incompatible' ? standing.reason : null;
  return `${JSON.stringify({
    subject,
    type: fullName(schema),
    state,
    version,
    breaks: reason && { version: reason.version, field: reason.field, problem: reason.problem },
  })}\n`;
}
