import { counted } from '../../../format/counted';
import { agoText, settingText } from '../../../format/durations';
import type { FeedView } from '../../dashboard/view';
import { judge } from '../model/headline';
import { dateAndTime, number, series, shortNumber, timeOfDay } from '../model/text';
import { Fact } from './fact';
import { Icon } from './icon';

interface FeedCardProps {
  readonly feed: FeedView;
  /** The publisher's clock; it stands still when the publisher is not heard. */
  readonly nowMs: number;
  readonly lostMs: number | null;
}

/** A time, as it is told. */
type When = (ms: number) => string;

export function FeedCard({ feed, nowMs, lostMs }: FeedCardProps) {
  const { feed: name } = feed;
  const { tone, short } = judge(feed, nowMs);
  const shown = lostMs === null ? tone : 'unknown';
  // `now` would be a lie when the publisher is not heard.
  const when: When = lostMs === null ? (ms) => agoText(nowMs - ms) : timeOfDay;
  const isUnknown = feed.condition === 'standby' && feed.last_complete_scan_ms === null;
  return (
    <article class={`card ${shown}`} aria-labelledby={`feed-${name}`}>
      <header>
        <h3 id={`feed-${name}`}>{name}</h3>
        <span class={`condition ${shown}`} title={feed.reason}>
          <Icon tone={shown} />
          {lostMs === null ? short : `as of ${timeOfDay(lostMs)}`}
        </span>
        <Owner feed={feed} />
      </header>
      <Works feed={feed} />
      {isUnknown ? (
        <p class="note">Nothing of it is known here yet: see the page of the instance that reads it.</p>
      ) : (
        <>
          <Scan feed={feed} nowMs={nowMs} when={when} />
          <Figures feed={feed} when={when} />
          <Chart feed={feed} nowMs={nowMs} />
        </>
      )}
      <Errors feed={feed} when={when} />
    </article>
  );
}

function Owner({ feed: { owner, isOwn } }: { readonly feed: FeedView }) {
  if (isOwn) return <span class="owner">this instance</span>;
  return (
    <span class="owner" title={owner ?? undefined}>
      {owner === null ? 'no owner known' : <bdi>{owner}</bdi>}
    </span>
  );
}

