"""What the members of a group print, and how they learn that they shall leave. Knows no client."""

import sys
import threading

stdin_ended = threading.Event()


def _wait():
    sys.stdin.read()
    stdin_ended.set()


threading.Thread(target=_wait, daemon=True).start()


def has(partitions):
    print("has", ",".join(map(str, sorted(partitions))), flush=True)


def got(partition, offset, value):
    print("got", partition, offset, value.decode())


def commits(places):
    """Tells the commit of the records at these places."""
    following = {}
    for partition, offset in places:
        following[partition] = max(offset + 1, following.get(partition, 0))
    for partition, offset in following.items():
        print("committed", partition, offset)
    sys.stdout.flush()
