import type { FeedView } from '../../dashboard/view';
import { opWords } from '../model/badge';
import { allOps, type Filter, toggled } from '../model/filter';
import { typeText } from '../model/text';

interface FilterBarProps {
  readonly filter: Filter;
  readonly feeds: readonly FeedView[];
  readonly types: readonly string[];
  readonly onFilter: (filter: Filter) => void;
}

export function FilterBar({ filter, feeds, types, onFilter }: FilterBarProps) {
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
