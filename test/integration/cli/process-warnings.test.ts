import { writeFileSync } from 'node:fs';
import { commandsInFolder } from '../../support/cli';

const { file, start } = commandsInFolder();

/** @returns what a program says that warns, before it has a logger and after that */
async function said(format: string, args: readonly string[]): Promise<string> {
  const warns = file('warns.cjs');
  writeFileSync(
    warns,
    "process.emitWarning('early'); setInterval(() => process.emitWarning('late', 'MaxListenersExceededWarning'), 50).unref();",
  );
  const env = {
    HIGHWATER_API_URL: 'http://127.0.0.1:1',
    HIGHWATER_API_TOKEN: 'token-of-the-test',
    HIGHWATER_LOG_FORMAT: format,
    NODE_OPTIONS: `--require ${warns}`,
  };
  const program = start(args, env);
  await program.ended();
  return program.stderr();
}

it('a warning of Node.js is a line of the JSON log, also one that comes before there is a log', async () => {
  const lines = (await said('json', ['run', '--once', '--feeds', 'ipos'])).trim().split('\n');
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ message }) => /Node\.js/.test(message));
  expect(warnings[0]).toMatchObject({ level: 'warn', message: 'Node.js warns: Warning: early' });
  expect(warnings[1]).toMatchObject({ message: 'Node.js warns: MaxListenersExceededWarning: late' });
});

it('a command without a log prints warnings at its end', async () => {
  expect(await said('pretty', ['explain', 'LOG_FULL'])).toContain('Node.js warns: Warning: early\n');
});
