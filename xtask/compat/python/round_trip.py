"""round_trip.py BOOTSTRAP: what confluent-kafka and kafka-python write, each of them reads back.

Prints one JSON line for each record read and for each answer to a record that is too large.
"""

import json
import random
import sys
import time

import confluent_kafka
import kafka
from common import create_topic, read, shown

MEGABYTE = 1_000_000
TOO_LARGE = 1_100_000  # max.message.bytes is 1,048,588 unless a topic says otherwise
CLIENT_LIMIT = 5_000_000

RANDOM = random.Random(44)
# key, value, headers, timestamp in milliseconds
RECORDS = [
    (b"key", b"value", [], 1_600_000_000_000),
    (None, b"no key", [], 1_600_000_000_001),
    (b"no value", None, [], 1_600_000_000_002),
    (None, None, [], 1_600_000_000_003),
    (b"", b"", [], 1_600_000_000_004),
    (b"headers", b"v", [("a", b"1"), ("b", b""), ("a", b"2"), ("\u00fc", "\u00e9".encode())], 1_600_000_000_005),
    (b"null header", b"v", [("nothing", None)], 1_600_000_000_006),
    (b"the first millisecond", b"v", [], 1),
    (b"out of order", b"v", [], 1_500_000_000_000),
    (b"large, random", RANDOM.randbytes(MEGABYTE), [], 1_600_000_000_007),
    (b"large, all alike", b"x" * MEGABYTE, [], 1_600_000_000_008),
    (RANDOM.randbytes(100_000), b"a large key", [], 1_600_000_000_009),
]


def write_with_confluent(bootstrap, topic, records):
    answers = []
    config = {"bootstrap.servers": bootstrap, "message.max.bytes": CLIENT_LIMIT, "linger.ms": 5}
    producer = confluent_kafka.Producer(config)
    for key, value, headers, timestamp in records:
        producer.produce(
            topic,
            key=key,
            value=value,
            headers=headers,
            timestamp=timestamp,
            partition=0,
            on_delivery=lambda error, message: answers.append(error.code() if error else message.offset()),
        )
    producer.flush(60)
    return answers


def write_with_kafka_python(bootstrap, topic, records):
    answers = []
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all", max_request_size=CLIENT_LIMIT)
    for key, value, headers, timestamp in records:
        sent = producer.send(topic, key=key, value=value, headers=headers, timestamp_ms=timestamp, partition=0)
        try:
            answers.append(sent.get(60).offset)
        except kafka.errors.BrokerResponseError as error:
            answers.append(error.errno)
    producer.close()
    return answers


def read_with_confluent(bootstrap, topic, count):
    for message in read(bootstrap, topic, 0, 0, count):
        kind, timestamp = message.timestamp()
        yield message.offset(), message.key(), message.value(), message.headers() or [], kind - 1, timestamp


def read_with_kafka_python(bootstrap, topic, count):
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None, consumer_timeout_ms=60_000
    )
    consumer.assign([kafka.TopicPartition(topic, 0)])
    for record, _ in zip(consumer, range(count)):
        headers = list(record.headers)
        yield record.offset, record.key, record.value, headers, record.timestamp_type, record.timestamp
        if record.offset == count - 1:
            break
    consumer.close()


WRITERS = {"confluent-kafka": write_with_confluent, "kafka-python": write_with_kafka_python}
READERS = {"confluent-kafka": read_with_confluent, "kafka-python": read_with_kafka_python}


def show(step, **what):
    print(json.dumps({"step": step, **what}, ensure_ascii=False))


def round_trip(bootstrap, writer, topic, records, stamped_by_broker=False):
    answers = WRITERS[writer](bootstrap, topic, records)
    show(f"{writer} writes to {topic}", offsets=answers)
    for reader, read_all in READERS.items():
        step = f"{reader} reads {topic}"
        for offset, key, value, headers, kind, timestamp in read_all(bootstrap, topic, len(records)):
            if stamped_by_broker:
                timestamp = "now" if abs(time.time() * 1000 - timestamp) < 60_000 else timestamp
            shown_headers = [[name, shown(content)] for name, content in headers]
            show(step, offset=offset, key=shown(key), value=shown(value), headers=shown_headers,
                 timestamp_type=kind, timestamp=timestamp)


def can_write(writer, record):
    """kafka-python refuses a record with neither key nor value, and a header without a value."""
    key, value, headers, _ = record
    refused = (key, value) == (None, None) or any(content is None for _, content in headers)
    return writer != "kafka-python" or not refused


def main(bootstrap):
    for writer in WRITERS:
        topic = f"by-{writer}"
        create_topic(bootstrap, topic)
        round_trip(bootstrap, writer, topic, [record for record in RECORDS if can_write(writer, record)])

        stamped = f"stamped-{writer}"
        create_topic(bootstrap, stamped, 1, {"message.timestamp.type": "LogAppendTime"})
        round_trip(bootstrap, writer, stamped, RECORDS[:3], stamped_by_broker=True)

        limited = f"limited-{writer}"
        create_topic(bootstrap, limited)
        small, large = (b"k", b"small", [], 1), (b"k", RANDOM.randbytes(TOO_LARGE), [], 2)
        show(f"{writer}: too large", offset=WRITERS[writer](bootstrap, limited, [small])[0],
             error=WRITERS[writer](bootstrap, limited, [large])[0],
             next_offset=WRITERS[writer](bootstrap, limited, [small])[0])


main(sys.argv[1])
