const { availableParallelism } = require('node:os');

const suites = {
  testEnvironment: 'node',
  // Each look at a global of a suite's own context goes through an interceptor of node:vm: not so for those that are used most.
  sandboxInjectedGlobals: ['Math', 'Object', 'Array', 'JSON'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
    // ES modules, which Jest cannot load as they are.
    '/node_modules/hyparquet.*\\.js$': ['@swc/jest', { module: { type: 'commonjs' } }],
  },
  transformIgnorePatterns: ['/node_modules/(?!hyparquet)'],
};

/** @type {import('jest').Config} */
module.exports = {
  projects: [
    {
      ...suites,
      displayName: 'local',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/test/kafka/'],
    },
    {
      ...suites,
      displayName: 'kafka',
      testMatch: ['<rootDir>/test/kafka/**/*.test.ts'],
      // The Kafka and the registry of these suites: nothing is started before one of them asks.
      globalSetup: '<rootDir>/test/support/jest-setup.ts',
      globalTeardown: '<rootDir>/test/support/jest-teardown.ts',
    },
  ],
  // Every wait for a process or a server has its own, shorter deadline (`test/support/until.ts`).
  testTimeout: 900_000,
  // Suites wait for processes and brokers more than they compute.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
};
