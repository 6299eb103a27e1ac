"""read_all.py BOOTSTRAP TOPIC: every record of partition 0, one a line."""

import sys

from common import end_offset, read, shown

bootstrap, topic = sys.argv[1:]
for message in read(bootstrap, topic, 0, 0, end_offset(bootstrap, topic, 0)):
    print(message.offset(), shown(message.key()), shown(message.value()))
