import { createRedactor } from '../secrets/redaction';
import { readConfigFile } from './files/read-config-file';
import type { LoadConfigInput } from './load-config';
import { configError, type Mistake } from './mistake';
import { concerns, findUnknown, readSettings } from './raw-settings';

/**
 * Host and port at which a publisher with the same settings answers on its own machine: `127.0.0.1:9464`. Other settings, right or
 * wrong, are not looked at.
 * @throws HighwaterError CONFIG_INVALID when it has no port, or any free one
 */
export function httpAddress(input: Omit<LoadConfigInput, 'definitions'>): string {
  const sources = { ...input, file: readConfigFile(input).file };
  const { values, origins, mistakes } = readSettings(sources);
  const wrong = [...sources.file.mistakes, ...findUnknown(sources), ...mistakes].filter((mistake) =>
    concerns(mistake, ['httpPort', 'httpHost']),
  );
  const { httpPort: port, httpHost: host } = values;
  if (wrong.length === 0 && !port) wrong.push(noPort(port, origins.get('httpPort')?.where ?? null));
  if (wrong.length > 0) throw configError(wrong, createRedactor([]));
  const asked = everywhere[host] ?? host;
  return `${asked.includes(':') ? `[${asked}]` : asked}:${port}`;
}

/** All addresses of a machine are none that can be asked. */
const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function noPort(port: number | null, where: string | null): Mistake {
  const problem =
    port === 0
      ? 'is any free port, expected the one to ask'
      : 'is not set, expected the port of the publisher in HIGHWATER_HTTP_PORT, --http-port, or highwater.yaml';
  return { key: 'httpPort', where, problem };
}
