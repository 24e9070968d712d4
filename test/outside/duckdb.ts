import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Big from 'big.js';
import { startSimulator } from '../../src/simulator/simulator';
import { root } from '../support/build';
import { run } from './command';
import type { Step } from './run';
import { virtualEnvironment } from './virtual-environment';

const project = path.join(__dirname, 'duckdb');
const queries = path.join(root, 'examples', 'event-sourced-analytics', 'queries');
const RUN_MS = 120_000;

/** What DuckDB and pyarrow found: see `check_exports.py`. */
interface Found {
  readonly then: number;
  readonly differences: readonly number[];
  readonly types: Readonly<Record<string, string>>;
  readonly events: Readonly<Record<string, number>>;
  readonly observed: string;
  readonly prices: string;
  readonly csv: number;
  readonly ndjson: number;
  readonly pyarrow: Readonly<Record<string, number>>;
  readonly queries: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
}

interface Event {
  readonly op: string;
  readonly pt: string | null;
}

export const exportsInDuckDb: Step = {
  name: 'DuckDB and pyarrow read exports: types, every row, prices to the last digit, the table as of a moment, the queries of the example',
  async run() {
    const bin = await virtualEnvironment('duckdb', path.join(project, 'requirements.txt'));
    const folder = mkdtempSync(path.join(tmpdir(), 'highwater-duckdb-'));
    try {
      await publishAndExport(folder);
      const script = path.join(project, 'check_exports.py');
      const args = [script, folder, queries];
      const { code, stdout, stderr } = await run(path.join(bin, 'python'), args, { withinMs: RUN_MS });
      if (code !== 0) throw new Error(stderr);
      judge(JSON.parse(stdout) as Found, folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** A publisher in two rounds, and exports of the time between them and of all. */
async function publishAndExport(folder: string): Promise<void> {
  const simulator = await startSimulator({ records: { insights: 200, analysts: 20, ipos: 150 } });
  const env = {
    ...process.env,
    HIGHWATER_API_URL: simulator.url,
    HIGHWATER_API_TOKEN: simulator.token,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_DATA_DIR: path.join(folder, 'data'),
  };
  const highwater = async (line: string): Promise<void> => {
    const args = [path.join(root, 'dist', 'cli', 'main.js'), ...line.split(' ')];
    const { code, stderr } = await run(process.execPath, args, { env, cwd: folder, withinMs: RUN_MS });
    if (code !== 0) throw new Error(`highwater ${line}: ${stderr}`);
  };
  const publish = async (): Promise<void> => {
    for (let i = 0; i < 150; i++) simulator.marketDay.step();
    await highwater('run --once');
  };
  try {
    await highwater('run --once');
    await publish();
    const between = new Date().toISOString();
    await publish();
    await highwater('export ipos -o ipos.parquet');
    await highwater('export ipos -o ipos.csv');
    await highwater('export ipos -o ipos.ndjson');
    await highwater('export ipos.deal-status -o moves.parquet');
    await highwater('export insights.rating-changes --decimals -o calls.parquet');
    await highwater('export insights.rating-changes -o calls.ndjson');
    await highwater(`export ipos --until ${between} -o until.parquet`);
    await highwater(`export ipos --as-of ${between} -o then.parquet`);
  } finally {
    await simulator.stop();
  }
}

/** @throws Error that says what DuckDB found otherwise than it was published */
function judge(found: Found, folder: string): void {
  const events = (name: string) =>
    readFileSync(path.join(folder, name), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Event);
  const ipos = events('ipos.ndjson');
  const ops = Object.fromEntries(
    ['r', 'c', 'u'].map((op) => [op, ipos.filter((one) => one.op === op).length]),
  );
  const prices = events('calls.ndjson').reduce((sum, { pt }) => sum.plus(pt || 0), new Big(0));
  const moves = found.queries['moves-by-month']!.reduce((sum, row) => sum + Number(row.moves), 0);
  const { updated, price_min, lead_underwriters, insider_lockup_days, spac_converted_to_target } =
    found.types;
  const facts: readonly (readonly [what: string, found: unknown, expected: unknown])[] = [
    ['differences of the table as of a moment from a fold of the changes', found.differences, [0, 0]],
    ['records in it', found.then > 150, true],
    ['events', found.events, Object.fromEntries(Object.entries(ops).filter(([, count]) => count > 0))],
    ['rows of CSV and NDJSON', [found.csv, found.ndjson], [ipos.length, ipos.length]],
    ['rows in pyarrow', found.pyarrow['ipos.parquet'], ipos.length],
    [
      'files',
      Object.keys(found.pyarrow),
      readdirSync(folder)
        .filter((name) => name.endsWith('.parquet'))
        .sort(),
    ],
    ['sum of the prices', new Big(found.prices).eq(prices), true],
    ['moves', [moves > 50, moves], [true, found.pyarrow['moves.parquet']]],
    [
      'queries without rows',
      Object.keys(found.queries).filter((name) => found.queries[name]!.length === 0),
      [],
    ],
    ['type of observed_at', found.observed, 'TIMESTAMP WITH TIME ZONE'],
    [
      'types',
      [updated, price_min, lead_underwriters, insider_lockup_days, spac_converted_to_target],
      ['BIGINT', 'VARCHAR', 'VARCHAR[]', 'BIGINT', 'BOOLEAN'],
    ],
  ];
  const wrong = facts.filter(([, one, other]) => sorted(one) !== sorted(other));
  if (wrong.length > 0)
    throw new Error(
      wrong.map(([what, ...both]) => `${what}: ${both.map(sorted).join(' instead of ')}`).join('\n'),
    );
}

/** JSON, members of objects in a fixed order. */
function sorted(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
