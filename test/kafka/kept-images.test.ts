import { keptImagesContract } from '../contract/kept-images';
import { cliPublisher } from '../support/cli-publisher';
import { kafkaWorld } from '../support/kafka-world';

keptImagesContract(cliPublisher(kafkaWorld().env));
