import { Stryker } from '@stryker-mutator/core';
import { core } from './core.mjs';

// `--mutate <file>` names one module or several, divided by commas; all of the core without it.
const asked = process.argv.indexOf('--mutate');
const modules = asked === -1 ? Object.keys(core) : (process.argv[asked + 1] ?? '').split(',');

const score: string[] = [];
let killed = 0;
let all = 0;
for (const module of modules) {
  const suites = core[module];
  if (suites === undefined) throw new Error(`${module} is not one of the core: see tools/mutation/core.mts.`);
  const mutants = await new Stryker({
    mutate: [module],
    jest: { config: { testMatch: suites.map((suite) => `<rootDir>/${suite}`) } },
    jsonReporter: { fileName: `.cache/mutation/${module}.json` },
  }).runMutationTest();
  // Not those that are left out, nor those with which the module cannot even be loaded.
  const counted = mutants.filter(({ status }) => status !== 'Ignored' && status !== 'RuntimeError');
  const caught = counted.filter(({ status }) => status === 'Killed' || status === 'Timeout');
  killed += caught.length;
  all += counted.length;
  score.push(`${caught.length} of ${counted.length}  ${module}`);
  process.stdout.write(`${score.at(-1)}\n`);
}
const percent = (100 * killed) / all;
process.stdout.write(
  `\n${score.join('\n')}\n\n${killed} of ${all} mutants killed: ${percent.toFixed(1)} %\n`,
);
process.exitCode = percent < 90 ? 1 : 0;
