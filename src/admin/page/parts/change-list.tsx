import { useState } from 'preact/hooks';
import { counted } from '../../../format/counted';
import { durationText } from '../../../format/durations';
import type { ChangeView, FeedView } from '../../dashboard/view';
import type { Model, Row } from '../model/model';
import { nextPoll, number, opWords, typeText } from '../model/text';
import { ChangeRow } from './change-row';

interface ChangeListProps {
  readonly model: Model;
  /** The publisher's clock. */
  readonly nowMs: number;
  readonly isLost: boolean;
  readonly onClear: () => void;
}

const ROWS_SHOWN = 500;

/** The latest changes, newest on top. It stands still while it is paused. */
export function ChangeList({ model, nowMs, isLost, onClear }: ChangeListProps) {
  const [filter, setFilter] = useState<Filter>(noFilter);
  const [paused, setPaused] = useState<Model | null>(null);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());

  const all = (paused ?? model).rows;
  const matching = filtered(all, filter);
  const rows = matching.slice(0, ROWS_SHOWN);

  const toggle = (id: number) =>
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const only = (text: string) => setFilter((before) => ({ ...before, text }));

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
            aria-pressed={paused !== null}
            onClick={() => setPaused(paused === null ? model : null)}
          >
            {paused === null ? 'Pause' : `Resume (${counted(model.nextId - paused.nextId, 'new change')})`}
          </button>
          <button
            type="button"
            disabled={all.length === 0}
            onClick={() => {
              setOpen(new Set());
              setPaused(null);
              onClear();
            }}
          >
            Clear
          </button>
        </span>
      </div>
      <FilterBar filter={filter} feeds={model.feeds} types={model.types} onFilter={setFilter} />
      <div id="rows" class="rows">
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
            // biome-ignore lint/a11y/noRedundantRoles: a list without bullets is none to Safari
            role="list"
            style={{ '--feed': `${feedWidth(model)}ch` }}
            aria-label="Changes, newest first"
          >
            {rows.map((row) => (
              <ChangeRow key={row.id} row={row} isOpen={open.has(row.id)} onToggle={toggle} onOnly={only} />
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

interface EmptyProps extends Omit<ChangeListProps, 'onClear'> {
  readonly hasSome: boolean;
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

interface FilterBarProps {
  readonly filter: Filter;
  readonly feeds: readonly FeedView[];
  readonly types: readonly string[];
  readonly onFilter: (filter: Filter) => void;
}

function FilterBar({ filter, feeds, types, onFilter }: FilterBarProps) {
  return (
    <search class="filter">
      <input
        type="search"
        aria-label="Filter by symbol or text"
        placeholder="Symbol or text"
        spellcheck={false}
        autocomplete="off"
        value={filter.text}
        onInput={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
      />
      <select
        aria-label="Feed"
        value={filter.feed}
        onChange={(event) => onFilter({ ...filter, feed: event.currentTarget.value })}
      >
        <option value="">All feeds</option>
        {feeds.map(({ feed: name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label="Type"
        value={filter.type}
        onChange={(event) => onFilter({ ...filter, type: event.currentTarget.value })}
      >
        <option value="">All changes</option>
        <option value="*">Any transition</option>
        {types.map((type) => (
          <option key={type} value={type}>
            {typeText(type)}
          </option>
        ))}
      </select>
      <fieldset>
        <legend class="hidden">Operations</legend>
        {allOps.map((op) => (
          <button
            key={op}
            type="button"
            class={`op ${op}`}
            aria-pressed={filter.ops.includes(op)}
            onClick={() => onFilter({ ...filter, ops: toggled(filter.ops, op) })}
          >
            <span aria-hidden="true">{opWords[op].mark}</span> {opWords[op].word}
          </button>
        ))}
      </fieldset>
    </search>
  );
}

type Op = ChangeView['op'];

/** Selects the changes that are shown. Empty: everything. */
interface Filter {
  /** Words that all have to be there: of symbol, title, key, fields and values. */
  readonly text: string;
  readonly feed: string;
  /** Type of a transition; `*`: any. */
  readonly type: string;
  /** At least one. */
  readonly ops: readonly Op[];
}

const allOps: readonly Op[] = ['c', 'u', 'd', 'r'];
const noFilter: Filter = { text: '', feed: '', type: '', ops: allOps };

const isFiltering = ({ text, feed, type, ops }: Filter): boolean =>
  text.trim() !== '' || feed !== '' || type !== '' || ops.length < allOps.length;

function filtered(rows: readonly Row[], filter: Filter): readonly Row[] {
  if (!isFiltering(filter)) return rows;
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const isOfType = (type: string) => filter.type === '*' || type === filter.type;
  return rows.filter(({ change }) => {
    if (filter.feed !== '' && change.feed !== filter.feed) return false;
    if (!filter.ops.includes(change.op)) return false;
    if (filter.type !== '' && !change.transitions.some(({ type }) => isOfType(type))) return false;
    return words.every((word) => searched(change).includes(word));
  });
}

const texts = new WeakMap<ChangeView, string>();

function searched(change: ChangeView): string {
  const known = texts.get(change);
  if (known !== undefined) return known;
  const { symbol, title, key, feed, fields, transitions } = change;
  const parts = [symbol, title, key, feed];
  for (const { field, before, after } of fields) parts.push(field, before, after);
  for (const { type, before, after } of transitions) parts.push(type, before, after);
  const text = parts
    .filter((part) => part !== null)
    .join('\n')
    .toLowerCase();
  texts.set(change, text);
  return text;
}

/** With an op more or less; the last one is not taken away, but turned into all others. */
function toggled(ops: readonly Op[], op: Op): readonly Op[] {
  const next = allOps.filter((one) => (one === op ? !ops.includes(op) : ops.includes(one)));
  return next.length === 0 ? allOps.filter((one) => one !== op) : next;
}
