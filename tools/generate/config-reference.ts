import { deliverySettings } from '../../src/config/deliveries';
import { feedSettings } from '../../src/config/feeds/feed-settings';
import { type Setting, settings } from '../../src/config/settings';

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

/** `docs/configuration.md`. */
export function configReference(): string {
  return `# Configuration

The order of precedence is: flag, environment variable, \`highwater.yaml\`, default. The file is \`highwater.yaml\` in the
working directory, or the file that \`--config\` or \`HIGHWATER_CONFIG\` names. An empty variable counts as not set. If
settings are wrong, nothing is started, and the exit code is 2. All mistakes are reported at once, each with the place
where it was made.

\`highwater config show\` prints every setting and where its value comes from. \`highwater config schema\` prints a JSON
Schema, with which editors complete and check the file.

- **Durations** are written \`500ms\`, \`60s\`, \`5m\`, \`1h\`, and **sizes** \`512KiB\`, \`64MB\`.
- **Texts** in the file stay as they are written: \`0012\`, \`1.10\`, \`1e3\`, \`TRUE\` and \`2026-01-31\` need no quotes.
- **Empty values** in the file count as not set. Only settings of a feed that say so accept \`null\` or \`~\`. As a text,
  these need quotes.
- **Secrets** are never shown. A token or password has at least 4 characters, because a shorter value is part of
  ordinary words.
- **Files of tokens, passwords and certificates** are read again when they change, by publishers and by
  \`highwater/consumer\`. Everything else is read at the start.

## Settings

| key in the file | variable | flag | default | |
|---|---|---|---|---|
${Object.entries<Setting>(settings).map(settingRow).join('\n')}

## Feeds

\`feeds\` in the file has one section per feed. A section changes the settings of a feed that comes with highwater, or
defines a new feed. A new feed needs \`path\`, \`responseKey\` and \`schema\`. With the paging styles \`page\` and \`offset\` it
also needs \`page\`, \`pageSize\` and \`updatedSince\` under \`parameters\`. \`enabledFeeds\` says which feeds run. If every
enabled feed has its own \`apiUrl\` and token, the general ones are not needed. Feeds that share a host and a token share
one request budget.

| key | |
|---|---|
${Object.entries(feedSettings.shape)
  .map(([key, schema]) => `| \`${key}\` | ${cell(schema.unwrap().description ?? '')} |`)
  .join('\n')}

A change of address, path, \`headers\`, \`query\`, \`responseKey\`, \`beginAt\`, \`omit\` or \`ignore\` changes what the feed
watches (its scope).
Highwater notices the change, and records that are out of sight afterwards do not count as deleted.

## Deliveries

\`deliveries\` in the file has one section for each [delivery](deliver.md).

| key | |
|---|---|
${Object.entries(deliverySettings.shape)
  .map(([key, schema]) => `| \`${key}\` | ${cell(schema.description ?? '')} |`)
  .join('\n')}

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
