import { z } from 'zod';
import type { Command, Facts } from './command';
import type { CommandRecord } from './command-record';

type NamedCommand = Pick<CommandRecord, 'command' | 'arguments'>;

/** A command as the topic carries it. */
export function namedCommand(command: Command): NamedCommand {
  switch (command.name) {
    case 'reconcile':
      return named(command.name, { dry_run: command.dryRun, allow_deletes: command.allowDeletes });
    case 'backfill':
      return named(command.name, { from: command.from, to: command.to });
    default:
      return named(command.name, {});
  }
}

/** Null when this version does not know the command, or cannot tell what its arguments mean. */
export function commandOf(of: NamedCommand): Command | null {
  const values = parsedTexts(of.arguments);
  switch (of.command) {
    case 'pause':
    case 'resume':
    case 'reset':
    case 'snapshot':
    case 'retry-dead-letters':
      return { name: of.command };
    case 'reconcile': {
      const { data } = reconcile.safeParse(values);
      if (data === undefined) return null;
      return { name: 'reconcile', dryRun: data.dry_run, allowDeletes: data.allow_deletes };
    }
    case 'backfill': {
      const { data } = backfill.safeParse(values);
      return data === undefined ? null : { name: 'backfill', ...data };
    }
    default:
      return null;
  }
}

const reconcile = z.object({ dry_run: z.boolean(), allow_deletes: z.int().nonnegative().nullable() });
const backfill = z.object({ from: z.iso.date(), to: z.iso.date() });

export function factTexts(facts: Facts): Record<string, string> {
  return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, JSON.stringify(fact)]));
}

export function factsOf(texts: Readonly<Record<string, string>>): Facts {
  return parsedTexts(texts) as Facts;
}

function named(command: string, values: Readonly<Record<string, unknown>>): NamedCommand {
  const texts = Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]);
  return { command, arguments: Object.fromEntries(texts) };
}

function parsedTexts(texts: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => {
      try {
        return [[name, JSON.parse(text)]];
      } catch {
        return [];
      }
    }),
  );
}
