const pipeline = 'test/unit/pipeline';
const changes = [`${pipeline}/events.test.ts`];
const records = [`${pipeline}/decode.test.ts`];
const scans = [`${pipeline}/scan-in-memory.test.ts`];
const policy = ['test/unit/source/response-policy.test.ts'];

/** The modules that are mutated, each with the suites that have to notice. */
export const core: Readonly<Record<string, readonly string[]>> = {
  'src/pipeline/changes/compare.ts': [`${pipeline}/compare.test.ts`],
  'src/pipeline/records/coerce.ts': [`${pipeline}/coerce.test.ts`],
  'src/pipeline/records/decode.ts': records,
  'src/pipeline/changes/transitions.ts': changes,
  'src/pipeline/transaction/encode.ts': changes,
  'src/pipeline/scan/pages/paging.ts': [`${pipeline}/paging.test.ts`],
  'src/pipeline/scan/pages/page-facts.ts': [`${pipeline}/paging.test.ts`],
  'src/pipeline/scan/keyset-cursor.ts': [`${pipeline}/keyset-cursor.test.ts`],
  'src/pipeline/position.ts': [`${pipeline}/position.test.ts`],
  'src/pipeline/scan/pages/first-page.ts': [`${pipeline}/first-page.test.ts`],
  'src/pipeline/scan/pages/page-walk.ts': [
    `${pipeline}/page-walk.test.ts`,
    ...scans,
    `${pipeline}/seam.test.ts`,
  ],
  'src/pipeline/scan/present.ts': [`${pipeline}/present.test.ts`],
  'src/pipeline/scan/beginning.ts': [`${pipeline}/beginning.test.ts`],
  'src/pipeline/scan/date-windows.ts': [`${pipeline}/date-windows.test.ts`],
  'src/pipeline/scan/scan-position.ts': scans,
  'src/pipeline/scan/scan-without-order.ts': scans,
  'src/pipeline/scan/scan.ts': scans,
  'src/pipeline/scan/seam.ts': [`${pipeline}/seam.test.ts`],
  'src/pipeline/scan/all-pages.ts': [`${pipeline}/seam.test.ts`],
  'src/log/kafka/group/owners-protocol.ts': ['test/unit/log/kafka/feed-assignment.test.ts'],
  'src/log/kafka/consumer/subscription.ts': ['test/unit/log/kafka/consumer/partition-assignment.test.ts'],
  'src/log/kafka/connection/kafka-failure.ts': ['test/unit/log/kafka/kafka-failure.test.ts'],
  'src/source/retry.ts': ['test/unit/source/retry.test.ts', 'test/unit/source/retry-after.test.ts'],
  'src/source/response-policy.ts': policy,
  'src/state/source-offset.ts': ['test/unit/state/source-offset.test.ts'],
};
