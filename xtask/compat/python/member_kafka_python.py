"""member_kafka_python.py BOOTSTRAP GROUP TOPIC PROTOCOL: one member of a consumer group, on kafka-python (the classic protocol).

Prints as member.py does. Leaves the group when stdin ends.
"""

import sys

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import KafkaError
from members import commits, got, has, stdin_ended

bootstrap, group, topic = sys.argv[1:4]
consumer = KafkaConsumer(
    bootstrap_servers=bootstrap,
    group_id=group,
    auto_offset_reset="earliest",
    enable_auto_commit=False,
    session_timeout_ms=6000,
    heartbeat_interval_ms=300,
    fetch_max_wait_ms=200,
)


class Told(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        has(place.partition for place in consumer.assignment())


consumer.subscribe([topic], listener=Told())
while not stdin_ended.is_set():
    records = [record for batch in consumer.poll(timeout_ms=100).values() for record in batch]
    for record in records:
        got(record.partition, record.offset, record.value)
    if records:
        try:
            consumer.commit()
            commits((record.partition, record.offset) for record in records)
        except KafkaError as error:
            print(f"commit: {error!r}", file=sys.stderr)
consumer.close()
