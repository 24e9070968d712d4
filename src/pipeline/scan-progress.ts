import type { Paging } from './paging';

/** What a feed's position becomes when the page that carries it is committed. */
export interface ScanProgress {
  /** Unix seconds; may be lower than before. */
  readonly highWaterMark: number;
  /** Rows of this page were read while the first snapshot runs: what is seen for the first time is `r`, not `c`. */
  readonly duringSnapshot: boolean;
  /** The scan ends with this page: everything that the server showed has been read. */
  readonly complete: boolean;
  readonly paging: Paging;
}
