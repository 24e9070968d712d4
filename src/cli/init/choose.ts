import { createInterface } from 'node:readline/promises';
import { HighwaterError } from '../../errors';
import type { CommandContext } from '../process/command-context';

export interface Choice {
  /** The question: `Which member names a record?` */
  readonly question: string;
  /** The first is the most likely. */
  readonly options: readonly string[];
  /** The flag that answers the question. */
  readonly flag: string;
}

/**
 * Asks on a terminal which of several is meant. Enter takes the first.
 * @throws HighwaterError USAGE_INVALID without a terminal or an answer, naming the flag
 */
export async function choose(
  { question, options, flag }: Choice,
  { stdin, stderr: output, signal }: Pick<CommandContext, 'stdin' | 'stderr' | 'signal'>,
): Promise<string> {
  const input = stdin();
  const unanswered = new HighwaterError('USAGE_INVALID', `${question} It may be ${options.join(', ')}`, {
    now: 'Nothing was written.',
    remedy: `Say which one by ${flag}, or run the command in a terminal and choose.`,
  });
  if (input.isTTY !== true || output.isTTY !== true) throw unanswered;
  const lines = options.map((option, i) => `  ${i + 1}  ${option}`).join('\n');
  const asking = createInterface({ input, output });
  const closed = new AbortController();
  asking.once('close', () => closed.abort());
  try {
    for (;;) {
      const answer = await asking.question(`${question}\n${lines}\nNumber (1): `, {
        signal: AbortSignal.any([signal, closed.signal]),
      });
      const chosen =
        answer.trim() === ''
          ? options[0]
          : (options[Number(answer) - 1] ?? options.find((one) => one === answer.trim()));
      if (chosen !== undefined) return chosen;
    }
  } catch (error) {
    throw signal.aborted || closed.signal.aborted ? unanswered : error;
  } finally {
    asking.close();
  }
}
