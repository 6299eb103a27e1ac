"""load.py BOOTSTRAP TOPIC COUNT SIZE [KEY=VALUE ...]: writes COUNT records of SIZE bytes with confluent-kafka.

The bytes are drawn from a fixed seed, half of each value compresses; the timestamps are fixed. KEY=VALUE are settings of the
producer, or of the topic where they begin with `topic.`.
"""

import random
import sys

from common import create_topic, fail
from confluent_kafka import Producer

bootstrap, topic, count, size, *settings = sys.argv[1:]
settings = dict(entry.split("=", 1) for entry in settings)
topic_config = {key.removeprefix("topic."): value for key, value in settings.items() if key.startswith("topic.")}
producer_config = {key: value for key, value in settings.items() if not key.startswith("topic.")}
create_topic(bootstrap, topic, 1, topic_config)

failures = []
source = random.Random(topic)
producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **producer_config})
for number in range(int(count)):
    half = int(size) // 2
    value = source.randbytes(half) + b"y" * (int(size) - half)
    while True:
        try:
            producer.produce(
                topic, key=b"key-%d" % number, value=value, partition=0, timestamp=1_600_000_000_000 + number,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
            break
        except BufferError:
            producer.poll(0.1)
left = producer.flush(60)
if left or failures:
    fail(f"{left} records were not sent, {len(failures)} failed: {failures[:3]}")
