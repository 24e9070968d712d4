#!/usr/bin/env node
import { workingDirectory } from '../config/files/working-directory';
import { HighwaterError } from '../errors';
import {
  endBySignal,
  keepEnvironmentOutOfReports,
  processInterruption,
  standardOutput,
  takeProcessWarnings,
} from './process/this-process';
import { writeError } from './terminal/terminal';

const exitAnywayAfterMs = 1_000;

async function main(): Promise<number> {
  keepEnvironmentOutOfReports();
  takeProcessWarnings();
  const { argv, env, stderr } = process;
  let cwd: string;
  try {
    cwd = workingDirectory();
  } catch (error) {
    if (!(error instanceof HighwaterError)) throw error;
    return writeError(error, { stderr, env });
  }
  // Loaded after the check: some libraries ask for the working directory while they are loaded, and fail without a code.
  const { runProgram } = await import('./program.js');
  return runProgram({
    args: argv.slice(2),
    env,
    cwd,
    stdout: standardOutput(),
    stderr,
    // Node.js opens it when it is first looked at.
    stdin: () => process.stdin,
    interruption: processInterruption,
  });
}

void main().then((code) => {
  if (code > 128) endBySignal(code);
  else process.exitCode = code;
  // All is closed by now and the process ends by itself; what lingers, such as a reader that stands still, must not hold it up.
  setTimeout(() => process.exit(), exitAnywayAfterMs).unref();
});
