import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { limitInput } from './limit-input';
import { eventHeaders, imageHeaders, sampleMessages } from './messages';

/** Messages for the producer in Java, in a file: headers of events and of images, then key, event and image of each record. */
async function main(): Promise<void> {
  const input = limitInput();
  const messages = await sampleMessages(input);
  const parts: Buffer[] = [];
  const number = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    parts.push(bytes);
  };
  const bytes = (value: string | Buffer) => {
    number(Buffer.byteLength(value));
    parts.push(Buffer.from(value as string));
  };
  for (const headers of [eventHeaders, imageHeaders]) {
    number(Object.keys(headers).length);
    for (const part of Object.entries(headers).flat()) bytes(part);
  }
  number(messages.length);
  for (const { key, event, image } of messages) for (const part of [key, event, image]) bytes(part);
  const file = path.join(input.folder, 'messages');
  writeFileSync(file, Buffer.concat(parts));
  console.log(JSON.stringify({ file }));
}

void main();
