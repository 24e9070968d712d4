import { FULL_TRANSITIVE, type SchemaStatus } from '../../avro/registry/registry';
import type { HistoryStanding } from '../../avro/registry/schema-history';
import { harmless } from '../terminal/cells';
import { painted, type Span, span } from '../terminal/spans';

const labels: Readonly<Record<SchemaStatus['state'], Span>> = {
  registered: span('= registered  ', 'dim'),
  new: span('+ new         ', 'green'),
  compatible: span('~ compatible  ', 'yellow'),
  incompatible: span('x incompatible', 'red'),
};

/** How a schema stands in the registry, as one line. @param subjectCells width of the first column */
export function schemaLine(
  subject: string,
  status: SchemaStatus,
  { subjectCells, color }: { readonly subjectCells: number; readonly color: boolean },
): string {
  const spans = [
    span(`${harmless(subject).padEnd(subjectCells)}  `),
    labels[status.state],
    span(`  ${harmless(facts(status))}`),
    ...(isHeld(status) ? [] : [span(`  held to ${harmless(status.level ?? '')} only`, 'yellow')]),
  ];
  return `${painted(spans, Infinity, color).trimEnd()}\n`;
}

const historyLabels: Readonly<Record<HistoryStanding['state'], Span>> = {
  kept: span('= kept        ', 'dim'),
  changed: span('~ changed     ', 'yellow'),
  unexplained: span('~ unexplained ', 'yellow'),
  incompatible: span('x incompatible', 'red'),
};

/** How a schema stands to the versions that are kept of it, as one line. @param subjectCells width of the first column */
export function historyLine(
  subject: string,
  standing: HistoryStanding,
  { subjectCells, color }: { readonly subjectCells: number; readonly color: boolean },
): string {
  const spans = [
    span(`${harmless(subject).padEnd(subjectCells)}  `),
    historyLabels[standing.state],
    span(`  ${harmless(historyFacts(standing))}`),
  ];
  return `${painted(spans, Infinity, color).trimEnd()}\n`;
}

function historyFacts(standing: HistoryStanding): string {
  switch (standing.state) {
    case 'kept':
      return `version ${standing.version}`;
    case 'changed':
      return standing.latest === null ? 'no version is kept' : `since version ${standing.latest}`;
    case 'unexplained':
      return `version ${standing.version} has no line in the changelog`;
    case 'incompatible':
      return standing.reason.problem;
  }
}

/** Whether the registry itself refuses incompatible versions; of a subject that is not there it will. */
export function isHeld({ level }: SchemaStatus): boolean {
  return level === null || level === FULL_TRANSITIVE;
}

function facts(status: SchemaStatus): string {
  switch (status.state) {
    case 'registered':
      return `id ${status.id}, version ${status.version}`;
    case 'new':
      return '';
    case 'compatible':
      return `may follow version ${status.latest}`;
    case 'incompatible':
      return status.reason.problem;
  }
}
