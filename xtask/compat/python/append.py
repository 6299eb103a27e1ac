"""append.py BOOTSTRAP TOPIC VALUE: one record in a batch of its own; prints its offset."""

import sys

from common import fail
from confluent_kafka import Producer

bootstrap, topic, value = sys.argv[1:]
reports = []
producer = Producer({"bootstrap.servers": bootstrap})
producer.produce(topic, value, partition=0, on_delivery=lambda error, message: reports.append((error, message.offset())))
if producer.flush(60):
    fail("no answer")
error, offset = reports[0]
if error:
    fail(error.str())
print(offset)
