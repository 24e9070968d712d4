import path from 'node:path';

const dist = path.join(__dirname, '..', 'dist');

/** The command line program as it is shipped. */
export const program = path.join(dist, 'cli', 'main.js');

/** A module of what is shipped, not of its sources. @param name `avro/codec/feed-codec` */
export function fromDist<Module>(name: string): Module {
  return require(path.join(dist, name)) as Module;
}
