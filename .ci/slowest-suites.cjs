// Prints the 20 slowest suites of the reports that `jest --json` left in a folder, and, as the last line, how many tests
// passed and how many failed: `3210 0`. A suite that could not be run counts as a failed test.
const { readdirSync, readFileSync } = require('node:fs');
const path = require('node:path');

const folder = process.argv[2];
const reports = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')));

const suites = reports
  .flatMap(({ testResults }) => testResults)
  .map(({ name, startTime, endTime }) => ({
    name: path.relative(process.cwd(), name),
    seconds: (endTime - startTime) / 1000,
  }))
  .sort((a, b) => b.seconds - a.seconds);
console.log(`\n== the 20 slowest of ${suites.length} suites`);
for (const { name, seconds } of suites.slice(0, 20))
  console.log(`${seconds.toFixed(0).padStart(5)} s  ${name}`);

const sum = (count) => reports.reduce((total, report) => total + count(report), 0);
const passed = sum(({ numPassedTests }) => numPassedTests);
const failed = sum((report) => report.numFailedTests + report.numRuntimeErrorTestSuites);
// Both stages of tests must have left a report.
console.log(`\n${passed} ${failed + (2 - reports.length)}`);
