"""dated.py BOOTSTRAP TOPIC PARTITIONS COUNT: writes COUNT records into each partition, each a minute later than the one
before, from 2023-11-14T22:13:20Z on.
"""

import sys

from common import fail
from confluent_kafka import Producer

FIRST_MS = 1_700_000_000_000
MINUTE_MS = 60_000

bootstrap, topic, partitions, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
for partition in range(partitions):
    for number in range(count):
        producer.produce(topic, str(number), partition=partition, timestamp=FIRST_MS + number * MINUTE_MS)
if producer.flush(60):
    fail("not every record was taken")
