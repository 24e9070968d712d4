import { painter } from './terminal/spans';

export interface DemoFacts {
  readonly url: string;
  readonly token: string;
  /** Address of the page; null: there is none. */
  readonly dashboard: string | null;
  readonly dataDir: string;
  readonly isTemporary: boolean;
  readonly color: boolean;
}

/** Describes the running demo. */
export function welcome({ url, dashboard, dataDir, isTemporary, color }: DemoFacts): string {
  const paint = painter(color);
  const page = dashboard === null ? '' : `\n  ${paint('Dashboard', 'bold')}   ${paint(dashboard, 'cyan')}\n`;
  return `
  ${paint('highwater demo', 'bold')}

  A simulated market data API runs at ${paint(url, 'cyan')}.
  Every second highwater reads what is new there, compares each record with
  its last image, and publishes what changed, once, to an embedded log in
  ${paint(dataDir, 'cyan')}${isTemporary ? ' (removed at the end)' : ''}.
${page}
  ${paint('First snapshot', 'bold')}
`;
}

/** Commands to try beside the demo, ready to paste. */
export function whatToTry({ url, token, dataDir, color }: DemoFacts): string {
  const paint = painter(color);
  const folder = shellWord(dataDir);
  const command = (text: string, what: string) => `    ${paint(`# ${what}`, 'dim')}\n    ${text}\n`;
  return `
  ${paint('Try in a second terminal', 'bold')}
${command(`npx highwater tail ipos.deal-status --data-dir ${folder}`, 'only status changes, as they happen')}${command(
  `npx highwater tail ipos --json --no-follow --from-beginning --limit 1 --data-dir ${folder}`,
  'one event with all its fields',
)}${command(
  `sqlite3 -readonly ${shellWord(`${dataDir}/highwater.db`)} 'SELECT topic, count(*) FROM records GROUP BY topic'`,
  'the log is one SQLite file',
)}${command(
  `curl '${url}/api/v2.1/calendar/ipos?token=${token}&pagesize=1'`,
  'what the API says',
)}${command(`HIGHWATER_DATA_DIR=${folder} node -e "${program}"`, 'a program of your own (docs/consumer.md)')}${command('HIGHWATER_API_URL=https://… HIGHWATER_API_TOKEN=… npx highwater run', 'the same with your API')}
  ${paint('Live', 'bold')}   ${paint('+ created', 'green')}   ${paint('~ updated', 'yellow')}   ${paint('⚠ ▲ ▼ events of their own', 'cyan')}   ${paint('Ctrl-C ends', 'dim')}

`;
}

const program = [
  "require('highwater/consumer').connect().consume(",
  "{ group: 'me', topics: ['ipos.deal-status'] }, ({ value }) => console.log(value.name, value.status))",
].join('');

export interface DemoCounts {
  readonly changes: Readonly<Record<string, number>>;
  readonly transitions: number;
}

/** One line at the end. */
export function farewell(
  { changes, transitions }: DemoCounts,
  { dataDir, isTemporary, color }: DemoFacts,
): string {
  const number = (count: number) => count.toLocaleString('en');
  const all = Object.values(changes).reduce((sum, count) => sum + count, transitions);
  const feeds = Object.entries(changes).map(([feed, count]) => `${number(count)} ${feed}`);
  const published = painter(color)(`${number(all)} events published`, 'bold');
  const kept = isTemporary ? '' : `  The log stays in ${dataDir}.\n`;
  return `\n  ${published}: ${feeds.join(', ')}, ${number(transitions)} transitions\n${kept}`;
}

function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
