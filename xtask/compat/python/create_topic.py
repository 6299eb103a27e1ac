"""create_topic.py BOOTSTRAP NAME PARTITIONS [KEY=VALUE ...]"""

import sys

from common import create_topic

bootstrap, name, partitions, *config = sys.argv[1:]
create_topic(bootstrap, name, int(partitions), dict(entry.split("=", 1) for entry in config))
