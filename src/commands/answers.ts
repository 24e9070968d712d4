import { type ErrorCode, errorKinds, HighwaterError } from '../errors';
import type { Facts, Outcome } from './command';
import { factsOf, factTexts } from './command-arguments';
import type { CommandRecord } from './command-record';

/** An owner's answer, without the fields that both sides know. */
export type Said = Pick<CommandRecord, 'kind' | 'summary' | 'facts' | 'error'>;

export function saidProgress(summary: string, facts: Facts): Said {
  return { kind: 'progress', summary, facts: factTexts(facts), error: null };
}

export function saidOutcome(outcome: Outcome): Said {
  if (outcome.ok)
    return { kind: 'done', summary: outcome.summary, facts: factTexts(outcome.facts), error: null };
  const { code, message, now, remedy } = outcome.error;
  return { kind: 'failed', summary: null, facts: {}, error: { code, message, now, remedy } };
}

/** Null for a record that is not an answer. */
export function outcomeOf({ kind, summary, facts, error }: Said): Outcome | null {
  if (kind === 'done') return { ok: true, summary: summary ?? '', facts: factsOf(facts) };
  if (kind !== 'failed') return null;
  const { code, message, now, remedy } = error ?? unnamed;
  // The owner may be of a version that has more codes.
  return {
    ok: false,
    error: isKnown(code)
      ? new HighwaterError(code, message, { now, remedy })
      : new HighwaterError('UNEXPECTED', `${code}: ${message}`, { now, remedy }),
  };
}

const unnamed = { code: 'UNEXPECTED', message: 'the publisher gave no reason', now: '', remedy: '' };

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(errorKinds, code);
}
