import type { Command, Facts, Outcome } from '../../commands/command';
import type { CommandContext } from '../process/command-context';
import type { ProgressScreen } from '../progress/progress-screen';
import { operationText } from '../progress/progress-text';
import { harmless, wrapped } from '../terminal/cells';

/** Shows the progress and the outcome of a command. */
export interface OperationReport {
  readonly accepted: (owner: string) => void;
  /** No publisher has the feed, so this process acquires it. */
  readonly acting: () => void;
  readonly progress: (summary: string, facts: Facts) => void;
  /** @returns exit code @throws the error of a command that failed */
  outcome(outcome: Outcome): Promise<number>;
}

/** The contract of `--json`: one object a line, with these members in this order. */
interface ReportLine {
  readonly kind: 'accepted' | 'acting' | 'progress' | 'done' | 'failed';
  readonly feed: string;
  readonly command: string;
  /** Set by `accepted`: host and process of the owner. */
  readonly owner: string | null;
  readonly summary: string | null;
  readonly facts: Facts;
  readonly error: { readonly code: string; readonly message: string; readonly remedy: string } | null;
}

export function operationReport(
  feed: string,
  { name }: Command,
  json: boolean,
  { print, width }: Pick<CommandContext, 'print' | 'width'>,
  screen: Pick<ProgressScreen, 'set' | 'write' | 'end'>,
): OperationReport {
  const nothing = { owner: null, summary: null, facts: {}, error: null };
  let last = '';

  async function printed(line: Partial<ReportLine> & Pick<ReportLine, 'kind'>): Promise<void> {
    const { kind, ...rest } = line;
    const whole: ReportLine = { kind, feed, command: name, ...nothing, ...rest };
    await print(`${JSON.stringify(whole)}\n`);
  }
  /** The outcome goes to stdout; the owner and the progress go to stderr. */
  function said(line: Partial<ReportLine> & Pick<ReportLine, 'kind'>, text: string): void {
    if (json) void printed(line);
    else screen.write(`${text}\n`);
  }
  function progressed(summary: string, facts: Facts): void {
    const write = (): void => screen.write(`${summary}\n`);
    const toldMs = Date.now();
    // This is not progress but the end of an earlier backfill.
    if ('givenUpFrom' in facts) write();
    else screen.set(name, (nowMs) => operationText(name, feed, { summary, facts }, nowMs - toldMs), write);
  }

  return {
    accepted: (owner) => said({ kind: 'accepted', owner }, `${owner} has feed ${feed} and accepted ${name}.`),
    acting: () =>
      said(
        { kind: 'acting' },
        `No publisher has accepted ${name} of ${feed}: this command acquires the feed.`,
      ),
    progress(summary, facts) {
      // The owner repeats its progress as a sign of life.
      const line = JSON.stringify([summary, facts]);
      if (line === last) return;
      last = line;
      if (json) void printed({ kind: 'progress', summary, facts });
      else progressed(summary, facts);
    },
    async outcome(outcome) {
      screen.end();
      if (outcome.ok) {
        const { summary, facts } = outcome;
        if (json) await printed({ kind: 'done', summary, facts });
        else await print(`${wrapped(harmless(summary), width()).join('\n')}\n`);
        // If deletes wait for an operator, a script must notice.
        return facts.withheld === true && facts.dryRun !== true ? 1 : 0;
      }
      const { code, message, remedy } = outcome.error;
      if (json) await printed({ kind: 'failed', error: { code, message, remedy } });
      throw outcome.error;
    },
  };
}
