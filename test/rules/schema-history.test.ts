import { readdirSync } from 'node:fs';
import { historyFolder } from '../../src/avro/registry/schema-history';
import { historyGaps, keptSubjects } from '../../tools/generate/schema-versions';

it('every schema is the latest version that is kept, can be read with all others, and the changelog tells of it', () => {
  expect(historyGaps()).toStrictEqual([]);
});

it('versions are kept of the subjects that there are, and of no others', () => {
  const subjects = keptSubjects().map(({ subject }) => subject);
  expect(readdirSync(historyFolder).sort()).toEqual(subjects.sort());
});
