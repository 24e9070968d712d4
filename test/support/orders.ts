import type { RecordSchema } from '../../src/avro/schemas';
import type { Feed } from '../../src/feeds/feed';
import { testFeed } from './feeds';

const optional = (name: string, type: unknown) => ({ name, type: ['null', type] as never, default: null });

/** Orders of a shop: other key fields than the built-in feeds, members named `id` and `updated`, lists, maps and enums. */
export const orderSchema: RecordSchema = {
  type: 'record',
  name: 'Order',
  namespace: 'marketdata.orders',
  fields: [
    { name: 'order_no', type: 'string' },
    optional('id', 'long'),
    optional('updated', 'string'),
    optional('state', { type: 'enum', name: 'State', symbols: ['open', 'paid'] }),
    optional('items', {
      type: 'array',
      items: {
        type: 'record',
        name: 'Item',
        fields: [optional('sku', 'string'), { ...optional('_qty', 'long'), vendorName: 'qty' }],
      },
    }),
    optional('prices', { type: 'map', values: 'double' }),
    optional('shops', {
      type: 'map',
      values: { type: 'record', name: 'Shop', fields: [optional('city', 'string')] },
    }),
    optional('ratings', { type: 'array', items: ['null', 'long'] }),
    { name: 'modified_at', type: 'string' },
    { name: 'extra', type: { type: 'map', values: 'string' } },
  ],
};

/** @param schema path of a file with `orderSchema` */
export function orderFeed(schema: string): Feed {
  return testFeed('analysts', {
    name: 'orders',
    path: '/orders',
    responseKey: 'orders',
    topic: 'orders',
    schema,
    idField: 'order_no',
    updatedField: 'modified_at',
    updatedFormat: 'iso8601',
    display: {},
  });
}
