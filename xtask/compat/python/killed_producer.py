"""killed_producer.py BOOTSTRAP TOPIC PARTITIONS: writes without pause while its broker is killed and started again.

An idempotent producer (acks=all) numbers the records of each partition. On stdin: `settle` stops the writing, waits for
every answer, reads what was written since the last `settle` and prints one JSON line of counts; `write` goes on; the end
of stdin ends the program.
"""

import collections
import json
import sys
import threading

from common import end_offset, fail, read
from confluent_kafka import Producer

BURST = 20  # records a partition gets between two looks at the delivery reports
WAITING_MAX = 4_000  # records without an answer, at which the writer waits
READ_LIMIT_SECONDS = 90

bootstrap, topic, partitions = sys.argv[1], sys.argv[2], int(sys.argv[3])
producer = Producer({
    "bootstrap.servers": bootstrap,
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 1,
    "delivery.timeout.ms": 120_000,
    "message.timeout.ms": 120_000,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 20,
    "log_level": 0,
})

acked = [{} for _ in range(partitions)]  # number of the record -> offset
refused = []
next_number = [0] * partitions
verified_end = [0] * partitions
writing = threading.Event()
idle = threading.Event()
ended = threading.Event()


def note(partition, number):
    def on_delivery(error, message):
        if error:
            refused.append(f"{topic}-{partition} record {number}: {error}")
        else:
            acked[partition][number] = message.offset()

    return on_delivery


def write():
    while not ended.is_set():
        if not writing.is_set():
            idle.set()
            writing.wait(0.05)
            continue
        idle.clear()
        for partition in range(partitions):
            for _ in range(BURST):
                number = next_number[partition]
                next_number[partition] += 1
                producer.produce(topic, b"%d" % number, partition=partition, on_delivery=note(partition, number))
        producer.poll(0.001)
        while len(producer) > WAITING_MAX and not ended.is_set():
            producer.poll(0.01)


def settle():
    writing.clear()
    idle.wait()
    left = producer.flush(READ_LIMIT_SECONDS)
    counts = collections.Counter(unanswered=left, refused=len(refused), acked=0, read=0, lost=0, doubled=0, moved=0, disorder=0)
    for partition in range(partitions):
        verify(partition, counts)
    print(json.dumps({**counts, "refusals": refused[:3]}), flush=True)


def verify(partition, counts):
    """Compares what was acknowledged since the last time with what a reader finds."""
    start, end = verified_end[partition], end_offset(bootstrap, topic, partition)
    offsets = collections.defaultdict(list)
    previous = -1
    for message in read(bootstrap, topic, partition, start, end):
        number = int(message.value())
        offsets[number].append(message.offset())
        counts["disorder"] += number <= previous
        previous = number
    for number, offset in acked[partition].items():
        counts["lost"] += number not in offsets
        counts["moved"] += number in offsets and offset not in offsets[number]
    counts["acked"] += len(acked[partition])
    counts["read"] += sum(map(len, offsets.values()))
    counts["doubled"] += sum(len(found) - 1 for found in offsets.values())
    acked[partition].clear()
    verified_end[partition] = end


writer = threading.Thread(target=write, daemon=True)
writer.start()
for line in sys.stdin:
    match line.strip():
        case "write":
            writing.set()
        case "settle":
            settle()
        case other:
            fail(f"unknown word: {other}")
ended.set()
writing.set()
writer.join()
