// Answers questions about what has been replayed, by the SQL in queries/: a line each here, a chart each in a folder.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { charts } from './charts.mts';
import { openDatabase } from './database.mts';
import { draw } from './draw.mts';

const [file = 'analytics.db', folder = 'pictures'] = process.argv.slice(2);
const db = openDatabase(file);
mkdirSync(folder, { recursive: true });

for (const [name, chartOf] of Object.entries(charts)) {
  const sql = readFileSync(new URL(`queries/${name}.sql`, import.meta.url), 'utf8');
  const rows = db.prepare(sql).all() as never[];
  if (rows.length === 0) {
    console.log(`${name.padEnd(18)} nothing has happened yet`);
    continue;
  }
  const chart = chartOf(rows);
  const { svg, png } = await draw(chart);
  writeFileSync(join(folder, `${name}.svg`), svg);
  writeFileSync(join(folder, `${name}.png`), png);
  console.log(`${name.padEnd(18)} ${chart.title.text}`);
}
db.close();
