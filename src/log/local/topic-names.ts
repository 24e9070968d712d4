import { existsSync } from 'node:fs';
import path from 'node:path';
import { hasTables } from './file-format';
import { attempt, connectReadOnly, prepare } from './sqlite';

/**
 * Names of the topics that the log in a folder holds, sorted; null while there is no log.
 * @throws HighwaterError LOG_*
 */
export function topicNames(dataDir: string): readonly string[] | null {
  const file = path.resolve(dataDir, 'highwater.db');
  if (!existsSync(file)) return null;
  return attempt(file, () => {
    const db = connectReadOnly(file, 5000);
    try {
      if (!hasTables(db, file)) return null;
      const rows = prepare(db, 'SELECT topic FROM topics ORDER BY topic').all() as [string][];
      return rows.map(([name]) => name);
    } finally {
      db.close();
    }
  });
}
