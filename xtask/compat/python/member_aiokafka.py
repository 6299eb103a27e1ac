"""member_aiokafka.py BOOTSTRAP GROUP TOPIC PROTOCOL: one member of a consumer group, on aiokafka (the classic protocol).

Prints as member.py does. Leaves the group when stdin ends.
"""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.errors import KafkaError
from members import commits, got, has, stdin_ended

bootstrap, group, topic = sys.argv[1:4]


class Told(ConsumerRebalanceListener):
    async def on_partitions_revoked(self, revoked):
        pass

    async def on_partitions_assigned(self, assigned):
        has(place.partition for place in assigned)


async def main():
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6000,
        heartbeat_interval_ms=300,
        fetch_max_wait_ms=200,
    )
    consumer.subscribe([topic], listener=Told())
    await consumer.start()
    while not stdin_ended.is_set():
        batches = await consumer.getmany(timeout_ms=100)
        records = [record for batch in batches.values() for record in batch]
        for record in records:
            got(record.partition, record.offset, record.value)
        if records:
            try:
                await consumer.commit()
                commits((record.partition, record.offset) for record in records)
            except KafkaError as error:
                print(f"commit: {error!r}", file=sys.stderr)
    await consumer.stop()


asyncio.run(main())
