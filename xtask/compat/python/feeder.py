"""feeder.py BOOTSTRAP TOPIC PARTITIONS: writes a few records a second into each partition until stdin ends, then prints a
line `PARTITION COUNT` for each. A record's value is its offset.
"""

import sys

from common import fail
from confluent_kafka import Producer
from members import stdin_ended

RECORDS = 20  # a partition and pause
PAUSE_SECONDS = 0.1

bootstrap, topic, partitions = sys.argv[1], sys.argv[2], int(sys.argv[3])
producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0, "log_level": 0})
written = 0
while not stdin_ended.is_set():
    for partition in range(partitions):
        for number in range(written, written + RECORDS):
            producer.produce(topic, str(number), partition=partition)
    written += RECORDS
    producer.poll(0)
    stdin_ended.wait(PAUSE_SECONDS)
if producer.flush(60):
    fail("not every record was taken")
for partition in range(partitions):
    print(partition, written)
