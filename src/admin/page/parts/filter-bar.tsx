import type { Ref } from 'preact';
import type { FeedView } from '../../dashboard/view';
import { opWords } from '../model/badge';
import { allOps, type Filter, toggled } from '../model/filter';
import { typeText } from '../model/text';

interface FilterBarProps {
  readonly filter: Filter;
  readonly feeds: readonly FeedView[];
  readonly types: readonly string[];
  readonly search: Ref<HTMLInputElement>;
  readonly onFilter: (filter: Filter) => void;
}

export function FilterBar({ filter, feeds, types, search, onFilter }: FilterBarProps) {
  // Values in the address of the page can be chosen even before they were seen.
  const names = withOne(
    feeds.map(({ feed }) => feed),
    filter.feed,
  );
  const known = withOne(types, filter.type === '*' ? '' : filter.type);
  return (
    <search class="filter">
      <input
        ref={search}
        type="search"
        aria-label="Filter by symbol or text"
        aria-keyshortcuts="/"
        placeholder="Symbol or text"
        spellcheck={false}
        autocomplete="off"
        value={filter.text}
        onInput={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          if (filter.text === '') event.currentTarget.blur();
          else onFilter({ ...filter, text: '' });
        }}
      />
      <select
        aria-label="Feed"
        value={filter.feed}
        onChange={(event) => onFilter({ ...filter, feed: event.currentTarget.value })}
      >
        <option value="">All feeds</option>
        {names.map((name) => (
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
        {known.map((type) => (
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

function withOne(values: readonly string[], one: string): readonly string[] {
  return one === '' || values.includes(one) ? values : [...values, one];
}
