import { durationText } from '../../../format/durations';
import type { PublisherView } from '../../dashboard/view';
import { dateAndTime } from '../model/text';

interface FooterProps {
  readonly publisher: PublisherView | null;
  readonly nowMs: number;
  readonly onForget: (() => void) | null;
}

export function Footer({ publisher, nowMs, onForget }: FooterProps) {
  return (
    <footer>
      {publisher !== null && (
        <dl>
          <Fact name="API" value={publisher.api} />
          <Fact name={publisher.logKind === 'kafka' ? 'Kafka' : 'Log'} value={publisher.log} />
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

function Fact({
  name,
  value,
  title,
}: {
  readonly name: string;
  readonly value: string;
  readonly title?: string;
}) {
  return (
    <div title={title ?? value}>
      <dt>{name}</dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </div>
  );
}
