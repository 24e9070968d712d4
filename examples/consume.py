# Follows a topic from its beginning and prints each record as a line of JSON.
#   pip install "confluent-kafka[avro,schemaregistry]"
#   KAFKA_BROKERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8081/apis/ccompat/v7 python consume.py ipos.deal-status
import json
import os
import sys

from confluent_kafka import DeserializingConsumer, KafkaException
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import StringDeserializer

topic = sys.argv[1] if len(sys.argv) > 1 else "ipos.deal-status"
consumer = DeserializingConsumer({
    "bootstrap.servers": os.environ["KAFKA_BROKERS"],
    "group.id": f"example-python-{topic}",
    "auto.offset.reset": "earliest",
    # A record counts once its transaction is committed, or never. librdkafka's default; Java's is another.
    "isolation.level": "read_committed",
    "key.deserializer": StringDeserializer(),
    "value.deserializer": AvroDeserializer(SchemaRegistryClient({"url": os.environ["SCHEMA_REGISTRY_URL"]})),
})
consumer.subscribe([topic])
try:
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        # A fence, in compacted topics: the publisher's own record, not the delete of one.
        if message.value() is None and "owner_epoch" in dict(message.headers() or []):
            continue
        # In `<feed>.current` no value means that the record of this key was deleted.
        print(json.dumps({"key": message.key(), "value": message.value()}), flush=True)
except KeyboardInterrupt:
    pass
finally:
    consumer.close()
