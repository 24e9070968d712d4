import type { Behaviour } from '../behaviour';

/** Positions of a page's rows in the window: from `from` up to, not including, `to`. */
export interface PageRange {
  readonly from: number;
  readonly to: number;
}

/** Where a page lies by the server's rules. Null: beyond what paging reaches. */
export function pageRange(page: number, pageSize: number, behaviour: Behaviour): PageRange | null {
  const rows = Math.min(pageSize, behaviour.pageCap ?? pageSize);
  const step = behaviour.capStep === 'cap' ? rows : pageSize;
  const counted = Math.max(0, page - behaviour.firstPage);
  const from = behaviour.ignorePaging ? 0 : behaviour.paging === 'offset' ? counted : counted * step;
  if (behaviour.positionLimit !== null && from > behaviour.positionLimit) return null;
  return { from, to: from + rows };
}
