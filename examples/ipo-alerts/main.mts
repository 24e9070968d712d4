// IPOs as they are filed, priced, postponed or withdrawn: a line each in the terminal and, with ALERT_WEBHOOK_URL, a POST each.
import { connect, type TopicEvents } from 'highwater/consumer';
import { type Alert, alertOf } from './alert.mts';
import { alertLine } from './terminal.mts';
import { post, Refused } from './webhook.mts';

const webhook = process.env.ALERT_WEBHOOK_URL;
const log = connect();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void log.close());

const ipos = await log.table('ipos');
console.error(`Watching ${ipos.size} IPOs. Ctrl-C ends it.`);

// Each way out is a group of its own, with its own place: while the webhook's receiver is down, the terminal goes on.
await Promise.all([
  log.consume({ group: 'ipo-alerts.terminal', topics: ['ipos.deal-status'] }, (event) => {
    const alert = alertAbout(event);
    if (alert !== null) console.log(alertLine(alert));
  }),
  webhook &&
    log.consume(
      {
        ...{ group: 'ipo-alerts.webhook', topics: ['ipos.deal-status'] },
        // An outage is waited out, however long. What the receiver refuses goes to ipo-alerts.webhook.dead-letters.
        retry: { attempts: Infinity, isRetriable: (error) => !(error instanceof Refused) },
        onFailure: 'dead-letter',
      },
      async (event, { signal }) => {
        const alert = alertAbout(event);
        if (alert !== null) await post(webhook, event.id, alert, signal);
      },
    ),
]);

/** @throws while the table, which follows another topic, has not come as far as the event: the next try finds more */
function alertAbout({ value, attempt }: TopicEvents['ipos.deal-status']): Alert | null {
  const ipo = ipos.get(value.id);
  const isBehind = ipo === undefined || ipo.updated < value.updated;
  if (isBehind && attempt < 4) throw new Error(`the table is behind ${value.event_id}`);
  return alertOf(value, ipo);
}
