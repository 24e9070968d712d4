import type { Config } from '../../config/load-config';
import { type DeliveryStatus, deliveryStatus } from '../../delivery/status';
import { HighwaterError } from '../../errors';
import { harmless } from '../../format/short-text';
import { createLogger } from '../../logging/logger';
import type { CommandContext } from '../process/command-context';
import { type Column, fittedTable, type Span, span } from '../terminal/text';

/** The log of consumers is opened only for settings with deliveries. */
export async function readDeliveries(
  config: Config,
  { logging, signal, report }: Pick<CommandContext, 'logging' | 'signal' | 'report'>,
): Promise<readonly DeliveryStatus[]> {
  if (config.deliveries.length === 0) return [];
  const { openConfigured }: typeof import('../../consumer/open-log') = require('../../consumer/open-log');
  const logger = createLogger({ ...config.log, level: 'error', secrets: config.secrets, ...logging });
  const opened = openConfigured(config, logger);
  return deliveryStatus(config.deliveries, opened, signal)
    .catch((error: unknown) => {
      // The feeds are shown all the same.
      if (signal.aborted || !(error instanceof HighwaterError)) throw error;
      report(error);
      return [];
    })
    .finally(() => opened.log.close());
}

const columns: readonly Column[] = [
  { head: 'DELIVERY', least: 8 },
  { head: 'LAG', alignRight: true },
  { head: 'DEAD LETTERS', alignRight: true },
  { head: 'WAITS FOR', least: 9 },
];

/** A table of the deliveries and an empty line; nothing without deliveries. */
export function deliveryLines(deliveries: readonly DeliveryStatus[], width: number): Span[][] {
  if (deliveries.length === 0) return [];
  const rows = deliveries.map(({ delivery, lag, dead_letters: letters, waits_for: why }) => [
    span(harmless(delivery), 'bold'),
    lag === null ? span('never ran', 'yellow') : span(lag.toLocaleString('en-US')),
    span(letters.toLocaleString('en-US'), letters > 0 ? 'yellow' : 'dim'),
    why === null ? span('-', 'dim') : span(harmless(why), 'red'),
  ]);
  return [...fittedTable(columns, rows, width), []];
}
