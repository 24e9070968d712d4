import { feedSettings } from './feed-settings';
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
`;

/** The page `docs/configuration.md`. */
export function configReference(): string {
  return `# Configuration

Flags go before environment variables, those before \`highwater.yaml\`, and that before the defaults. The file is
\`highwater.yaml\` in the working directory, or the one named by \`--config\`. An empty variable counts as not set. All
mistakes are reported at once, each with the place where it was made; then nothing is started, and the exit code is 2.

Durations are written \`500ms\`, \`60s\`, \`5m\`, \`1h\`; sizes \`512KiB\`, \`64MB\`. The values of secrets are never shown.

## Settings

| key in the file | variable | flag | default | |
|---|---|---|---|---|
${Object.entries<Setting>(settings).map(settingRow).join('\n')}

## Feeds

The section \`feeds\` of the file has one section per feed. It changes the settings of a feed that comes with highwater, or
defines a new one; a new one needs \`path\`, \`responseKey\`, \`schema\` and \`parameters\`. Which feeds run is set by
\`enabledFeeds\`.

| key | |
|---|---|
${Object.entries(feedSettings.shape)
  .map(([key, schema]) => `| \`${key}\` | ${cell(schema.unwrap().description ?? '')} |`)
  .join('\n')}

A change of address, path, \`query\` or \`responseKey\` changes what the feed watches (its scope). It is noticed, and records
that are out of sight then do not count as deleted.

## Example

\`\`\`yaml
${exampleFile}\`\`\`
`;
}

function settingRow([key, { env, flag, default: fallback, doc }]: [string, Setting]): string {
  const written = fallback === null || fallback === '' ? '' : `\`${fallback}\``;
  const option = flag === null ? 'none' : `\`${flag}\``;
  return `| \`${key}\` | \`${env}\` | ${option} | ${written} | ${cell(doc)} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
