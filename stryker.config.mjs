import os from 'node:os';
import path from 'node:path';
import jest from './jest.config.cjs';

const [{ displayName: _, ...suites }] = jest.projects;

// Of `npm run test:mutation`: tools/mutation/main.mts adds what is mutated, and which suites have to notice.
export default {
  testRunner: 'jest',
  jest: {
    projectType: 'custom',
    // Each run names its suites; finding those that merely import the module would cost more than it could tell.
    enableFindRelatedTests: false,
    // Without `projects: []`, each suite would run once for each project of jest.config.cjs.
    config: {
      ...suites,
      projects: [],
      roots: ['<rootDir>/src', '<rootDir>/test'],
      testTimeout: jest.testTimeout,
    },
  },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  // A process keeps the WebAssembly memory of every run.
  maxTestRunnerReuse: 40,
  timeoutMS: 20_000,
  dryRunTimeoutMinutes: 20,
  plugins: ['@stryker-mutator/jest-runner', './tools/mutation/ignore-prose.mjs'],
  ignorers: ['prose'],
  ignorePatterns: ['*', '!src/**', '!test/**', '!tools/**', '!schemas/**', '!docs/**', '!*.json', '!*.cjs'],
  disableTypeChecks: false,
  // Not within the project: a jest that runs there meanwhile would find each package twice.
  tempDirName: path.join(os.tmpdir(), 'highwater-mutation'),
  reporters: ['clear-text', 'json'],
  clearTextReporter: { allowColor: false, reportTests: false, reportScoreTable: false },
};
