"""raw_produce.py BOOTSTRAP FOLDER: Produce requests whose record batches are built here, byte by byte.

Sends the same batches to each topic and writes what was sent to FOLDER/TOPIC.sent, so that they can be compared with the
log afterwards. Everything in them is fixed. Prints each answer.
"""

import gzip
import random
import socket
import struct
import sys
from pathlib import Path

from common import create_topic, fail

PRODUCE, PRODUCE_VERSION = 0, 7
BASE_TIMESTAMP = 1_600_000_000_000
GZIP = 1
TOPICS = {
    "raw-plain": {},
    "raw-stamped": {"message.timestamp.type": "LogAppendTime"},
    "raw-rolled": {"segment.bytes": "1048576"},
}


def crc32c_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = list(crc32c_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number & ~0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def sized(value):
    return varint(-1) if value is None else varint(len(value)) + value


def record(delta, key, value, headers=()):
    shown_headers = b"".join(sized(name) + sized(content) for name, content in headers)
    body = b"\0" + varint(delta) + varint(delta) + sized(key) + sized(value) + varint(len(headers)) + shown_headers
    return varint(len(body)) + body


def batch(number, records, codec=0, producer=(-1, -1, -1), leader_epoch=-1):
    body = b"".join(record(delta, *content) for delta, content in enumerate(records))
    if codec == GZIP:
        body = gzip.compress(body, mtime=0)
    first = BASE_TIMESTAMP + 1000 * number
    last_delta = len(records) - 1
    checked = struct.pack(">hiqqqhii", codec, last_delta, first, first + last_delta, *producer, len(records)) + body
    head = struct.pack(">iBI", leader_epoch, 2, crc32c(checked))
    return struct.pack(">qi", 0, len(head) + len(checked)) + head + checked


def batches():
    source = random.Random(45)
    sequence = 0
    for number in range(60):
        size = [10, 1_000, 30_000, 60_000][number % 4]
        records = [(b"k%d" % number, source.randbytes(size), [(b"h", None), (b"i", b"x")])]
        records += [(None, b"small")] * (number % 5)
        codec = GZIP if number % 3 == 1 else 0
        producer = (-1, -1, -1)
        if number % 2 == 0:
            producer = (4711, 0, sequence)
            sequence += len(records)
        # A client's leader epoch means nothing to a broker, which writes its own.
        yield batch(number, records, codec, producer, leader_epoch=number - 1)


def exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            fail("the broker closed the connection")
        data += more
    return data


def produce(connection, correlation, topic, data):
    """Returns error code and base offset of the only partition."""
    name = topic.encode()
    header = struct.pack(">hhih", PRODUCE, PRODUCE_VERSION, correlation, -1)
    body = struct.pack(">hhii", -1, -1, 30_000, 1) + struct.pack(">h", len(name)) + name
    body += struct.pack(">iii", 1, 0, len(data)) + data
    connection.sendall(struct.pack(">i", len(header + body)) + header + body)
    (size,) = struct.unpack(">i", exactly(connection, 4))
    answer = exactly(connection, size)
    (answered,) = struct.unpack(">i", answer[:4])
    if answered != correlation:
        fail(f"answer {answered} to request {correlation}")
    partition = 4 + 4 + 2 + len(name) + 4
    _, error, base_offset = struct.unpack(">ihq", answer[partition : partition + 14])
    return error, base_offset


def main(bootstrap, folder):
    host, port = bootstrap.split(":")
    sent = list(batches())
    for topic, config in TOPICS.items():
        create_topic(bootstrap, topic, 1, config)
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            for correlation, data in enumerate(sent):
                error, base_offset = produce(connection, correlation, topic, data)
                print(f"{topic}: batch {correlation}: error {error}, base offset {base_offset}")
        Path(folder, f"{topic}.sent").write_bytes(b"".join(sent))


main(sys.argv[1], sys.argv[2])
