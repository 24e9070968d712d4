import fc from 'fast-check';
import type { CommandRecord } from '../../../src/commands/command-record';
import { createLedger, type OwnerStep, ownerStep } from '../../../src/commands/protocol';
import { runs } from '../../support/runs';

const expiresMs = 1_000;

function said(
  request_id: string,
  kind: CommandRecord['kind'],
  owner_id: string | null = null,
): CommandRecord {
  return {
    request_id,
    kind,
    feed: 'ipos',
    command: 'pause',
    arguments: {},
    asked_by: 'box:1',
    expires_ms: expiresMs,
    owner: owner_id,
    owner_id,
    summary: null,
    facts: {},
    error: null,
    ts_ms: 0,
  };
}

/** An owner that reads the log at its own pace, and whose answers arrive when they arrive. */
class Owner {
  readonly ledger = createLedger();
  readonly kept = new Set<string>();
  readonly accepting = new Set<string>();
  readonly unsent: CommandRecord[] = [];
  readonly steps: { readonly request: string; readonly step: OwnerStep }[] = [];
  next = 0;

  constructor(readonly id: string) {}

  read(log: readonly CommandRecord[], now: number, owns: boolean): void {
    const record = log[this.next];
    if (record === undefined) return;
    this.next++;
    const view = {
      ownerId: this.id,
      now,
      owns: () => owns,
      isAccepting: (id: string) => this.accepting.has(id),
    };
    const step = ownerStep(record, this.ledger, view);
    const { request_id } = record;
    if (step === 'keep') this.kept.add(request_id);
    else if (record.kind !== 'request') this.kept.delete(request_id);
    if (step === 'accept') this.accept(request_id);
    else if (step !== null) this.accepting.delete(request_id);
    this.steps.push({ request: request_id, step });
  }

  acquire(): void {
    for (const id of this.kept) this.accept(id);
    this.kept.clear();
  }

  private accept(id: string): void {
    this.accepting.add(id);
    this.unsent.push(said(id, 'accepted', this.id));
  }

  did(request: string, step: OwnerStep): number {
    return this.steps.filter((one) => one.request === request && one.step === step).length;
  }
}

type Action =
  | { readonly does: 'ask'; readonly request: string }
  | { readonly does: 'withdraw'; readonly request: string }
  | { readonly does: 'read'; readonly owner: number; readonly owns: boolean }
  | { readonly does: 'acquire'; readonly owner: number }
  | { readonly does: 'send'; readonly owner: number }
  | { readonly does: 'read from the beginning'; readonly owner: number }
  | { readonly does: 'crash'; readonly owner: number }
  | { readonly does: 'repeat'; readonly record: number }
  | { readonly does: 'wait'; readonly ms: number };

const request = fc.constantFrom('a', 'b');
const owner = fc.nat({ max: 2 });
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('ask' as const), request }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('withdraw' as const), request }) },
  {
    weight: 10,
    arbitrary: fc.record({
      does: fc.constant('read' as const),
      owner,
      owns: fc.constantFrom(true, true, false),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('acquire' as const), owner }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('send' as const), owner }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constantFrom('read from the beginning' as const, 'crash' as const),
      owner,
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('repeat' as const), record: fc.nat({ max: 20 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('wait' as const), ms: fc.constantFrom(1, 700) }),
  },
);

function run(actions: readonly Action[]): {
  log: CommandRecord[];
  owners: Owner[];
  all: Owner[];
  now: number;
} {
  const log: CommandRecord[] = [];
  let made = 0;
  const make = () => new Owner(`owner ${++made}`);
  const owners = [make(), make(), make()];
  const all = [...owners];
  let now = 0;
  for (const one of actions) {
    if (one.does === 'ask') log.push(said(one.request, 'request'));
    else if (one.does === 'withdraw') log.push(said(one.request, 'withdrawn'));
    else if (one.does === 'wait') now += one.ms;
    else if (one.does === 'repeat') log.push(...log.slice(one.record, one.record + 1));
    else if (one.does === 'read') owners[one.owner]!.read(log, now, one.owns);
    else if (one.does === 'acquire') owners[one.owner]!.acquire();
    else if (one.does === 'send') log.push(...owners[one.owner]!.unsent.splice(0, 1));
    else if (one.does === 'read from the beginning') owners[one.owner]!.next = 0;
    else {
      owners[one.owner] = make();
      all.push(owners[one.owner]!);
    }
  }
  // Outstanding records arrive, and all live members read to the end.
  for (const one of owners) log.push(...one.unsent.splice(0));
  for (const one of owners) while (one.next < log.length) one.read(log, now, false);
  return { log, owners, all, now };
}

it('in any order of events, a request is carried out at most once, by the owner that the log names, and never after it was withdrawn', () => {
  const outcomes = { carriedOut: 0, withdrawn: 0, tooLate: 0 };
  fc.assert(
    fc.property(fc.array(action, { minLength: 20, maxLength: 80 }), (actions) => {
      const { log, owners, all, now } = run(actions);
      for (const id of ['a', 'b']) {
        const times = all.reduce((sum, one) => sum + one.did(id, 'carry out'), 0);
        const first = log.find(
          ({ request_id, kind }) => request_id === id && (kind === 'accepted' || kind === 'withdrawn'),
        );
        if (first === undefined || first.kind === 'withdrawn') {
          expect(times).toBe(0);
          if (first !== undefined) outcomes.withdrawn++;
          continue;
        }
        expect(times).toBeLessThanOrEqual(1);
        for (const one of all) if (one.id !== first.owner_id) expect(one.did(id, 'carry out')).toBe(0);
        const named = owners.find((one) => one.id === first.owner_id);
        // Unless it has crashed since, it carried it out, or knows that it was too late.
        if (named !== undefined) expect(times + named.did(id, 'too late')).toBe(1);
        if (named !== undefined && now < expiresMs) expect(times).toBe(1);
        outcomes.carriedOut += times;
        if (times === 0 && named !== undefined) outcomes.tooLate++;
      }
    }),
    { numRuns: runs(600), seed: Number(process.env.MODEL_SEED ?? 11) },
  );
  // The cases that matter came up.
  expect(Object.entries(outcomes).filter(([, times]) => times === 0)).toStrictEqual([]);
});

it('what is asked of a feed that an owner does not own is kept while there is time', () => {
  const step = (now: number) => {
    const view = { ownerId: 'me', now, owns: () => false, isAccepting: () => false };
    return ownerStep(said('a', 'request'), createLedger(), view);
  };
  expect([step(0), step(expiresMs)]).toEqual(['keep', null]);
});

it('a ledger forgets what has expired long ago, and nothing else', () => {
  const ledger = createLedger();
  for (const id of ['a', 'b', 'c']) ledger.take(said(id, 'request'));
  ledger.forget(expiresMs);
  expect(ledger.size).toBe(3);
  ledger.forget(expiresMs + 1);
  expect(ledger.size).toBe(0);
});
