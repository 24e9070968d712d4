import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Subject, topicsOf } from '../../src/avro/published-topics';
import {
  changelogOf,
  type HistoryStanding,
  historyFolder,
  historyStanding,
  versionFile,
} from '../../src/avro/registry/schema-history';
import { fullName } from '../../src/avro/schemas';
import { commandSchema, commandSubject } from '../../src/commands/command-record';
import { feedDefinitions } from '../../src/feeds';
import { commandsTopic } from '../../src/log/topics';

/** The subjects of all feeds that come with highwater, and of the command topic. */
export function keptSubjects(): Subject[] {
  const ofFeeds = feedDefinitions.flatMap((feed) => topicsOf(feed));
  return [...ofFeeds, { subject: commandSubject(commandsTopic('highwater', '')), schema: commandSchema }];
}

/** What keeps the history from having all of it, a line each; empty when it does. */
export function historyGaps(folder = historyFolder, subjects: readonly Subject[] = keptSubjects()): string[] {
  return subjects.flatMap((subject) => gap(subject, historyStanding(subject, folder)));
}

function gap({ subject, schema }: Subject, standing: HistoryStanding): string[] {
  switch (standing.state) {
    case 'kept':
      return [];
    case 'incompatible':
      return [`${subject} breaks with what was published: ${standing.reason.problem}`];
    case 'unexplained':
      return [`${standing.changelog} has no line for version ${standing.version} of ${fullName(schema)}`];
    case 'changed':
      return [
        `${subject} differs from version ${standing.latest ?? 0}, the latest in schemas/history: ` +
          'run `npm run generate -- --new-schema-version "what changed"`',
      ];
  }
}

/**
 * The files by which every schema that has changed becomes a version: full paths → texts.
 * @param what changed, for the changelog
 * @throws Error when a schema breaks with an earlier version
 */
export function newSchemaVersions(
  what: string,
  folder = historyFolder,
  subjects: readonly Subject[] = keptSubjects(),
): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const changelog = changelogOf(folder);
  let text = existsSync(changelog) ? readFileSync(changelog, 'utf8') : '';
  for (const { subject, schema } of subjects) {
    const standing = historyStanding({ subject, schema }, folder);
    if (standing.state === 'incompatible')
      throw new Error(`${subject} breaks with what was published: ${standing.reason.problem}`);
    if (standing.state !== 'changed') continue;
    const version = (standing.latest ?? 0) + 1;
    files.set(versionFile(folder, subject, version), `${JSON.stringify(schema, null, 2)}\n`);
    text = withLine(text, fullName(schema), `- ${version} – ${version === 1 ? 'first version' : what}`);
  }
  return files.size === 0 ? files : files.set(path.normalize(changelog), text);
}

/** The newest version stands first. A schema of several subjects has one section. */
function withLine(changelog: string, type: string, line: string): string {
  const heading = `## ${type}\n\n`;
  if (!changelog.includes(heading)) return `${changelog.trimEnd()}\n\n${heading}${line}\n`;
  const [before, after] = changelog.split(heading) as [string, string];
  return after.startsWith(`${line}\n`) ? changelog : `${before}${heading}${line}\n${after}`;
}
