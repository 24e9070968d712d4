import { Component } from 'preact';
import { durationText } from '../../../format/durations';
import type { ChangeView, FieldView } from '../../dashboard/view';
import type { Row } from '../model/model';
import { dateAndTime, difference, number, opWords, parted, timeOfDay, typeText, untold } from '../model/text';
import { Fact } from './fact';

interface ChangeRowProps {
  readonly row: Row;
  readonly isOpen: boolean;
  readonly onToggle: (id: number) => void;
  readonly onOnly: (text: string) => void;
}

/** More do not fit a line. */
const FIELDS_IN_LINE = 4;

export class ChangeRow extends Component<ChangeRowProps> {
  override shouldComponentUpdate(next: ChangeRowProps): boolean {
    return this.props.row !== next.row || this.props.isOpen !== next.isOpen;
  }

  override render({ row, isOpen, onToggle, onOnly }: ChangeRowProps) {
    const { id, change } = row;
    const { op, feed, symbol, title, observedAtMs } = change;
    const isAlarming = change.transitions.some(({ tone }) => tone === 'alarm');
    return (
      <li class={`row${isOpen ? ' open' : ''}${isAlarming ? ' alarming' : ''}`}>
        <button
          type="button"
          class="line"
          data-change={`${feed} ${change.seq}`}
          aria-expanded={isOpen}
          onClick={() => onToggle(id)}
        >
          <time>{timeOfDay(observedAtMs)}</time>
          <span class={`op ${op}`}>
            <span class="sign" aria-hidden="true">
              {opWords[op].mark}
            </span>{' '}
            {opWords[op].word}
          </span>
          <span class="feed">{feed}</span>
          <bdi class="symbol">{symbol}</bdi>
          <bdi class="title">{title}</bdi>
          <span class="news">
            <Badges change={change} />
            <Fields change={change} />
          </span>
        </button>
        {isOpen && <Detail change={change} onOnly={onOnly} />}
      </li>
    );
  }
}

function Badges({ change }: { readonly change: ChangeView }) {
  return (
    <>
      {change.transitions.map((transition, at) => {
        const { type, mark, tone } = transition;
        const { before, after } = parted(transition);
        return (
          <span key={at} class={`badge ${tone}`} title={typeText(type)}>
            <span aria-hidden="true">{mark} </span>
            <span class="hidden">{typeText(type)}: </span>
            {before !== null && before !== after && (
              <>
                <bdi>{before}</bdi>
                <Arrow />
              </>
            )}
            <bdi class="after">{after ?? '–'}</bdi>
          </span>
        );
      })}
    </>
  );
}

function Fields({ change }: { readonly change: ChangeView }) {
  const { op, moreFields } = change;
  const rest = untold(change);
  const more = rest.length - FIELDS_IN_LINE + moreFields;
  return (
    <>
      {rest.slice(0, FIELDS_IN_LINE).map((one) => (
        <Field key={one.field} {...one} isUpdate={op === 'u'} />
      ))}
      {more > 0 && <span class="more">+{number(more)} more</span>}
    </>
  );
}

function Field({ field, before, after, isUpdate }: FieldView & { readonly isUpdate: boolean }) {
  const shown = difference(before ?? '–', after ?? '–');
  return (
    <span class="field">
      <span class="name">{field} </span>
      {isUpdate && before === after ? (
        <span class="more">differs further on</span>
      ) : isUpdate ? (
        <>
          <del>
            <bdi>{shown.before}</bdi>
          </del>
          <Arrow />
          <ins>
            <bdi>{shown.after}</bdi>
          </ins>
        </>
      ) : (
        <bdi>{after ?? before ?? '–'}</bdi>
      )}
    </span>
  );
}

function Arrow() {
  return (
    <span class="arrow">
      <span aria-hidden="true"> → </span>
      <span class="hidden"> to </span>
    </span>
  );
}

function Detail({ change, onOnly }: Pick<ChangeRowProps, 'onOnly'> & { readonly change: ChangeView }) {
  const { op, key, symbol, title, feed, origin, seq, updated, observedAtMs, fields, moreFields } = change;
  const isUpdate = op === 'u';
  const lag = observedAtMs - updated * 1_000;
  return (
    <div class="detail">
      <p class="full">
        <bdi>{title}</bdi>
      </p>
      <dl>
        <Fact name="Key" value={key} />
        <Fact name="Number" value={`${feed} ${number(seq)}`} />
        <Fact name="Found by" value={origin} />
        <Fact name="Updated there" value={dateAndTime(updated * 1_000)} />
        <Fact
          name="Seen here"
          value={dateAndTime(observedAtMs) + (lag >= 0 ? `, ${durationText(lag)} later` : '')}
        />
      </dl>
      {fields.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Field</th>
              {isUpdate && <th scope="col">Before</th>}
              <th scope="col">{isUpdate ? 'After' : 'Value'}</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ field, before, after }) => (
              <tr key={field}>
                <th scope="row">{field.trim() || '–'}</th>
                {isUpdate && <Value text={before} />}
                <Value text={isUpdate ? after : (after ?? before)} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {moreFields > 0 && (
        <p class="note">
          {number(moreFields)} more: <code>highwater tail {feed} --json</code> shows all of them.
        </p>
      )}
      {symbol !== null && symbol !== '' && (
        <button type="button" onClick={() => onOnly(symbol)}>
          Show only <bdi>{symbol}</bdi>
        </button>
      )}
    </div>
  );
}

function Value({ text }: { readonly text: string | null }) {
  return <td>{text === null ? <span class="none">none</span> : <bdi>{text}</bdi>}</td>;
}
