import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { readText } from '../../bytes/read-text';
import { HighwaterError } from '../../errors';
import type { Subject } from '../published-topics';
import { fullName, schemaFolder } from '../schemas';
import { incompatibility, isSameSchema } from './compatibility';
import type { AvroSchema, Incompatibility, SchemaVersion } from './registry';

/** The versions of the schemas that come with highwater, `<subject>/<version>.avsc`. The changes: `CHANGELOG.md` beside it. */
export const historyFolder = path.join(schemaFolder, 'history');

/** How a schema relates to its kept versions. It must be compatible with all of them. */
export type HistoryStanding =
  /** It is the latest version, and the changelog has a line for it. */
  | { readonly state: 'kept'; readonly version: number }
  /** It may be the next version. @property latest null: no version is kept */
  | { readonly state: 'changed'; readonly latest: number | null }
  /** It is the latest version, but the changelog has no line for it. */
  | { readonly state: 'unexplained'; readonly version: number; readonly changelog: string }
  | { readonly state: 'incompatible'; readonly reason: Incompatibility };

/**
 * @param folder of versions; a subject without versions in it has the versions that come with highwater
 * @throws HighwaterError SCHEMA_INCOMPATIBLE naming the file when a version is not JSON
 */
export function historyStanding({ subject, schema }: Subject, folder = historyFolder): HistoryStanding {
  const own = keptVersions(folder, subject);
  const [place, versions] =
    own.length > 0 ? [folder, own] : [historyFolder, keptVersions(historyFolder, subject)];
  const reason = incompatibility(schema, versions);
  if (reason !== null) return { state: 'incompatible', reason };
  const latest = versions.at(-1);
  if (latest === undefined) return { state: 'changed', latest: null };
  const { version } = latest;
  if (!isSameSchema(schema, latest.schema)) return { state: 'changed', latest: version };
  const changelog = changelogOf(place);
  const type = fullName(schema);
  // Highwater's own types in a user's folder (dividends.source-offset-value) are described in highwater's changelog.
  const isOwed = place === historyFolder || !type.startsWith('highwater.');
  const isExplained = !isOwed || !existsSync(changelog) || explainedVersions(changelog, type).has(version);
  return isExplained ? { state: 'kept', version } : { state: 'unexplained', version, changelog };
}

/** All versions of a subject in a folder, ascending. */
function keptVersions(folder: string, subject: string): SchemaVersion[] {
  const ofSubject = path.join(folder, subject);
  if (!existsSync(ofSubject)) return [];
  const numbers = readdirSync(ofSubject).flatMap((name) => /^([1-9]\d*)\.avsc$/.exec(name)?.[1] ?? []);
  return numbers
    .map(Number)
    .sort((a, b) => a - b)
    .map((version) => ({ version, schema: readVersion(versionFile(folder, subject, version)) }));
}

export function versionFile(folder: string, subject: string, version: number): string {
  return path.join(folder, subject, `${version}.avsc`);
}

export function changelogOf(folder: string): string {
  return path.join(folder, '..', 'CHANGELOG.md');
}

/** The versions that have a line in the section of a type: `- 2 – what changed`. */
function explainedVersions(changelog: string, type: string): Set<number> {
  const sections = textOf(changelog).split(/^## /m);
  const section = sections.find((text) => text.split('\n')[0]!.trim() === type) ?? '';
  return new Set([...section.matchAll(/^- (\d+) [–-] \S/gm)].map(([, version]) => Number(version)));
}

function textOf(file: string): string {
  const read = readText(file);
  if ('text' in read) return read.text;
  throw new HighwaterError('USAGE_INVALID', `--history: ${file} cannot be read (${read.failure})`, {
    now: 'Nothing was checked.',
    remedy: 'Put a regular file in its place that this user may read.',
  });
}

function readVersion(file: string): AvroSchema {
  const text = textOf(file);
  try {
    return JSON.parse(text) as AvroSchema;
  } catch (error) {
    throw new HighwaterError('SCHEMA_INCOMPATIBLE', `${file} is not JSON: ${(error as Error).message}`, {
      now: 'Nothing was changed.',
      remedy: 'Restore the file: a version that was published does not change.',
      cause: error,
    });
  }
}
