import { z } from 'zod';
import { deliverySettings } from './deliveries';
import { feedSettings } from './feeds/feed-settings';
import { type Setting, settings } from './settings';

/** JSON Schema of `highwater.yaml`, for editors: names, types and descriptions. The program checks the values. */
export function configSchema(): unknown {
  const own = Object.entries<Setting>(settings).map(
    ([key, { schema, doc, default: fallback }]) =>
      [
        key,
        schema.describe(fallback === null || fallback === '' ? doc : `${doc} Default: ${fallback}.`),
      ] as const,
  );
  const file = z.strictObject({
    ...Object.fromEntries(own),
    feeds: z.record(z.string(), feedSettings).describe('Settings of feeds, and feeds of your own, by name.'),
    deliveries: z.record(z.string(), deliverySettings).describe('Where which events are sent, by name.'),
  });
  return z.toJSONSchema(file.partial(), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The program reads each scalar as the text that was written; YAML makes numbers and booleans of some.
      if (jsonSchema.type === 'string' && jsonSchema.enum === undefined && jsonSchema.const === undefined)
        jsonSchema.type = ['string', 'number', 'boolean'] as unknown as 'string';
    },
  });
}
