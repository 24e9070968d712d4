import type { PageRequest, Source, SourcePage } from '../../src/source/source';

export interface PagedSource extends Source {
  /** The requests so far. */
  readonly asked: PageRequest[];
}

/** A source in memory. @param show the rows of an answer; requests count from 1 */
export function pagedSource(
  show: (asked: PageRequest, request: number) => readonly unknown[],
  receivedAtMs = 0,
  serverDateMs: number | null = null,
): PagedSource {
  const asked: PageRequest[] = [];
  return {
    asked,
    async fetchPage(_feed, request): Promise<SourcePage> {
      asked.push(request);
      return { rows: show(request, asked.length), next: null, serverDateMs, receivedAtMs };
    },
  };
}
