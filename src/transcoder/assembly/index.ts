/**
 * The rows of an answer, from JSON text to Avro in one pass over its bytes: no row becomes an object. Compiled to WebAssembly
 * (`npm run generate:transcoder`); `../transcoder.ts` says what it is used for.
 *
 * It decides nothing: a row with anything that is not plain is left to `decode.ts`, and an answer that is not plain to
 * JSON.parse.
 */
import { beginImage, idAt, idEnd, symbolAt, symbolEnd, updated, writeRecord } from './image';
import {
  HEADER_BYTES,
  ROW_BYTES,
  ROW_END,
  ROW_ID,
  ROW_ID_END,
  ROW_IMAGE,
  ROW_IMAGE_END,
  ROW_IS_ENCODED,
  ROW_START,
  ROW_SYMBOL,
  ROW_SYMBOL_END,
  ROW_UPDATED,
} from './layout';
import { beginRow, endOfValue, isKnown, readObject } from './object';
import { endOfText, hasEscapes, isSame, skipSpace } from './text';

/** Behind what is the module's own: whoever fills the memory begins here. */
export function firstFreeByte(): i32 {
  return <i32>__heap_base;
}

/** Where `readRows` goes on; 0 once the answer has ended. */
let next: i32 = 0;
export function nextRow(): i32 {
  return next;
}

/**
 * An answer that is an object with one member, an array.
 * @param key the member's name, which needs no escapes
 * @returns where the first row stands, or the end of the array; 0 for any other answer
 */
export function beginRows(from: i32, limit: i32, key: i32, keyBytes: i32): i32 {
  let at = skipSpace(from);
  if (load<u8>(at) !== 0x7b) return 0;
  at = skipSpace(at + 1);
  if (load<u8>(at) !== 0x22) return 0;
  const end = endOfText(at + 1, limit);
  if (end - at - 1 !== keyBytes || hasEscapes || !isSame(at + 1, key, keyBytes)) return 0;
  at = skipSpace(end + 1);
  if (load<u8>(at) !== 0x3a) return 0;
  at = skipSpace(at + 1);
  return load<u8>(at) === 0x5b ? skipSpace(at + 1) : 0;
}

/**
 * Reads as many rows as there is room for; `nextRow` says where to go on.
 * @param fixedBytes what an image takes at most beside the texts of its row
 * @param schemaId as the header of the wire format has it, in the order of its bytes
 * @returns how many; -1 if the answer is not JSON, or not JSON that is read here
 */
export function readRows(
  plan: i32,
  from: i32,
  limit: i32,
  table: i32,
  mostRows: i32,
  images: i32,
  imagesEnd: i32,
  fixedBytes: i32,
  schemaId: i32,
): i32 {
  let at = from;
  let out = images;
  let count = 0;
  if (load<u8>(at) === 0x5d) return endRows(at, limit) ? 0 : -1;
  for (; count < mostRows; count++) {
    const row = table + count * ROW_BYTES;
    const isObject = load<u8>(at) === 0x7b;
    beginRow();
    const end = isObject ? readObject(plan, at, limit) : endOfValue(at, limit, 0);
    if (end === 0) return -1;
    const most = end - at + fixedBytes;
    if (out + most > imagesEnd && count > 0) break;
    beginImage();
    const canEncode = isObject && isKnown && out + most <= imagesEnd;
    const imageEnd = canEncode ? writeRecord(plan, out + HEADER_BYTES, limit) : 0;
    store<i32>(row, imageEnd === 0 ? 0 : 1, ROW_IS_ENCODED);
    store<i32>(row, at, ROW_START);
    store<i32>(row, end, ROW_END);
    if (imageEnd !== 0) {
      store<u8>(out, 0);
      store<i32>(out, schemaId, 1);
      store<i32>(row, idAt, ROW_ID);
      store<i32>(row, idEnd, ROW_ID_END);
      store<i32>(row, symbolAt, ROW_SYMBOL);
      store<i32>(row, symbolEnd, ROW_SYMBOL_END);
      store<i32>(row, out, ROW_IMAGE);
      store<i32>(row, imageEnd, ROW_IMAGE_END);
      store<u32>(row, updated, ROW_UPDATED);
      out = imageEnd;
    }
    at = skipSpace(end);
    const mark = load<u8>(at);
    if (mark === 0x5d) return endRows(at, limit) ? count + 1 : -1;
    if (mark !== 0x2c) return -1;
    at = skipSpace(at + 1);
    // A caller that went on there would take it for the end.
    if (load<u8>(at) === 0x5d) return -1;
  }
  next = at;
  return count;
}

/** Nothing may follow but the end of the object. */
function endRows(closing: i32, limit: i32): bool {
  next = 0;
  const at = skipSpace(closing + 1);
  return load<u8>(at) === 0x7d && skipSpace(at + 1) === limit;
}
