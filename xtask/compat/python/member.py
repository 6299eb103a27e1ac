"""member.py BOOTSTRAP GROUP TOPIC PROTOCOL [INSTANCE]: one member of a consumer group, on confluent-kafka (librdkafka).

Prints `has 0,2` whenever its partitions change, `got PARTITION OFFSET VALUE` for each record, and `committed PARTITION
NEXT` once the broker has taken a commit. Leaves the group when stdin ends.
"""

import sys

from confluent_kafka import Consumer, KafkaException
from members import commits, got, has, stdin_ended

bootstrap, group, topic, protocol = sys.argv[1:5]
config = {
    "bootstrap.servers": bootstrap,
    "group.id": group,
    "group.protocol": protocol,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 200,
    "log_level": 0,
}
if protocol == "classic":
    config |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 300}
if len(sys.argv) > 5:
    config["group.instance.id"] = sys.argv[5]
consumer = Consumer(config)


def changed(_consumer, _partitions):
    # The callback comes before the assignment is taken over, so the new state is told by the loop.
    global told
    told = None


told = None
consumer.subscribe([topic], on_assign=changed, on_revoke=changed, on_lost=changed)
while not stdin_ended.is_set():
    messages = [message for message in consumer.consume(200, 0.1) if not message.error()]
    owned = sorted(place.partition for place in consumer.assignment())
    if told != owned:
        has(owned)
        told = owned
    places = [(message.partition(), message.offset()) for message in messages]
    for message in messages:
        got(message.partition(), message.offset(), message.value())
    if messages:
        try:
            consumer.commit(asynchronous=False)
            commits(places)
        except KafkaException as error:
            print(f"commit: {error}", file=sys.stderr)
consumer.close()
