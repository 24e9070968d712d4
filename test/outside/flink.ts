import { isDeepStrictEqual } from 'node:util';
import { type Flink, flinkProgram, guideStatements, query } from './flink-queries';
import { checkReset } from './flink-reset';
import { instead } from './guide';
import { pythonProgram } from './python';
import { count, judgeInPython, type KeyedValue } from './python-judge';
import type { Results } from './results';
import { publish } from './scenario';
import { type Servers, startServers } from './servers';

type Row = readonly unknown[];
type Json = Record<string, unknown>;

/**
 * Flink SQL with the statements of its guide over what the publisher wrote: each query ends with the table that the records
 * make, as another reader has them, and one that reads uncommitted records fails.
 * @param prefix of the topics; ends in a dot
 */
export async function checkFlink(folder: string, prefix: string, results: Results): Promise<void> {
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  const python = await pythonProgram();
  const flink = await flinkProgram(folder);
  results.ok('packages and programs are installed');
  const servers = await startServers();
  try {
    const { truthFile, writes } = await publish(servers, prefix, folder);
    results.ok(`a publisher was killed, ended and run once more while the API wrote ${writes} times`);
    say('A judge in Python (confluent-kafka, fastavro)');
    const reading = await judgeInPython(python, folder, { servers, prefix, truthFile });
    count(reading, results);
    say('Flink SQL');
    await checkQueries(flink, servers, prefix, reading.topics, results);
    await checkReset(flink, servers, prefix.replace(/\.$/, '-reset.'), results);
  } finally {
    await servers.stop(prefix.replace(/\.$/, ''));
  }
}

/** @param held records by topic */
export async function checkQueries(
  flink: Flink,
  servers: Servers,
  prefix: string,
  held: Readonly<Record<string, readonly KeyedValue[]>>,
  results: Results,
): Promise<void> {
  const guide = guideStatements(servers, prefix);
  const [ipos] = /^CREATE TABLE ipos \(.*?;$/ms.exec(guide)!;
  const other = instead(ipos, { 'TABLE ipos': 'TABLE uncommitted', read_committed: 'read_uncommitted' });
  const answers = await query(flink, `${guide}\n${other}\nSELECT id FROM uncommitted;\n`);
  const expected = tables(held);
  for (const { what, matches, rows } of expected) {
    const answer = answers.find(({ query }) => matches.test(query));
    const found = sorted(answer?.rows ?? []);
    const isSo = answer?.rows !== undefined && isDeepStrictEqual(found, sorted(rows));
    const text = `${what}: ${rows.length} rows after ${answer?.changes} changes`;
    results.check(isSo, text, [answer?.error ?? firstDifference(found, sorted(rows))]);
  }
  const uncommitted = answers.find(({ query }) => query.includes('uncommitted'));
  const isRefused = uncommitted?.error?.includes('deserialize') === true;
  const text = 'a query that reads uncommitted records fails on those of an aborted transaction';
  results.check(isRefused, text, [uncommitted?.error ?? `${uncommitted?.rows?.length} rows`]);
  const known = expected.length + 1;
  if (answers.length !== known) results.fail(`${answers.length} queries in the guide, ${known} looked at`);
}

/** The final table of each query of the guide. */
function tables(held: Readonly<Record<string, readonly KeyedValue[]>>) {
  const live = (feed: string) => {
    const latest = new Map(held[`${feed}.current`]!.map(({ key, value }) => [key, value as Json | null]));
    return [...latest.values()].filter((value) => value !== null);
  };
  const ipos = live('ipos');
  const statuses = new Map<unknown, number>();
  for (const { deal_status } of ipos) statuses.set(deal_status, (statuses.get(deal_status) ?? 0) + 1);
  const columns = [
    'id',
    'name',
    'deal_status',
    'offering_value',
    'shares_outstanding',
    'spac_converted_to_target',
    'lead_underwriters',
    'extra',
    'updated',
  ];
  return [
    { what: 'ipos by deal status', matches: /COUNT\(\*\)/, rows: [...statuses] },
    {
      what: 'all ipos, with lists and maps',
      matches: /^SELECT \* FROM ipos$/,
      rows: ipos.map((record) => columns.map((column) => record[column])),
    },
    {
      what: 'all insights, with nested records',
      matches: /FROM insights/,
      rows: live('insights').map(({ id, rating, security }) => [
        id,
        rating,
        (security as Json | null)?.symbol ?? null,
      ]),
    },
    {
      what: 'the table topic by upsert-kafka',
      matches: /FROM ipos_current/,
      rows: ipos.map(({ id, deal_status }) => [id, deal_status]),
    },
    {
      what: 'deal status changes',
      matches: /FROM deal_status_changes/,
      rows: held['ipos.deal-status']!.map(({ value }) => {
        const { event_id, id, previous_status, status } = value as Json;
        return [event_id, id, previous_status, status];
      }),
    },
  ];
}

function sorted(rows: readonly Row[]): string[] {
  return rows.map((row) => JSON.stringify(row.map(inOrder))).sort();
}

/** Members of a map come in any order. */
function inOrder(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

function firstDifference(found: readonly string[], expected: readonly string[]): string {
  const surplus = found.find((row) => !expected.includes(row));
  const missing = expected.find((row) => !found.includes(row));
  return `${found.length} rows, expected ${expected.length}; not expected: ${surplus}; missing: ${missing}`;
}
