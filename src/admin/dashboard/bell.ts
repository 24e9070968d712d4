/** Wakes all who wait for something to have moved. */
export interface Bell {
  ring(): void;
  /** Of the next ring after the call. */
  readonly next: Promise<void>;
}

export function createBell(): Bell {
  let resolve: () => void = () => undefined;
  let next = new Promise<void>((done) => {
    resolve = done;
  });
  return {
    ring() {
      const ringing = resolve;
      next = new Promise((done) => {
        resolve = done;
      });
      ringing();
    },
    get next() {
      return next;
    },
  };
}
