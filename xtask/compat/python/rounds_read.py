"""rounds_read.py BOOTSTRAP: every record of every topic, a line each: TOPIC PARTITION OFFSET KEY VALUE FATE, where the fate is
`committed` if a reader of committed records gets it, else `aborted`.
"""

import sys

from confluent_kafka import Consumer, TopicPartition
from common import admin, fail

bootstrap = sys.argv[1]
WAIT_SECONDS = 30


def read(topic, partition, isolation):
    """Every record that a reader of this isolation gets."""
    reader = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": "unused",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": isolation,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 50,
        "log_level": 0,
    })
    low, _ = reader.get_watermark_offsets(TopicPartition(topic, partition), timeout=WAIT_SECONDS)
    reader.assign([TopicPartition(topic, partition, low)])
    records = []
    while True:
        message = reader.poll(WAIT_SECONDS)
        if message is None:
            fail(f"{topic}-{partition} never ends")
        if message.error():
            break  # the end of the partition
        records.append(message)
    reader.close()
    return records


def text(value):
    return "null" if value is None else value.decode()


topics = admin(bootstrap).list_topics(timeout=WAIT_SECONDS).topics
for topic in sorted(name for name in topics if not name.startswith("__")):
    for partition in topics[topic].partitions:
        committed = {message.offset() for message in read(topic, partition, "read_committed")}
        for message in read(topic, partition, "read_uncommitted"):
            fate = "committed" if message.offset() in committed else "aborted"
            print(topic, partition, message.offset(), text(message.key()), text(message.value()), fate)
