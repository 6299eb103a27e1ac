"""rounds_write.py BOOTSTRAP ROUND: what a round adds while Kafka is the broker: batches of every codec, transactions that
end either way, keys again and again.
"""

import sys

from common import create_topic, fail
from confluent_kafka import Producer

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
RECORDS = 10

bootstrap, number = sys.argv[1], int(sys.argv[2])


def producer(**config):
    return Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0} | config)


def settle(client):
    if client.flush(60):
        fail("not every record was taken")


if number == 0:
    for codec in CODECS:
        create_topic(bootstrap, f"codec-{codec}")
    create_topic(bootstrap, "transactions")
    create_topic(bootstrap, "trimmed")
    create_topic(bootstrap, "compacted", config={"cleanup.policy": "compact"})

for codec in CODECS:
    client = producer(**{"compression.type": codec})
    for record in range(RECORDS):
        client.produce(f"codec-{codec}", f"kafka-{number}-{record}", key=f"k{number}", headers={"round": str(number)})
    settle(client)

for name, commits in [("a", True), ("b", False), ("c", True)]:
    client = producer(**{"transactional.id": name})
    client.init_transactions(60)
    client.begin_transaction()
    for record in range(RECORDS):
        client.produce("transactions", f"kafka-{number}-{name}-{record}")
    settle(client)
    client.commit_transaction(60) if commits else client.abort_transaction(60)

client = producer()
for record in range(RECORDS):
    client.produce("trimmed", f"kafka-{number}-{record}", key=f"k{number}")
    client.produce("compacted", f"kafka-{number}-{record}", key=f"k{record % 4}")
settle(client)
