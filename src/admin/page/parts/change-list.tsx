import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../../format/counted';
import { durationText } from '../../../format/durations';
import { type Filter, filtered, fromHash, isFiltering, noFilter, toHash } from '../model/filter';
import type { Model } from '../model/model';
import { nextPoll } from '../model/next-poll';
import { number } from '../model/text';
import { ChangeRow } from './change-row';
import { FilterBar } from './filter-bar';

interface ChangeListProps {
  readonly model: Model;
  /** The publisher's clock. */
  readonly nowMs: number;
  readonly isLost: boolean;
  readonly hasShortcuts: boolean;
  readonly onClear: () => void;
}

const ROWS_SHOWN = 500;

/** The list as it was when it began to stand still. */
type Held = Pick<Model, 'rows' | 'nextId'>;

/** The latest changes, newest on top. It stands still while somebody reads: paused, scrolled down, or with a row open. */
export function ChangeList({ model, nowMs, isLost, hasShortcuts, onClear }: ChangeListProps) {
  const [filter, setFilter] = useFilterOfAddress();
  const [isPaused, setPaused] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [isScrolled, setScrolled] = useState(false);
  const [active, setActive] = useState<number | null>(null);
  const top = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const search = useRef<HTMLInputElement>(null);

  const isHeld = isPaused || isScrolled || open.size > 0;
  const held = useRef<Held | null>(null);
  if (!isHeld) held.current = null;
  else held.current ??= model;
  // Cleared changes are gone, even while the list stands still.
  if (held.current !== null && model.rows.length === 0) held.current = model;

  const all = (held.current ?? model).rows;
  const matching = filtered(all, filter);
  const rows = matching.slice(0, ROWS_SHOWN);
  const heldId = held.current?.nextId ?? model.nextId;
  const waiting = isHeld
    ? filtered(
        model.rows.filter(({ id }) => id >= heldId),
        filter,
      ).length
    : 0;

  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => {
      const { isIntersecting, boundingClientRect, rootBounds } = entry!;
      setScrolled(!isIntersecting && boundingClientRect.top < (rootBounds?.top ?? 0) + 1);
    });
    watch.observe(top.current!);
    return () => watch.disconnect();
  }, []);

  function showWaiting(): void {
    held.current = null;
    setOpen(new Set());
    setScrolled(false);
    top.current!.scrollIntoView({ block: 'nearest' });
    document.getElementById('rows')?.scrollTo({ top: 0 });
    if (isPaused) held.current = model;
  }

  useShortcuts(hasShortcuts, {
    '/': () => {
      search.current?.focus();
      search.current?.select();
    },
    p: () => setPaused((paused) => !paused),
  });

  const toggle = useCallback(
    (id: number) =>
      setOpen((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    [],
  );
  const only = useCallback((text: string) => setFilter((before) => ({ ...before, text })), [setFilter]);

  const stop = rows.some(({ id }) => id === active) ? active : rows[0]?.id;
  return (
    <section id="changes" class="changes" aria-labelledby="changes-title" tabIndex={-1}>
      <div class="bar">
        <h2 id="changes-title">What just changed</h2>
        <span class="count">
          {isFiltering(filter)
            ? `${number(matching.length)} of ${number(all.length)}`
            : all.length > 0 && number(all.length)}
        </span>
        <span class="buttons">
          <button
            type="button"
            aria-pressed={isPaused}
            aria-keyshortcuts="p"
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? 'Resume' : 'Pause'}
          </button>
          <button
            type="button"
            disabled={all.length === 0}
            onClick={() => {
              setOpen(new Set());
              onClear();
            }}
          >
            Clear
          </button>
        </span>
      </div>
      <FilterBar
        filter={filter}
        feeds={model.feeds}
        types={model.types}
        search={search}
        onFilter={setFilter}
      />
      <div id="rows" class="rows">
        <div ref={top} class="rows-top" />
        {isHeld && (
          <p class="held">
            {waiting > 0 ? (
              <button type="button" onClick={showWaiting}>
                Show {counted(waiting, 'new change')}
              </button>
            ) : (
              <span>{isPaused ? 'Paused' : 'Standing still'}: no new changes</span>
            )}
          </p>
        )}
        {rows.length === 0 ? (
          <Empty
            model={model}
            nowMs={nowMs}
            hasSome={all.length > 0}
            isLost={isLost}
            onAll={() => setFilter(noFilter)}
          />
        ) : (
          <ul
            ref={list}
            // biome-ignore lint/a11y/noRedundantRoles: a list without bullets is none to Safari
            role="list"
            style={{ '--feed': `${feedWidth(model)}ch` }}
            aria-label="Changes, newest first"
            onKeyDown={(event) => step(event, list.current!)}
            onFocusCapture={(event) => {
              const id = (event.target as HTMLElement).dataset.row;
              if (id !== undefined) setActive(Number(id));
            }}
          >
            {rows.map((row) => (
              <ChangeRow
                key={row.id}
                row={row}
                isOpen={open.has(row.id)}
                isStop={row.id === stop}
                onToggle={toggle}
                onOnly={only}
              />
            ))}
          </ul>
        )}
        {matching.length > rows.length && (
          <p class="left">{number(matching.length - rows.length)} older ones are not shown.</p>
        )}
        {model.left > 0 && (
          <p class="left">
            {counted(model.left, 'more change')} came too fast to be shown here; all are in the log.
          </p>
        )}
      </div>
    </section>
  );
}

