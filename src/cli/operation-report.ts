import type { Command, Facts, Outcome } from '../commands/command';
import type { CommandContext } from './command-context';

/** What is shown of a command while it is carried out, and at its end. */
export interface OperationReport {
  readonly accepted: (owner: string) => void;
  /** No publisher has the feed: it is acquired here. */
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
  /** Of `accepted`: host and process of the owner. */
  readonly owner: string | null;
  readonly summary: string | null;
  readonly facts: Facts;
  readonly error: { readonly code: string; readonly message: string; readonly remedy: string } | null;
}

export function operationReport(
  feed: string,
  { name }: Command,
  json: boolean,
  { print }: Pick<CommandContext, 'print'>,
): OperationReport {
  const nothing = { owner: null, summary: null, facts: {}, error: null };
  let last = '';

  async function show(
    line: Partial<ReportLine> & Pick<ReportLine, 'kind'>,
    text: string | null,
  ): Promise<void> {
    const { kind, ...rest } = line;
    const whole: ReportLine = { kind, feed, command: name, ...nothing, ...rest };
    if (json) await print(`${JSON.stringify(whole)}\n`);
    else if (text !== null) await print(`${text}\n`);
  }

  return {
    accepted: (owner) =>
      void show({ kind: 'accepted', owner }, `${owner} has feed ${feed} and accepted ${name}.`),
    acting: () =>
      void show(
        { kind: 'acting' },
        `No publisher has accepted ${name} of ${feed}: this command acquires the feed.`,
      ),
    progress(summary, facts) {
      // The owner repeats itself to show that it lives.
      const line = JSON.stringify([summary, facts]);
      if (line !== last) void show({ kind: 'progress', summary, facts }, summary);
      last = line;
    },
    async outcome(outcome) {
      if (outcome.ok) {
        const { summary, facts } = outcome;
        await show({ kind: 'done', summary, facts }, summary);
        // Carried out, but for deletes that wait for an operator: a script has to notice.
        return facts.withheld === true && facts.dryRun !== true ? 1 : 0;
      }
      const { code, message, remedy } = outcome.error;
      await show({ kind: 'failed', error: { code, message, remedy } }, null);
      throw outcome.error;
    },
  };
}
