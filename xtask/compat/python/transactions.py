"""Transactional producers of confluent-kafka and kafka-python: commit, abort, fencing, time-out, offsets within
transactions. Prints a line of JSON for each step. Usage: transactions.py ADDRESS"""

import json
import sys
import time

import confluent_kafka
import kafka
import kafka.errors
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

ADDRESS = sys.argv[1]
WAIT = 30


def tell(step, **answer):
    print(json.dumps({"step": step, **answer}), flush=True)


def create(*topics):
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    for created in admin.create_topics([NewTopic(topic, 2, 1) for topic in topics]).values():
        created.result()
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        known = admin.list_topics(timeout=WAIT).topics
        if all(topic in known and len(known[topic].partitions) == 2 for topic in topics):
            return
    raise SystemExit("the topics were not created in time")


def values(topic, isolation):
    """All values of a topic as a reader of this isolation sees them, by partition."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": ADDRESS,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in (0, 1)])
    found, ended = {0: [], 1: []}, set()
    deadline = time.monotonic() + WAIT
    while len(ended) < 2 and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            ended.add(message.partition())
        else:
            found[message.partition()].append(message.value().decode())
    consumer.close()
    return [found[0], found[1]]


def both(topic):
    return {"committed": values(topic, "read_committed"), "all": values(topic, "read_uncommitted")}


def librdkafka(name, **more):
    producer = confluent_kafka.Producer({"bootstrap.servers": ADDRESS, "transactional.id": name, **more})
    producer.init_transactions(WAIT)
    return producer


def code(action):
    try:
        action()
        return None
    except KafkaException as error:
        return {"code": error.args[0].name(), "fatal": error.args[0].fatal()}


def of_librdkafka():
    create("rd", "rd-fence", "rd-late", "rd-offsets", "rd-copied")
    producer = librdkafka("rd")
    for number, ends in enumerate(["commit", "abort", "commit"]):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce("rd", f"{ends} {number}", partition=partition)
        producer.flush(WAIT)
        (producer.commit_transaction if ends == "commit" else producer.abort_transaction)(WAIT)
    tell("librdkafka: commit, abort, commit", **both("rd"))

    first = librdkafka("rd-fence")
    first.begin_transaction()
    first.produce("rd-fence", "of the first", partition=0)
    first.flush(WAIT)
    second = librdkafka("rd-fence")
    fenced = code(lambda: first.commit_transaction(WAIT))
    second.begin_transaction()
    second.produce("rd-fence", "of the second", partition=0)
    second.commit_transaction(WAIT)
    tell("librdkafka: a second instance", fenced=fenced, **both("rd-fence"))

    late = librdkafka("rd-late", **{"transaction.timeout.ms": 1000, "message.timeout.ms": 1000})
    late.begin_transaction()
    late.produce("rd-late", "too late", partition=0)
    late.flush(WAIT)
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline and highest_stable("rd-late") == 0:
        pass
    tell("librdkafka: a time-out", refused=code(lambda: late.commit_transaction(WAIT)) is not None, **both("rd-late"))

    source = confluent_kafka.Producer({"bootstrap.servers": ADDRESS})
    for number in range(40):
        source.produce("rd-offsets", str(number), partition=number % 2)
    source.flush(WAIT)
    for partition in (0, 1):
        copy_librdkafka(partition)
    tell("librdkafka: offsets within transactions", copied=values("rd-copied", "read_committed"))


def highest_stable(topic):
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": ADDRESS, "group.id": "looker", "isolation.level": "read_committed"}
    )
    high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=WAIT)[1]
    consumer.close()
    return high


def copy_librdkafka(partition):
    """Copies a partition in transactions of five; each third one is aborted and read again."""
    settings = {
        "bootstrap.servers": ADDRESS,
        "group.id": f"copy-{partition}",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
    }
    producer = librdkafka(f"copy-{partition}")
    attempts, end = 0, 20
    while True:
        consumer = confluent_kafka.Consumer(settings)
        begin = consumer.committed([TopicPartition("rd-offsets", partition)], timeout=WAIT)[0].offset
        begin = max(begin, 0)
        if begin >= end:
            consumer.close()
            return
        consumer.assign([TopicPartition("rd-offsets", partition, begin)])
        producer.begin_transaction()
        taken = 0
        while taken < 5:
            message = consumer.poll(WAIT)
            producer.produce("rd-copied", message.value(), partition=partition)
            taken += 1
        offsets = [TopicPartition("rd-offsets", partition, begin + taken)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT)
        attempts += 1
        if attempts % 3 == 0:
            producer.abort_transaction(WAIT)
        else:
            producer.commit_transaction(WAIT)
        consumer.close()


def of_kafka_python():
    create("py", "py-fence")
    producer = kafka.KafkaProducer(bootstrap_servers=ADDRESS, transactional_id="py")
    producer.init_transactions()
    for number, ends in enumerate(["commit", "abort", "commit"]):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.send("py", f"{ends} {number}".encode(), partition=partition).get(WAIT)
        (producer.commit_transaction if ends == "commit" else producer.abort_transaction)()
    producer.close()
    tell("kafka-python: commit, abort, commit", **both("py"))

    first = kafka.KafkaProducer(bootstrap_servers=ADDRESS, transactional_id="py-fence")
    first.init_transactions()
    first.begin_transaction()
    first.send("py-fence", b"of the first", partition=0).get(WAIT)
    second = kafka.KafkaProducer(bootstrap_servers=ADDRESS, transactional_id="py-fence")
    second.init_transactions()
    try:
        first.commit_transaction()
        fenced = None
    except kafka.errors.KafkaError as error:
        fenced = type(error).__name__
    second.begin_transaction()
    second.send("py-fence", b"of the second", partition=0).get(WAIT)
    second.commit_transaction()
    second.close()
    tell("kafka-python: a second instance", fenced=fenced, **both("py-fence"))


of_librdkafka()
of_kafka_python()
