"""What the steps share: making topics, reading a partition from end to end, printing a value in one line."""

import functools
import hashlib
import sys
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

DEADLINE_SECONDS = 60


def fail(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(1)


@functools.cache
def admin(bootstrap):
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def create_topic(bootstrap, name, partitions=1, config=None):
    """Makes a topic and returns once each of its partitions answers for its offsets."""
    topic = NewTopic(name, partitions, 1, config=config or {})
    admin(bootstrap).create_topics([topic])[name].result(DEADLINE_SECONDS)
    for partition in range(partitions):
        end_offset(bootstrap, name, partition)


def consumer(bootstrap):
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": "unused",
        "enable.auto.commit": False,
        "enable.partition.eof": False,
        "fetch.message.max.bytes": 4_000_000,
    }
    return Consumer(config)


def end_offset(bootstrap, topic, partition):
    """The partition's end, asked for again while the topic or its leader is still unknown."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    place = TopicPartition(topic, partition)
    while True:
        try:
            answers = admin(bootstrap).list_offsets({place: OffsetSpec.latest()}, request_timeout=5)
            return answers[place].result().offset
        except KafkaException as error:
            if time.monotonic() > deadline:
                fail(f"{topic}-{partition} answers no ListOffsets: {error}")
            # librdkafka's admin client keeps a leader epoch that the broker has left behind.
            admin.cache_clear()
            time.sleep(0.02)


def read(bootstrap, topic, partition, start, end):
    """All records from `start` up to, not including, `end`."""
    reader = consumer(bootstrap)
    reader.assign([TopicPartition(topic, partition, start)])
    deadline = time.monotonic() + DEADLINE_SECONDS
    records = []
    while start < end:
        message = reader.poll(1)
        if message is None or (message.error() and message.error().retriable()):
            if time.monotonic() > deadline:
                fail(f"{topic}-{partition} yields nothing from offset {start}, though it ends at {end}")
            continue
        if message.error():
            fail(f"{topic}-{partition} at offset {start}: {message.error()}")
        start = message.offset() + 1
        if message.offset() < end:
            records.append(message)
    reader.close()
    return records


def shown(value):
    """Bytes in a line: short ones as they are, long ones by length and hash."""
    if value is None:
        return None
    if len(value) <= 40:
        return value.decode("utf-8", "backslashreplace")
    return f"{len(value)} bytes {hashlib.sha256(value).hexdigest()[:16]}"
