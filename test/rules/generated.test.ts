import { staleFiles } from '../../tools/generate/generated-files';

it('what is generated is checked in as it would be generated now: `npm run generate`', () => {
  expect(staleFiles().map((file) => `${file} is stale: run \`npm run generate\``)).toEqual([]);
});
