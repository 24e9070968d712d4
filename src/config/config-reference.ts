import { feedSettings } from './feeds/feed-settings';
import { type Setting, settings } from './settings';

/** An example that a test loads. */
export const exampleFile = `apiUrl: https://api.example.com
apiTokenFile: /run/secrets/api-token
pollInterval: 30s

feeds:
  # A setting of a feed that comes with highwater.
  insights:
    pollInterval: 2m
    query:
      symbols: AAPL,MSFT

  # A feed of your own. Its schema lies beside this file.
  dividends:
    path: /api/v2.1/calendar/dividends
    responseKey: dividends
    schema: dividend.avsc
    parameters:
      page: page
      pageSize: pagesize
      updatedSince: parameters[updated]

  # A feed from another API, which pages by a cursor.
  orders:
    apiUrl: https://shop.example.com/v1
    auth: { scheme: bearer, tokenFile: /run/secrets/shop-token }
    headers: { Accept-Version: "2" }
    path: /orders
    responseKey: data.orders
    parameters: { updatedSince: since, pageSize: limit }
    paging: { style: cursor, parameter: after, from: meta.next }
    schema: order.avsc
`;

/** The page `docs/configuration.md`. */
export function configReference(): string {
  return `# Configuration

Flags go before environment variables, those before \`highwater.yaml\`, and that before the defaults. The file is
\`highwater.yaml\` in the working directory, or the file named by \`--config\` or \`HIGHWATER_CONFIG\`. An empty variable
counts as not set. All mistakes are reported at once, each with the place where it was made; then nothing is started,
and the exit code is 2.

Durations are written \`500ms\`, \`60s\`, \`5m\`, \`1h\`; sizes \`512KiB\`, \`64MB\`. The values of secrets are never shown;
a token or password has at least 4 characters, since a shorter value is a part of ordinary words. Files of tokens,
passwords and certificates are read again when they change, by publishers and by \`highwater/consumer\`; everything
else is read at the start.

The file keeps each text as it is written: \`0012\`, \`1.10\`, \`1e3\`, \`TRUE\` and \`2026-01-31\` need no quotes. An empty
value is not set. \`null\` and \`~\` are accepted only by settings of a feed that say so; as a text they need quotes.

\`highwater config show\` prints every setting and where its value comes from. \`highwater config schema\` prints a JSON
Schema by which editors complete and check the file.

## Settings

| key in the file | variable | flag | default | |
|---|---|---|---|---|
${Object.entries<Setting>(settings).map(settingRow).join('\n')}

## Feeds

The section \`feeds\` of the file has one section per feed. It changes the settings of a feed that comes with highwater, or
defines a new one; a new one needs \`path\`, \`responseKey\` and \`schema\`, and with the paging styles \`page\` and \`offset\` also
\`page\`, \`pageSize\` and \`updatedSince\` of \`parameters\`. Which feeds run is set by \`enabledFeeds\`. The general \`apiUrl\` and
token are not needed when every enabled feed has its own. Feeds that share a host and a token share one request budget.

| key | |
|---|---|
${Object.entries(feedSettings.shape)
  .map(([key, schema]) => `| \`${key}\` | ${cell(schema.unwrap().description ?? '')} |`)
  .join('\n')}

A change of address, path, \`headers\`, \`query\` or \`responseKey\` changes what the feed watches (its scope). The
change is noticed, and records that are then out of sight do not count as deleted.

## Example

\`\`\`yaml
${exampleFile}\`\`\`
`;
}

function settingRow([key, { env, flag, default: fallback, doc }]: [string, Setting]): string {
  const written = fallback === null || fallback === '' ? '' : `\`${fallback}\``;
  const option =
    flag === null
      ? 'none'
      : flag.includes(' ')
        ? `\`${cell(flag)}\``
        : `\`${flag}\`, \`${flag.replace('--', '--no-')}\``;
  return `| \`${key}\` | \`${env}\` | ${option} | ${written} | ${cell(doc)} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