/** Work besides polling, and work that is paused or has not begun. */
function Works({ feed: { snapshot, backfill, paused, records, condition } }: { readonly feed: FeedView }) {
  const works: string[] = [];
  if (paused) works.push('Paused by an operator: highwater resume goes on');
  if (snapshot === 'running') works.push(`Snapshot runs: ${number(records)} records so far`);
  if (snapshot === 'pending' && condition === 'behind') works.push('The snapshot has not begun');
  if (backfill !== null) works.push(`Backfill of ${backfill.from} to ${backfill.to}`);
  if (works.length === 0) return null;
  return (
    <ul class="works">
      {works.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

/** Seconds since the last complete scan, measured by the interval: the bar is full where the feed counts as behind. */
function Scan({ feed, nowMs, when }: Omit<FeedCardProps, 'lostMs'> & { readonly when: When }) {
  const { last_complete_scan_ms: scannedMs, poll_interval_ms: everyMs } = feed;
  const since = scannedMs === null ? null : Math.max(0, nowMs - scannedMs);
  const share = since === null ? 0 : Math.min(1, since / (3 * everyMs));
  const level = share < 0.5 ? 'well' : share < 1 ? 'late' : 'over';
  return (
    <div class={`scan ${level}`}>
      <p>
        <span class="label">Last complete scan</span>
        <span class="since" title={scannedMs === null ? undefined : dateAndTime(scannedMs)}>
          {scannedMs === null ? 'not yet' : when(scannedMs)}
        </span>
        <span class="every">
          every {settingText(everyMs)}, behind after {settingText(3 * everyMs)}
        </span>
      </p>
      <svg class="measure" viewBox="0 0 300 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="whole" width="300" height="4" />
        <rect class="part" width={300 * share} height="4" />
        <path class="due" d="M100 0v4M200 0v4" />
      </svg>
    </div>
  );
}

function Figures({ feed, when }: { readonly feed: FeedView; readonly when: When }) {
  const { records, high_water_mark: mark, dead_letters: letters, driftedPaths, drift, isOwn } = feed;
  const { lastMinute, allowedPerMinute, retriesLastMinute } = feed.requests;
  return (
    <dl class="figures">
      <Fact
        name="Mark"
        value={mark === null ? '–' : when(mark * 1_000)}
        title={mark === null ? 'Nothing was read yet' : `The vendor's updated: ${dateAndTime(mark * 1_000)}`}
      />
      <Fact name="Records" value={number(records)} title="Records of which the current image is held" />
      <Fact
        name="Requests / min"
        value={isOwn ? `${shortNumber(lastMinute)} of ${shortNumber(allowedPerMinute)}` : '–'}
        isOdd={lastMinute >= 0.9 * allowedPerMinute}
        title={
          isOwn
            ? 'Requests of this feed in the last minute, out of the limit for all feeds together'
            : onItsPage
        }
      />
      <Fact
        name="Dead letters"
        value={letters === null ? '–' : number(letters)}
        isOdd={(letters ?? 0) > 0}
        title="Rows that could not be published: highwater dead-letters list"
      />
      <Fact
        name="Drift"
        value={driftedPaths > 0 ? counted(driftedPaths, 'path') : isOwn ? 'none' : '–'}
        isOdd={driftedPaths > 0}
        title={`Members that the schema does not have like this, published in extra${drift && `: ${drift}`}`}
      />
      <Fact
        name="Retries / min"
        value={isOwn ? number(retriesLastMinute) : '–'}
        isOdd={retriesLastMinute > 0}
        title={isOwn ? 'Pages asked for again in the last minute' : onItsPage}
      />
    </dl>
  );
}

const onItsPage = 'On the page of the instance that reads it';

const BAR_UNITS = 40;

/** Changes of each of the last 60 minutes, as bars. A minute that is far above all others is cut off, and its number named. */
function Chart({ feed, nowMs }: Omit<FeedCardProps, 'lostMs'>) {
  const { feed: name, changesPerMinute: counts } = feed;
  const { minutes, top, most, total, summary } = series(counts);
  return (
    <figure class="chart">
      <figcaption>
        <span class="label">Changes a minute</span>
        <span class="total">
          {total === 0 ? 'none in the last hour' : `${counted(total, 'change')} in the last hour`}
        </span>
      </figcaption>
      <svg
        class="plot"
        role="img"
        aria-label={`${name}: ${summary}`}
        viewBox={`0 0 ${counts.length} ${BAR_UNITS}`}
        preserveAspectRatio="none"
      >
        {counts.map((count, at) => {
          const height = (BAR_UNITS * Math.min(count, top)) / top;
          const minute = timeOfDay(nowMs + minutes[at]! * 60_000).slice(0, 5);
          return (
            <rect key={at} x={at + 0.14} y={BAR_UNITS - height} width="0.72" height={height}>
              <title>{`${minute}: ${counted(count, 'change')}`}</title>
            </rect>
          );
        })}
      </svg>
      <p class="axis" aria-hidden="true">
        <span>−{counts.length} min</span>
        <span>
          0 to {shortNumber(top)}
          {most > top && `, ↑${shortNumber(most)}`}
        </span>
        <span>now</span>
      </p>
    </figure>
  );
}

function Errors({ feed: { errors }, when }: { readonly feed: FeedView; readonly when: When }) {
  if (errors.length === 0) return null;
  return (
    <div class="errors">
      <h4>Last errors</h4>
      <ul>
        {errors.map(({ code, what, times, lastAtMs, lasts }) => (
          <li key={`${code} ${what}`} class={lasts ? 'lasts' : ''}>
            <span class="line">
              <code>{code}</code>
              {times > 1 && <span class="times">×{number(times)}</span>}
              <span class="when" title={dateAndTime(lastAtMs)}>
                {when(lastAtMs)}
                {lasts ? '' : ', over'}
              </span>
            </span>
            <bdi class="what" title={what}>
              {what}
            </bdi>
          </li>
        ))}
      </ul>
    </div>
  );
}
