/**
 * What commands need on Kafka alone. Loaded where it is used: the clients of Kafka and of its registry are a third of all that a
 * command loads, and on the embedded log none of them is needed.
 */
export function onKafka() {
  const {
    confluentRegistry,
  }: typeof import('../../avro/registry/confluent-registry') = require('../../avro/registry/confluent-registry');
  const { openKafkaLog }: typeof import('../../log/kafka/kafka-log') = require('../../log/kafka/kafka-log');
  return { confluentRegistry, openKafkaLog };
}
