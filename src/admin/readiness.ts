import { isBehind } from '../state/behind';
import type { FeedStanding } from './feed-board';

/** Who has a feed that this instance waits for. */
export type Elsewhere = 'another instance' | 'nobody' | 'unknown';

export type FeedCondition =
  | 'up-to-date'
  | 'paused'
  | 'standby'
  | 'no-owner'
  | 'owner-unknown'
  | 'restoring'
  | 'parked'
  | 'behind';

export interface FeedReadiness {
  readonly ready: boolean;
  readonly condition: FeedCondition;
  /** For people, without the feed's name. Holds codes of errors, never their texts. */
  readonly reason: string;
}

const readyConditions: readonly FeedCondition[] = ['up-to-date', 'paused', 'standby'];

/**
 * Whether somebody sees to it that the feed is up to date. An instance that waits while another works is ready; a feed that an
 * operator has paused is as it was told to be.
 */
export function readiness(standing: FeedStanding, elsewhere: Elsewhere, nowMs: number): FeedReadiness {
  const { condition, reason } = judge(standing, elsewhere, nowMs);
  return { ready: readyConditions.includes(condition), condition, reason };
}

function judge(
  { feed, phase, failure, state }: FeedStanding,
  elsewhere: Elsewhere,
  nowMs: number,
): Omit<FeedReadiness, 'ready'> {
  const after = failure === null ? '' : `, last failure: ${failure.code}`;
  if (phase === 'waiting' && elsewhere === 'another instance')
    return { condition: 'standby', reason: 'another instance has it; this one takes over when that ends' };
  if (failure?.parks) return { condition: 'parked', reason: `parked by ${failure.code}, tried again slowly` };
  if (phase === 'waiting') {
    return elsewhere === 'nobody'
      ? { condition: 'no-owner', reason: `no live instance has it${after}` }
      : { condition: 'owner-unknown', reason: `who has it cannot be asked now${after}` };
  }
  if (phase === 'restoring' || state === null)
    return { condition: 'restoring', reason: `its state is being read back${after}` };
  const { paused, snapshot, last_complete_scan_ms: scanned } = state.offset;
  if (paused) return { condition: 'paused', reason: 'paused by an operator' };
  if (!isBehind(scanned, feed.pollIntervalMs, nowMs))
    return { condition: 'up-to-date', reason: `completely read within three intervals${after}` };
  if (scanned === null)
    return { condition: 'behind', reason: `never completely read yet, snapshot ${snapshot}${after}` };
  const seconds = Math.round((nowMs - scanned) / 1_000);
  return { condition: 'behind', reason: `last completely read ${seconds} s ago${after}` };
}

/** Longer than any pause that a feed's loop makes on purpose, and than a page with all its tries. */
const LEAST_SILENCE_MS = 15 * 60_000;

/**
 * Why a feed's loop seems to stand still, so that the process should be started again; null when it does not. A loop that
 * waits for another instance's feed has nothing to do.
 */
export function silence({ feed, phase, lastSignMs }: FeedStanding, clockMs: number): string | null {
  const silentMs = clockMs - lastSignMs;
  if (phase === 'waiting' || silentMs <= Math.max(LEAST_SILENCE_MS, 10 * feed.pollIntervalMs)) return null;
  return `has done nothing for ${Math.round(silentMs / 1_000)} s`;
}
