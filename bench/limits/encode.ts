import { measureOwn } from '../measure/own-usage';
import { limitInput } from './limit-input';
import { encodeMessage, fetchRecords, shippedCodec } from './messages';

/** Image and event of each record, encoded and thrown away. */
async function main(): Promise<void> {
  const input = limitInput();
  const codec = await shippedCodec();
  const rows = await fetchRecords(input);
  const measured = measureOwn();
  for (let i = 0; i < input.records; i++) encodeMessage(codec, rows[i % rows.length]!, i);
  console.log(JSON.stringify({ records: input.records, ...measured() }));
}

void main();
