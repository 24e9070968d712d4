"""Committed records of topics, read by librdkafka: without a group, from the beginning to the end as it is now."""

import time
from dataclasses import dataclass
from typing import Optional

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

DEADLINE_S = 60


@dataclass(frozen=True)
class RawRecord:
    topic: str  # without the prefix
    partition: int
    offset: int
    timestamp: int  # ms
    key: Optional[bytes]
    headers: tuple  # of (name, bytes)
    value: Optional[bytes]

    def __str__(self):
        return f"{self.topic}/{self.partition}@{self.offset}"


def read_topics(brokers, prefix):
    """All topics whose names begin with the prefix: topic -> number of partitions, and their records by partition and offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            # Needed by the library; without subscribe and commit the brokers never hear of it.
            "group.id": "outside-python",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        known = consumer.list_topics(timeout=DEADLINE_S).topics
        topics = {name: len(topic.partitions) for name, topic in known.items() if name.startswith(prefix)}
        open_partitions = {(name, number) for name, count in topics.items() for number in range(count)}
        consumer.assign([TopicPartition(*one, OFFSET_BEGINNING) for one in open_partitions])
        records = []
        deadline = time.monotonic() + DEADLINE_S
        while open_partitions:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not at the ends of {sorted(open_partitions)} within {DEADLINE_S} s")
            # It waits until it has so many, or for the time out.
            for message in consumer.consume(1000, timeout=0.2):
                if message.error() is None:
                    records.append(_record(message, prefix))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard((message.topic(), message.partition()))
                else:
                    raise KafkaException(message.error())
    finally:
        consumer.close()
    records.sort(key=lambda record: (record.topic, record.partition, record.offset))
    return {name[len(prefix) :]: count for name, count in topics.items()}, records


def _record(message, prefix):
    return RawRecord(
        topic=message.topic()[len(prefix) :],
        partition=message.partition(),
        offset=message.offset(),
        timestamp=message.timestamp()[1],
        key=message.key(),
        headers=tuple(message.headers() or ()),
        value=message.value(),
    )
