import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../../format/counted';
import { durationText } from '../../../format/durations';
import type { DeliveryView, PublisherView } from '../../dashboard/view';
import { headline, isWaiting, worstFirst } from '../model/headline';
import { lostSince } from '../model/model';
import { dateAndTime } from '../model/text';
import { type Store, useModel, useNow } from '../store';
import { keepToken, keptToken, type Stream } from '../stream';
import { ChangeList } from './change-list';
import { Fact } from './fact';
import { FeedCard } from './feed-card';
import { favicon, Icon } from './icon';
import { Problems } from './problems';

export function App({ store, stream }: { readonly store: Store; readonly stream: Stream }) {
  const model = useModel(store);
  const nowMs = useNow();
  const lostMs = lostSince(model, nowMs);
  const { tone, text, also, key } = headline(model, nowMs);
  const { connection, publisher, feeds, heardAtMs, aheadMs } = model;

  useEffect(() => {
    document.title = `${text} · highwater`;
  }, [text]);
  useEffect(() => {
    (document.getElementById('icon') as HTMLLinkElement).href = favicon(tone);
  }, [tone]);
  const told = useTold(key, `${text}. ${also}`);

  function enter(token: string | null): void {
    keepToken(token);
    stream.use(token);
  }

  const isAsking = connection.state === 'token';
  const serverNowMs = (lostMs === null ? nowMs : (heardAtMs ?? nowMs)) + aheadMs;
  return (
    <div class={`page${lostMs === null ? '' : ' lost'}`}>
      {heardAtMs !== null && !isAsking && (
        <a class="skip" href="#changes">
          Skip to what just changed
        </a>
      )}
      <header class="top">
        <span class="brand">
          <Mark />
          highwater
        </span>
        {publisher !== null && !isAsking && (
          <span class="instance" title={publisher.instance}>
            <span class="hidden">on </span>
            <bdi>{publisher.instance}</bdi>
          </span>
        )}
        <span class={`live ${lostMs === null && connection.state === 'open' ? 'on' : 'off'}`}>
          {connection.state === 'open' && lostMs === null ? 'live' : 'not connected'}
        </span>
      </header>
      <main class={isAsking ? 'asking' : ''}>
        <section class={`headline ${tone}`} aria-label="State">
          <Icon tone={tone} />
          <div>
            <h1>{text}</h1>
            {also !== '' && <p>{also}</p>}
          </div>
        </section>
        <p class="hidden" role="status">
          {told}
        </p>
        {isAsking ? (
          <TokenForm wasWrong={connection.wasWrong} onToken={enter} />
        ) : (
          <>
            {lostMs === null && <Problems feeds={feeds} nowMs={serverNowMs} />}
            <div class="work">
              {feeds.length > 0 && (
                <section
                  class="feeds"
                  aria-labelledby="feeds-title"
                  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
                  tabIndex={0}
                >
                  <h2 id="feeds-title" class="hidden">
                    Feeds
                  </h2>
                  <Deliveries deliveries={model.deliveries.filter(isWaiting)} />
                  {worstFirst(feeds, serverNowMs).map((feed) => (
                    <FeedCard key={feed.feed} feed={feed} nowMs={serverNowMs} lostMs={lostMs} />
                  ))}
                  <Deliveries deliveries={model.deliveries.filter((one) => !isWaiting(one))} />
                </section>
              )}
              {heardAtMs !== null && (
                <ChangeList
                  model={model}
                  nowMs={serverNowMs}
                  isLost={lostMs !== null}
                  onClear={() => store.tell({ kind: 'cleared' })}
                />
              )}
            </div>
          </>
        )}
      </main>
      <Footer
        publisher={isAsking ? null : publisher}
        nowMs={serverNowMs}
        onForget={!isAsking && keptToken() !== null ? () => enter(null) : null}
      />
    </div>
  );
}

/** The text for screen readers: it changes only with the state, not with each second that the state lasts. */
function useTold(key: string, text: string): string {
  const last = useRef({ key: '', text: '' });
  if (last.current.key !== key) last.current = { key, text };
  return last.current.text;
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 20" aria-hidden="true">
      <path d="M1 6.5h18" />
      <path d="M1 12c2.25-2.4 4.5-2.4 6.75 0s4.5 2.4 6.75 0S18 10.400 19 11" />
      <path d="M1 16.500c2.25-2.400 4.500-2.400 6.750 0s4.500 2.400 6.750 0S18 14.900 19 15.500" />
    </svg>
  );
}

/** Each delivery as a card below the feeds: how far it is, and what it waits for. */
function Deliveries({ deliveries }: { readonly deliveries: readonly DeliveryView[] }) {
  return deliveries.map(({ delivery, lag, waits_for: why, dead_letters: letters }) => (
    <article key={delivery} class={`card ${why === null && letters === 0 ? 'good' : 'warning'}`}>
      <h3>
        <bdi>{delivery}</bdi>
      </h3>
      <p>{lag === null ? 'Delivery, never ran' : `Delivery, ${counted(lag, 'event')} to look at`}</p>
      {why !== null && (
        <p>
          Waits: <bdi>{why}</bdi>
        </p>
      )}
      {letters > 0 && <p>{counted(letters, 'dead letter')}</p>}
    </article>
  ));
}

interface TokenFormProps {
  readonly wasWrong: boolean;
  readonly onToken: (token: string) => void;
}

function TokenForm({ wasWrong, onToken }: TokenFormProps) {
  const [token, setToken] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== '') onToken(token.trim());
      }}
    >
      <label for="token">Token of this publisher</label>
      <div class="entry">
        <input
          id="token"
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          aria-describedby="token-help token-wrong"
          aria-invalid={wasWrong}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit">Connect</button>
      </div>
      <p id="token-wrong" class="wrong" role="alert">
        {wasWrong && 'The publisher does not accept this token.'}
      </p>
      <p id="token-help">
        It is what the publisher was started with: <code>HIGHWATER_HTTP_TOKEN</code>, or the file that{' '}
        <code>HIGHWATER_HTTP_TOKEN_FILE</code> names. This tab keeps it until it is closed.
      </p>
    </form>
  );
}

interface FooterProps {
  readonly publisher: PublisherView | null;
  readonly nowMs: number;
  readonly onForget: (() => void) | null;
}

function Footer({ publisher, nowMs, onForget }: FooterProps) {
  return (
    <footer>
      {publisher !== null && (
        <dl>
          <Fact name="API" value={publisher.api} title={publisher.api} />
          <Fact
            name={publisher.logKind === 'kafka' ? 'Kafka' : 'Log'}
            value={publisher.log}
            title={publisher.log}
          />
          <Fact
            name="Running for"
            value={durationText(nowMs - publisher.startedAtMs)}
            title={`Since ${dateAndTime(publisher.startedAtMs)}`}
          />
          <Fact name="Version" value={publisher.version} />
        </dl>
      )}
      {onForget !== null && (
        <button type="button" class="plain" onClick={onForget}>
          Forget the token
        </button>
      )}
    </footer>
  );
}
