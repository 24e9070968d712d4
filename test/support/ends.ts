const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Calls this after the test, what was opened last first. */
export function endsWithTest(end: () => unknown): void {
  ends.push(end);
}
