/**
 * Keeps the environment, where the secrets are, out of the reports that Node.js writes when it was started to
 * (`--report-on-signal`, `--report-on-fatalerror`). A Node.js without an option for that writes no report of a fatal error, and the
 * report of a signal while the environment is empty.
 */
export function keepEnvironmentOutOfReports(): void {
  const report = process.report as NodeJS.ProcessReport & { excludeEnv?: boolean };
  if (report === undefined) return;
  if ('excludeEnv' in report) {
    report.excludeEnv = true;
    return;
  }
  report.reportOnFatalError = false;
  if (!report.reportOnSignal) return;
  report.reportOnSignal = false;
  process.on(report.signal, () => {
    const environment = { ...process.env };
    for (const name of Object.keys(environment)) delete process.env[name];
    try {
      report.writeReport();
    } finally {
      Object.assign(process.env, environment);
    }
  });
}
