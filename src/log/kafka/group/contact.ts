/** Whether a group can be reached, and whether people were told that it cannot. */
export class Contact {
  /** Own clock; null while the group can be reached. At first it has not been reached. */
  private lostSince: number | null = performance.now();
  private isTold = false;

  /** @returns whether people were told that it was lost */
  regained(): boolean {
    const { isTold } = this;
    this.lostSince = null;
    this.isTold = false;
    return isTold;
  }

  /** @returns for how long the group could not be reached, in ms */
  failed(): number {
    this.lostSince ??= performance.now();
    return performance.now() - this.lostSince;
  }

  /** @returns whether people are to be told now: once for each loss */
  tell(): boolean {
    const { isTold } = this;
    this.isTold = true;
    return !isTold;
  }
}
