import vm from 'node:vm';

const context = vm.createContext({ work: null });
const script = new vm.Script('work()');

/**
 * The result or error of a function. A function that does not end is ended, and fails: no timeout of jest reaches into a loop that
 * never awaits.
 */
export function inTime<T>(work: () => T, deadlineMs = 10_000): T {
  context.work = work;
  return script.runInContext(context, { timeout: deadlineMs }) as T;
}
