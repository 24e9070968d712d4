import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';

/**
 * Writes `highwater.yaml` with one feed of its own, which is enabled, and the schema of its records beside it.
 * @param schema as JSON
 * @param section of the feed; its path and its response key are its name, and it has no token, unless this says otherwise
 */
export function declareFeed(folder: string, name: string, schema: string, section: object): void {
  const usual = { auth: { scheme: 'none' }, path: `/${name}`, responseKey: name, schema: 'own.avsc' };
  writeFileSync(path.join(folder, usual.schema), schema);
  const settings = { enabledFeeds: [name], feeds: { [name]: { ...usual, ...section } } };
  writeFileSync(path.join(folder, 'highwater.yaml'), stringify(settings));
}
