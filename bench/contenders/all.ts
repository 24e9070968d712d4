import type { Contender } from '../contender';
import { limits } from '../limits/all';
import { benthos } from './benthos';
import { highwaterOnKafka } from './highwater';
import { highwaterEmbedded } from './highwater-embedded';

/** In the order of the table. */
export const contenders: readonly Contender[] = [
  highwaterOnKafka('gzip'),
  highwaterOnKafka('lz4'),
  highwaterOnKafka('zstd'),
  highwaterEmbedded,
  benthos('benthos-two-cores.yaml', 'Benthos 4.27 on two cores, lz4', 'peer'),
  benthos('benthos.yaml', 'Benthos 4.27, lz4', 'peer'),
  benthos('benthos-raw.yaml', 'Benthos 4.27, pages as they come, no diff, no Avro, lz4', 'lesser peer'),
  ...limits,
];
