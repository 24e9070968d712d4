import { z } from 'zod';
import { type ErrorCode, errorKinds, HighwaterError } from '../errors';
import type { CommandRecord } from './command-record';

const command = z.discriminatedUnion('name', [
  z.object({
    name: z.enum([
      'pause',
      'resume',
      /** A new incarnation: the images are removed, and a first snapshot begins. */
      'reset',
      /** All records are read and published again: as `r`, or as `u` if they differ. */
      'snapshot',
      'retry-dead-letters',
    ]),
  }),
  z.object({
    name: z.literal('reconcile'),
    dryRun: z.boolean(),
    allowDeletes: z.int().nonnegative().nullable(),
  }),
  /** Calendar dates, both included. */
  z.object({ name: z.literal('backfill'), from: z.iso.date(), to: z.iso.date() }),
]);

/** A request of an operator to the owner of a feed. */
export type Command = Readonly<z.output<typeof command>>;

/** The outcome: a line for people, and figures for programs. */
export type Outcome =
  | { readonly ok: true; readonly summary: string; readonly facts: Facts }
  | { readonly ok: false; readonly error: HighwaterError };

export type Facts = Readonly<Record<string, string | number | boolean>>;

type NamedCommand = Pick<CommandRecord, 'command' | 'arguments'>;

/** A command as the topic carries it: `{ command: 'reconcile', arguments: { dry_run: 'true', … } }`. */
export function namedCommand({ name, ...values }: Command): NamedCommand {
  const named = Object.entries(values).map(([member, value]) => [snakeCase(member), value]);
  return { command: name, arguments: jsonTexts(Object.fromEntries(named)) };
}

/** Null when this version does not know the command, or cannot tell what its arguments mean. */
export function commandOf({ command: name, arguments: texts }: NamedCommand): Command | null {
  const values = Object.entries(parsedTexts(texts)).map(([member, value]) => [camelCase(member), value]);
  return command.safeParse({ ...Object.fromEntries(values), name }).data ?? null;
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** An owner's answer, without the fields that both sides know. */
export type Said = Pick<CommandRecord, 'kind' | 'summary' | 'facts' | 'error'>;

const nothing = { summary: null, facts: {}, error: null };

export const saidAccepted: Said = { ...nothing, kind: 'accepted' };

export function saidProgress(summary: string, facts: Facts): Said {
  return { ...nothing, kind: 'progress', summary, facts: jsonTexts(facts) };
}

export function saidOutcome(outcome: Outcome): Said {
  if (outcome.ok) return { ...saidProgress(outcome.summary, outcome.facts), kind: 'done' };
  const { code, message, now, remedy } = outcome.error;
  return { ...nothing, kind: 'failed', error: { code, message, now, remedy } };
}

/** Null for a record that is not an answer. */
export function outcomeOf({ kind, summary, facts, error }: Said): Outcome | null {
  if (kind === 'done') return { ok: true, summary: summary ?? '', facts: factsOf(facts) };
  if (kind !== 'failed') return null;
  const { code, message, now, remedy } = error ?? unnamed;
  // The owner may be of a version that has more codes.
  const [known, what] = Object.hasOwn(errorKinds, code)
    ? [code as ErrorCode, message]
    : (['UNEXPECTED', `${code}: ${message}`] as const);
  return { ok: false, error: new HighwaterError(known, what, { now, remedy }) };
}

const unnamed = { code: 'UNEXPECTED', message: 'the publisher gave no reason', now: '', remedy: '' };

export function factsOf(texts: Readonly<Record<string, string>>): Facts {
  return parsedTexts(texts) as Facts;
}

function jsonTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]));
}

/** Without the texts that are not JSON. */
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
