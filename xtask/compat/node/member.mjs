// member.mjs BOOTSTRAP GROUP TOPIC PROTOCOL [INSTANCE]: one member of a consumer group, on kafkajs, which knows the classic
// protocol alone and no static membership.
//
// Prints `has 0,2` whenever its partitions change, `got PARTITION OFFSET VALUE` for each record, and `committed PARTITION NEXT`
// once the broker has taken a commit. Leaves the group when stdin ends.

import { createRequire } from "node:module";

// The package lies where the run has fetched it, not beside this file.
const { Kafka, logLevel } = createRequire(process.env.COMPAT_NODE_MODULES)("kafkajs");

const [bootstrap, groupId, topic] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.ERROR, retry: { initialRetryTime: 50 } });
const consumer = kafka.consumer({ groupId, sessionTimeout: 6000, heartbeatInterval: 300, rebalanceTimeout: 10000, maxWaitTimeInMs: 200 });

consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  console.log("has " + (payload.memberAssignment[topic] ?? []).join(","));
});

await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
await consumer.run({
  autoCommit: false,
  eachBatchAutoResolve: false,
  eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
    if (!isRunning() || isStale()) return;
    for (const message of batch.messages) {
      console.log(`got ${batch.partition} ${message.offset} ${message.value}`);
    }
    const next = (BigInt(batch.lastOffset()) + 1n).toString();
    await consumer.commitOffsets([{ topic, partition: batch.partition, offset: next }]);
    console.log(`committed ${batch.partition} ${next}`);
    resolveOffset(batch.lastOffset());
    await heartbeat();
  },
});

process.stdin.resume();
process.stdin.on("end", async () => {
  await consumer.disconnect();
  process.exit(0);
});
