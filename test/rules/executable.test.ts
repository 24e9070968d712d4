import { statSync } from 'node:fs';
import path from 'node:path';
import { build } from '../support/build';

it('the build makes the command executable: npx does so only where it never saw the folder', async () => {
  const file = path.join(await build(), 'cli', 'main.js');
  expect(statSync(file).mode & 0o111).toBe(0o111);
});