/** Letters of the longest name, within reason: the columns of all rows are the same. */
function feedWidth({ feeds }: Model): number {
  return Math.min(16, Math.max(5, ...feeds.map(({ feed }) => feed.length)) + 0.5);
}

/** Arrow keys go from row to row, Escape closes the one they are in. */
function step(event: KeyboardEvent, list: HTMLElement): void {
  const buttons = [...list.querySelectorAll<HTMLElement>('[data-row]')];
  const item = (event.target as HTMLElement).closest('li');
  const own = item?.querySelector<HTMLElement>('[data-row]');
  const at = buttons.indexOf(own as HTMLElement);
  if (event.key === 'Escape' && own?.getAttribute('aria-expanded') === 'true') {
    own.click();
    own.focus();
    return;
  }
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (next === undefined || buttons[next] === undefined) return;
  event.preventDefault();
  buttons[next].focus();
}

interface EmptyProps {
  readonly model: Model;
  readonly nowMs: number;
  readonly hasSome: boolean;
  readonly isLost: boolean;
  readonly onAll: () => void;
}

/** Says what to expect in an empty list. */
function Empty({ model, nowMs, hasSome, isLost, onAll }: EmptyProps) {
  if (hasSome)
    return (
      <p class="empty">
        No change fits the filter.{' '}
        <button type="button" class="plain" onClick={onAll}>
          Show all
        </button>
      </p>
    );
  if (isLost) return <p class="empty">No changes came before the connection was lost.</p>;
  const next = nextPoll(model.feeds, nowMs);
  const expected =
    next === null
      ? ' They appear here as soon as they are committed.'
      : next.inMs < 1_000
        ? ` ${next.feed} is being polled now.`
        : ` The next poll of ${next.feed} is in ${durationText(next.inMs)}.`;
  return (
    <p class="empty">
      {model.nextId === 0 ? 'No changes yet.' : 'No newer changes.'}
      {expected}
    </p>
  );
}

type SetFilter = (change: Filter | ((before: Filter) => Filter)) => void;

/** The filter stands in the address: it survives a reload, and can be passed on. */
function useFilterOfAddress(): readonly [Filter, SetFilter] {
  const [filter, set] = useState(() => fromHash(location.hash));
  useEffect(() => {
    const hash = toHash(filter);
    if (hash === location.hash.slice(1)) return;
    history.replaceState(null, '', hash === '' ? location.pathname + location.search : `#${hash}`);
  }, [filter]);
  useEffect(() => {
    const read = () => set(fromHash(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return [filter, set];
}

function useShortcuts(isOn: boolean, keys: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    if (!isOn) return;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if ((event.target as HTMLElement).closest('input, select, textarea')) return;
      const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}
