import { counted } from '../../../format/counted';
import type { DeliveryView } from '../../dashboard/view';

/** Each delivery as a card below the feeds: how far it is, and what it waits for. */
export function Deliveries({ deliveries }: { readonly deliveries: readonly DeliveryView[] }) {
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
