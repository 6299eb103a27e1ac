//! Every broker property of Kafka 4.4 that is documented, by name: type, bounds and default, and for those that
//! act here a sentence. What the values mean is `broker.rs`'s.
//!
//! Two defaults differ from Kafka's: a broker without configuration listens on the loopback address alone, and
//! its data goes to the user's own folder instead of `/tmp` (that one is known only at run time). Three keys that
//! Kafka changes while it runs need a restart here: the listeners, their protocols and the threads of the network.

use super::property::{INT_MAX, INT_MIN, Kind, Property, SHORT_MAX};

/// More reactors than any machine has processors: beyond it a slip of the finger would start threads until the machine
/// stands still.
const NETWORK_THREADS_MAX: i64 = 1024;

/// The properties in the order of their names.
pub(super) static BROKER_PROPERTIES: &[Property] = &[
    Property::new("add.partitions.to.txn.retry.backoff.max.ms", Kind::Int(0, INT_MAX), Some("100"))
        .acts("How long a produce or a commit waits at most for the end of its producer's transaction before.").high(),
    Property::new("add.partitions.to.txn.retry.backoff.ms", Kind::Int(1, INT_MAX), Some("20"))
        .acts("After how long it asks again whether that has ended.").high(),
    Property::new("advertised.listeners", Kind::List, None).acts(
        "Where clients are told to connect, one NAME://host:port a listener; without it the \
             address of the listener itself.",
    ).high(),
    Property::new("alter.config.policy.class.name", Kind::Class, None).low(),
    Property::new("alter.log.dirs.replication.quota.window.num", Kind::Int(1, INT_MAX), Some("11")).low(),
    Property::new("alter.log.dirs.replication.quota.window.size.seconds", Kind::Int(1, INT_MAX), Some("1")).low(),
    Property::new("authorizer.class.name", Kind::Text, Some("")).low(),
    Property::new("auto.create.topics.enable", Kind::Boolean, Some("true"))
        .acts("Whether a client's question about a topic that does not exist creates it.").high(),
    Property::new("auto.leader.rebalance.enable", Kind::Boolean, Some("true")).high(),
    Property::new("background.threads", Kind::Int(1, INT_MAX), Some("10"))
        .meaningless("background work has threads of its own here").cluster_wide().high(),
    Property::new("broker.heartbeat.interval.ms", Kind::Int(INT_MIN, INT_MAX), Some("2000")),
    Property::new("broker.id", Kind::Int(INT_MIN, INT_MAX), Some("-1")).acts("The older name of node.id.").high(),
    Property::new("broker.rack", Kind::Text, None)
        .acts("The rack or zone that this node stands in; clients are told."),
    Property::new("broker.session.timeout.ms", Kind::Int(INT_MIN, INT_MAX), Some("9000")),
    Property::new("client.quota.callback.class", Kind::Class, None).low(),
    Property::new("compression.gzip.level", Kind::IntOr(-1, 1, 9), Some("-1"))
        .acts("How hard gzip works where a topic asks for it; -1 leaves the choice to the library.").cluster_wide(),
    Property::new("compression.lz4.level", Kind::Int(1, 17), Some("9"))
        .acts("How hard lz4 works where a topic asks for it.").cluster_wide(),
    Property::new(
        "compression.type",
        Kind::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]),
        Some("producer"),
    )
    .acts("What a batch is compressed with on disk; producer keeps what the producer chose.").cluster_wide().high(),
    Property::new("compression.zstd.level", Kind::Int(-131_072, 22), Some("3"))
        .acts("How hard zstd works where a topic asks for it.").cluster_wide(),
    Property::new("config.providers", Kind::List, Some("")).cluster_wide().low(),
    Property::new("connection.failed.authentication.delay.ms", Kind::Int(0, INT_MAX), Some("100")).low(),
    Property::new("connections.max.idle.ms", Kind::Long(i64::MIN, i64::MAX), Some("600000"))
        .acts("A connection on which nothing happened for so long is closed."),
    Property::new("connections.max.reauth.ms", Kind::Long(i64::MIN, i64::MAX), Some("0")),
    Property::new("controlled.shutdown.enable", Kind::Boolean, Some("true")),
    Property::new("controller.listener.names", Kind::List, None).acts(
        "The listeners that controllers would use; this node's controller is within the \
             process and opens none of them.",
    ).high(),
    Property::new("controller.quorum.append.linger.ms", Kind::Int(0, INT_MAX), Some("25")),
    Property::new("controller.quorum.auto.join.enable", Kind::Boolean, Some("false")).low(),
    Property::new("controller.quorum.bootstrap.servers", Kind::List, Some("")).acts(
        "Accepted for a single node that is broker and controller; the controller is within \
             the process and needs no address.",
    ).high(),
    Property::new("controller.quorum.election.backoff.max.ms", Kind::Int(0, INT_MAX), Some("1000")).high(),
    Property::new("controller.quorum.election.timeout.ms", Kind::Int(0, INT_MAX), Some("1000")).high(),
    Property::new("controller.quorum.fetch.max.bytes", Kind::Int(1, INT_MAX), Some("1048576")).low(),
    Property::new("controller.quorum.fetch.snapshot.max.bytes", Kind::Int(1, INT_MAX), Some("1048576")).low(),
    Property::new("controller.quorum.fetch.timeout.ms", Kind::Int(0, INT_MAX), Some("2000")).high(),
    Property::new("controller.quorum.request.timeout.ms", Kind::Int(0, INT_MAX), Some("2000")),
    Property::new("controller.quorum.retry.backoff.ms", Kind::Int(0, INT_MAX), Some("20")).low(),
    Property::new("controller.quorum.voters", Kind::List, Some("")).acts(
        "Accepted for a single node that is broker and controller; the controller is within \
             the process and needs no address.",
    ).high(),
    Property::new("controller.quota.window.num", Kind::Int(1, INT_MAX), Some("11"))
        .acts("How many samples of changes of the metadata are counted for a quota.").low(),
    Property::new("controller.quota.window.size.seconds", Kind::Int(1, INT_MAX), Some("1"))
        .acts("How long each of these samples is.").low(),
    Property::new("controller.socket.timeout.ms", Kind::Int(INT_MIN, INT_MAX), Some("30000")),
    Property::new("cordoned.log.dirs", Kind::List, Some("")).per_broker(),
    Property::new("create.topic.policy.class.name", Kind::Class, None).low(),
    Property::new("default.replication.factor", Kind::Int(INT_MIN, INT_MAX), Some("1"))
        .acts("The number of replicas of a topic that is created without saying."),
    Property::new("delegation.token.expiry.check.interval.ms", Kind::Long(1, i64::MAX), Some("3600000")).low(),
    Property::new("delegation.token.expiry.time.ms", Kind::Long(1, i64::MAX), Some("86400000")),
    Property::new("delegation.token.max.lifetime.ms", Kind::Long(1, i64::MAX), Some("604800000")),
    Property::new("delegation.token.secret.key", Kind::Password, None),
    Property::new("delete.records.purgatory.purge.interval.requests", Kind::Int(INT_MIN, INT_MAX), Some("1"))
        .meaningless("a request that waits is dropped as soon as it is answered"),
    Property::new("delete.topic.enable", Kind::Boolean, Some("true")).acts("Whether topics may be deleted.").high(),
    Property::new("early.start.listeners", Kind::List, None).high(),
    Property::new("errors.deadletterqueue.auto.create.topics.enable", Kind::Boolean, Some("false")).cluster_wide(),
    Property::new("errors.deadletterqueue.topic.name.prefix", Kind::Text, Some("dlq.")).cluster_wide(),
    Property::new("fetch.max.bytes", Kind::Int(1024, INT_MAX), Some("57671680"))
        .acts("The most bytes that one fetch answers with, a first batch that is larger aside."),
    Property::new("fetch.purgatory.purge.interval.requests", Kind::Int(INT_MIN, INT_MAX), Some("1000"))
        .meaningless("a request that waits is dropped as soon as it is answered"),
    Property::new("follower.fetch.last.tiered.offset.enable", Kind::Boolean, Some("false")).cluster_wide(),
    Property::new("follower.replication.throttled.rate", Kind::Long(0, i64::MAX), None)
        .internal()
        .meaningless("one node has no other to copy from")
        .cluster_wide(),
    Property::new("group.consumer.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("1000"))
        .acts("How long after an assignment a consumer group gets its next one at the soonest.").cluster_wide(),
    Property::new("group.consumer.assignors", Kind::List, Some("uniform,range"))
        .acts("The assignors of consumer groups: uniform and range; the first is the default."),
    Property::new("group.consumer.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("5000"))
        .acts("How often a member of a consumer group is told to report."),
    Property::new("group.consumer.max.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("15000"))
        .acts("The longest that a group may ask for."),
    Property::new("group.consumer.max.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("15000"))
        .acts("The longest that a group may ask for."),
    Property::new("group.consumer.max.session.timeout.ms", Kind::Int(1, INT_MAX), Some("60000"))
        .acts("The longest that a group may ask for."),
    Property::new("group.consumer.max.size", Kind::Int(1, INT_MAX), Some("2147483647"))
        .acts("The most members of a consumer group."),
    Property::new(
        "group.consumer.migration.policy",
        Kind::OneOfAnyCase(&["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"]),
        Some("bidirectional"),
    )
    .acts("Which protocol may take a group with members over from the other."),
    Property::new("group.consumer.min.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("0"))
        .acts("The shortest that a group may ask for."),
    Property::new("group.consumer.min.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("5000"))
        .acts("The shortest that a group may ask for."),
    Property::new("group.consumer.min.session.timeout.ms", Kind::Int(1, INT_MAX), Some("45000"))
        .acts("The shortest that a group may ask for."),
    Property::new("group.consumer.session.timeout.ms", Kind::Int(1, INT_MAX), Some("45000"))
        .acts("How long a member of a consumer group may be silent."),
    Property::new("group.coordinator.append.linger.ms", Kind::Int(-1, INT_MAX), Some("-1"))
        .meaningless("what an event of a group writes is written at once, in one batch"),
    Property::new("group.coordinator.background.threads", Kind::Int(1, INT_MAX), Some("2"))
        .acts("The most threads that assign partitions and match regular expressions.").high(),
    Property::new("group.coordinator.cached.buffer.max.bytes", Kind::Int(524_288, INT_MAX), Some("1048588"))
        .meaningless("what an event of a group writes is written at once, in one batch").cluster_wide(),
    Property::new(
        "group.coordinator.rebalance.protocols",
        Kind::ListOf(&["consumer", "classic", "share", "streams"]),
        Some("classic,consumer,streams"),
    )
    .acts("The protocols that groups may speak: without consumer the newer one is refused."),
    Property::new("group.coordinator.threads", Kind::Int(1, INT_MAX), Some("4"))
        .acts("The most threads that load groups.").high(),
    Property::new("group.initial.rebalance.delay.ms", Kind::Int(INT_MIN, INT_MAX), Some("3000"))
        .acts("How long the first round of an empty classic group waits for more members."),
    Property::new("group.max.session.timeout.ms", Kind::Int(INT_MIN, INT_MAX), Some("1800000"))
        .acts("The longest session timeout that a member of a classic group may ask for."),
    Property::new("group.max.size", Kind::Int(1, INT_MAX), Some("2147483647"))
        .acts("The most members of a classic group."),
    Property::new("group.min.session.timeout.ms", Kind::Int(INT_MIN, INT_MAX), Some("6000"))
        .acts("The shortest session timeout that a member of a classic group may ask for."),
    Property::new("group.share.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("1000")).cluster_wide(),
    Property::new("group.share.assignors", Kind::List, Some("simple")),
    Property::new("group.share.delivery.count.limit", Kind::Int(2, 10), Some("5")),
    Property::new("group.share.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("5000")),
    Property::new("group.share.max.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("15000")),
    Property::new("group.share.max.delivery.count.limit", Kind::Int(5, 25), Some("10")),
    Property::new("group.share.max.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("15000")),
    Property::new("group.share.max.partition.max.record.locks", Kind::Int(2000, 10_000), Some("4000")),
    Property::new("group.share.max.record.lock.duration.ms", Kind::Int(30_000, 3_600_000), Some("60000")),
    Property::new("group.share.max.session.timeout.ms", Kind::Int(1, INT_MAX), Some("60000")),
    Property::new("group.share.max.share.sessions", Kind::Int(1, INT_MAX), Some("2000")),
    Property::new("group.share.max.size", Kind::Int(1, 1000), Some("200")),
    Property::new("group.share.min.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("0")),
    Property::new("group.share.min.delivery.count.limit", Kind::Int(2, 5), Some("2")),
    Property::new("group.share.min.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("5000")),
    Property::new("group.share.min.partition.max.record.locks", Kind::Int(100, 2000), Some("100")),
    Property::new("group.share.min.record.lock.duration.ms", Kind::Int(1000, 30_000), Some("15000")),
    Property::new("group.share.min.session.timeout.ms", Kind::Int(1, INT_MAX), Some("45000")),
    Property::new("group.share.partition.max.record.locks", Kind::Int(100, 10_000), Some("2000")),
    Property::new("group.share.record.lock.duration.ms", Kind::Int(1000, 3_600_000), Some("30000")),
    Property::new("group.share.session.timeout.ms", Kind::Int(1, INT_MAX), Some("45000")),
    Property::new("group.streams.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("1000")).cluster_wide(),
    Property::new("group.streams.assignors", Kind::List, Some("sticky")),
    Property::new("group.streams.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("5000")),
    Property::new("group.streams.initial.rebalance.delay.ms", Kind::Int(0, INT_MAX), Some("3000")),
    Property::new("group.streams.max.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("15000")),
    Property::new("group.streams.max.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("15000")),
    Property::new("group.streams.max.session.timeout.ms", Kind::Int(1, INT_MAX), Some("60000")),
    Property::new("group.streams.max.size", Kind::Int(1, INT_MAX), Some("2147483647")),
    Property::new("group.streams.max.standby.replicas", Kind::Int(0, INT_MAX), Some("2")),
    Property::new("group.streams.min.assignment.interval.ms", Kind::Int(0, INT_MAX), Some("0")),
    Property::new("group.streams.min.heartbeat.interval.ms", Kind::Int(1, INT_MAX), Some("5000")),
    Property::new("group.streams.min.session.timeout.ms", Kind::Int(1, INT_MAX), Some("45000")),
    Property::new("group.streams.num.standby.replicas", Kind::Int(0, INT_MAX), Some("0")),
    Property::new("group.streams.rack.aware.assignment.tags", Kind::List, Some("")).low(),
    Property::new("group.streams.session.timeout.ms", Kind::Int(1, INT_MAX), Some("45000")),
    Property::new("group.streams.topology.description.plugin.class", Kind::Class, None),
    Property::new("http.address", Kind::Text, Some("127.0.0.1:9404"))
        .acts(
            "Where /metrics, /livez, /readyz and /healthz are served over HTTP, as host:port; if the port is taken, a \
             free one, and a warning that names it. Port 0 takes a free one, an empty value opens none.",
        )
        .internal(),
    Property::new("initial.broker.registration.timeout.ms", Kind::Int(INT_MIN, INT_MAX), Some("60000")),
    Property::new("inter.broker.listener.name", Kind::Text, None)
        .acts("The listener that brokers use among each other; it must be one of listeners."),
    Property::new("kafka.metrics.polling.interval.secs", Kind::Int(1, INT_MAX), Some("10"))
        .meaningless("there are no Java classes to load").low(),
    Property::new("kafka.metrics.reporters", Kind::List, Some(""))
        .meaningless("there are no Java classes to load").low(),
    Property::new("leader.imbalance.check.interval.seconds", Kind::Long(1, i64::MAX), Some("300")).high(),
    Property::new("leader.replication.throttled.rate", Kind::Long(0, i64::MAX), None)
        .internal()
        .meaningless("one node has no other to copy from")
        .cluster_wide(),
    Property::new(
        "listener.security.protocol.map",
        Kind::Text,
        Some("SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"),
    )
    .acts("The protocol of each listener, as NAME:PROTOCOL; only PLAINTEXT can be opened.").low(),
    Property::new("listeners", Kind::List, Some("PLAINTEXT://127.0.0.1:9092"))
        .acts("Where to listen, as NAME://host:port; port 0 takes a free one.").high(),
    Property::new("log.cleaner.backoff.ms", Kind::Long(0, i64::MAX), Some("15000"))
        .acts("How long the cleaner rests where no log is due.").cluster_wide(),
    Property::new("log.cleaner.dedupe.buffer.size", Kind::Long(i64::MIN, i64::MAX), Some("134217728"))
        .acts("The memory for the keys of a compaction, in bytes, over all its threads.").cluster_wide(),
    Property::new("log.cleaner.delete.retention.ms", Kind::Long(0, i64::MAX), Some("86400000"))
        .acts("How long compaction keeps tombstones and transaction markers.").cluster_wide(),
    Property::new("log.cleaner.enable", Kind::Boolean, Some("true")).acts("Whether logs are compacted."),
    Property::new("log.cleaner.io.buffer.load.factor", Kind::Double(0.0, f64::MAX), Some("0.9"))
        .acts("How far the memory for keys may be filled, 0 to 1.").cluster_wide(),
    Property::new("log.cleaner.io.buffer.size", Kind::Int(0, INT_MAX), Some("524288"))
        .acts("How much a compaction reads and writes at once, in bytes, over all its threads.").cluster_wide(),
    Property::new(
        "log.cleaner.io.max.bytes.per.second",
        Kind::Double(0.0, f64::MAX),
        Some("1.7976931348623157E308"),
    )
    .acts("How many bytes compaction reads and writes a second at most.").cluster_wide(),
    Property::new("log.cleaner.max.compaction.lag.ms", Kind::Long(1, i64::MAX), Some("9223372036854775807"))
        .acts("A record is compacted at the latest after so long.").cluster_wide(),
    Property::new("log.cleaner.min.cleanable.ratio", Kind::Double(0.0, 1.0), Some("0.5"))
        .acts("A log is compacted once more than this share of it is new since the last time.").cluster_wide(),
    Property::new("log.cleaner.min.compaction.lag.ms", Kind::Long(0, i64::MAX), Some("0"))
        .acts("A record is not compacted before this age.").cluster_wide(),
    Property::new("log.cleaner.threads", Kind::Int(0, INT_MAX), Some("1"))
        .acts("The threads that compact logs.").cluster_wide(),
    Property::new("log.cleanup.policy", Kind::ListOf(&["compact", "delete"]), Some("delete"))
        .acts("What happens to old records: delete, compact, or both.").cluster_wide(),
    Property::new("log.dir", Kind::List, None).acts("The older name of log.dirs.").high(),
    Property::new("log.dir.failure.timeout.ms", Kind::Long(1, i64::MAX), Some("30000")).low(),
    Property::new("log.dir.free.bytes.min", Kind::Long(-1, i64::MAX), Some("-1"))
        .internal()
        .acts(
            "With less free space in a log directory, in bytes, producers to its partitions are refused; -1 for 256 MiB or a \
             twentieth of the volume, whichever is less, 0 for no limit.",
        ),
    Property::new("log.dirs", Kind::List, None)
        .acts("The directories that hold the data, separated by commas.").high(),
    Property::new("log.flush.interval.messages", Kind::Long(1, i64::MAX), Some("9223372036854775807"))
        .acts("After so many records a partition's log is forced to disk.").cluster_wide().high(),
    Property::new("log.flush.interval.ms", Kind::Long(i64::MIN, i64::MAX), None)
        .acts("A record is forced to disk at the latest after so long.").cluster_wide().high(),
    Property::new("log.flush.offset.checkpoint.interval.ms", Kind::Int(0, INT_MAX), Some("60000"))
        .acts("How often the points from which recovery would start are written down.").high(),
    Property::new(
        "log.flush.scheduler.interval.ms",
        Kind::Long(i64::MIN, i64::MAX),
        Some("9223372036854775807"),
    )
    .acts("What log.flush.interval.ms is where it is not set.").high(),
    Property::new("log.flush.start.offset.checkpoint.interval.ms", Kind::Int(0, INT_MAX), Some("60000")).high(),
    Property::new("log.format", Kind::OneOf(&["text", "json"]), Some("text"))
        .acts("How an event stands in the log: a line for people, or a JSON object a line.")
        .internal(),
    Property::new("log.index.interval.bytes", Kind::Int(0, INT_MAX), Some("4096"))
        .acts("After so many bytes of log an offset index gets its next entry.").cluster_wide(),
    Property::new("log.index.size.max.bytes", Kind::Int(4, INT_MAX), Some("10485760"))
        .acts("The largest size of an index; a full one makes the log begin its next segment.").cluster_wide(),
    Property::new("log.initial.task.delay.ms", Kind::Long(0, i64::MAX), Some("30000"))
        .internal()
        .acts("How long after the start it is first looked for what may be deleted."),
    Property::new("log.local.retention.bytes", Kind::Long(-2, i64::MAX), Some("-2")).meaningless("there is no remote tier").cluster_wide(),
    Property::new("log.local.retention.ms", Kind::Long(-2, i64::MAX), Some("-2")).meaningless("there is no remote tier").cluster_wide(),
    Property::new("log.message.timestamp.after.max.ms", Kind::Long(0, i64::MAX), Some("3600000"))
        .acts("A record dated further in the future than this is refused.").cluster_wide(),
    Property::new(
        "log.message.timestamp.before.max.ms",
        Kind::Long(0, i64::MAX),
        Some("9223372036854775807"),
    )
    .acts("A record dated further in the past than this is refused.").cluster_wide(),
    Property::new(
        "log.message.timestamp.type",
        Kind::OneOf(&["CreateTime", "LogAppendTime"]),
        Some("CreateTime"),
    )
    .acts("Whether a record keeps its producer's time or gets that of its append.").cluster_wide(),
    Property::new("log.preallocate", Kind::Boolean, Some("false"))
        .acts("Whether a new segment's file takes its full size at once.").cluster_wide(),
    Property::new("log.remote.copy.lag.bytes", Kind::Long(-1, i64::MAX), Some("-1")).meaningless("there is no remote tier").cluster_wide(),
    Property::new("log.remote.copy.lag.ms", Kind::Long(-1, i64::MAX), Some("0")).meaningless("there is no remote tier").cluster_wide(),
    Property::new("log.retention.bytes", Kind::Long(i64::MIN, i64::MAX), Some("-1"))
        .acts("Old segments are deleted while more than so many bytes a partition stay; -1 for no limit.").cluster_wide().high(),
    Property::new("log.retention.check.interval.ms", Kind::Long(1, i64::MAX), Some("300000"))
        .acts("How often it is looked for what may be deleted."),
    Property::new("log.retention.hours", Kind::Int(INT_MIN, INT_MAX), Some("168"))
        .acts("Segments whose newest record is older are deleted; log.retention.minutes goes before it.").high(),
    Property::new("log.retention.minutes", Kind::Int(INT_MIN, INT_MAX), None)
        .acts("Segments whose newest record is older are deleted; log.retention.ms goes before it.").high(),
    Property::new("log.retention.ms", Kind::Long(i64::MIN, i64::MAX), None)
        .acts("Segments whose newest record is older are deleted; -1 for no limit.").cluster_wide().high(),
    Property::new("log.roll.hours", Kind::Int(1, INT_MAX), Some("168"))
        .acts("A segment that has been open for so long is closed; log.roll.ms goes before it.").high(),
    Property::new("log.roll.jitter.hours", Kind::Int(0, INT_MAX), Some("0"))
        .acts("By up to so much less is a segment open, at random; log.roll.jitter.ms goes before it.").high(),
    Property::new("log.roll.jitter.ms", Kind::Long(i64::MIN, i64::MAX), None)
        .acts("By up to so much less is a segment open, at random.").cluster_wide().high(),
    Property::new("log.roll.ms", Kind::Long(i64::MIN, i64::MAX), None)
        .acts("A segment that has been open for so long is closed.").cluster_wide().high(),
    Property::new("log.segment.bytes", Kind::Int(1_048_576, INT_MAX), Some("1073741824"))
        .acts("A segment that would grow beyond this is closed and the next one begun.").cluster_wide().high(),
    Property::new("log.segment.delete.delay.ms", Kind::Long(0, i64::MAX), Some("60000"))
        .acts("How long the files of what was deleted stay on the disk.").cluster_wide().high(),
    Property::new("log.slow.request.ms", Kind::Int(0, INT_MAX), Some("1000"))
        .acts(
            "A request that takes longer is told in the log with its phases; time for which it asked to wait does \
             not count. 0 tells of none.",
        )
        .internal(),
    Property::new("max.connection.creation.rate", Kind::Int(0, INT_MAX), Some("2147483647")).cluster_wide(),
    Property::new("max.connections", Kind::Int(0, INT_MAX), Some("2147483647"))
        .acts("The most connections that are open at once; a further one waits until one closes.").cluster_wide(),
    Property::new("max.connections.per.ip", Kind::Int(0, INT_MAX), Some("2147483647"))
        .acts("The most connections from one address; a further one is closed.").cluster_wide(),
    Property::new("max.connections.per.ip.overrides", Kind::Text, Some(""))
        .acts("Other values of max.connections.per.ip for some addresses, as address:number.").cluster_wide(),
    Property::new("max.decompressed.message.bytes", Kind::Int(1, 2_147_483_639), Some("2147483639"))
        .acts("The most bytes that a compressed batch may unfold to.").cluster_wide(),
    Property::new("max.incremental.fetch.session.cache.slots", Kind::Int(0, INT_MAX), Some("1000")),
    Property::new("max.request.partition.size.limit", Kind::Int(1, INT_MAX), Some("2000")),
    Property::new("message.max.bytes", Kind::Int(0, INT_MAX), Some("1048588"))
        .acts("The largest batch that is accepted, as it arrives.").cluster_wide().high(),
    Property::new("metadata.log.dir", Kind::Text, None)
        .acts("The directory of the cluster's metadata; without it the first of log.dirs.").high(),
    Property::new(
        "metadata.log.max.record.bytes.between.snapshots",
        Kind::Long(1, i64::MAX),
        Some("20971520"),
    )
    .acts("After so many bytes of records the metadata log gets its next snapshot.").high(),
    Property::new("metadata.log.max.snapshot.interval.ms", Kind::Long(0, i64::MAX), Some("3600000")).high(),
    Property::new("metadata.log.segment.bytes", Kind::Int(8_388_608, INT_MAX), Some("1073741824"))
        .acts("A segment of the metadata log does not grow beyond this.").high(),
    Property::new("metadata.log.segment.ms", Kind::Long(i64::MIN, i64::MAX), Some("604800000"))
        .acts("A segment of the metadata log takes no records that are so much younger than its first.").high(),
    Property::new("metadata.max.idle.interval.ms", Kind::Int(0, INT_MAX), Some("500")).low(),
    Property::new("metadata.max.retention.bytes", Kind::Long(i64::MIN, i64::MAX), Some("104857600"))
        .acts("Beyond this the oldest segments of the metadata log go, if a snapshot holds their records; negative: never.").high(),
    Property::new("metadata.max.retention.ms", Kind::Long(i64::MIN, i64::MAX), Some("604800000"))
        .acts("So old segments of the metadata log go, if a snapshot holds their records; negative: never.").high(),
    Property::new("metric.reporters", Kind::List, Some("org.apache.kafka.common.metrics.JmxReporter"))
        .meaningless("there are no Java classes to load").cluster_wide().low(),
    Property::new("metrics.compat", Kind::ListOf(&["kafka_exporter", "jmx", "redpanda"]), Some(""))
        .acts(
            "Whose names /metrics has beside its own, for dashboards that query them: kafka_exporter, jmx (the JMX \
             exporter's over Kafka's beans), redpanda.",
        )
        .internal(),
    Property::new("metrics.num.samples", Kind::Int(1, INT_MAX), Some("2")).low(),
    Property::new("metrics.recording.level", Kind::Text, Some("INFO")).low(),
    Property::new("metrics.sample.window.ms", Kind::Long(1, i64::MAX), Some("30000")).low(),
    Property::new("metrics.series.max", Kind::Int(0, INT_MAX), Some("10000"))
        .acts(
            "The most samples on /metrics of a family that grows with topics, groups or clients; what is left out is \
             counted there.",
        )
        .internal(),
    Property::new("min.insync.replicas", Kind::Int(1, INT_MAX), Some("1"))
        .acts("With fewer replicas in sync than this a produce with acks=all is refused.").cluster_wide().high(),
    Property::new("node.id", Kind::Int(0, INT_MAX), None)
        .acts("The number of this node; made on the first start and kept when not set.").high(),
    Property::new("num.io.threads", Kind::Int(1, INT_MAX), Some("8"))
        .acts("The most threads for what may wait for a disk.").cluster_wide().high(),
    Property::new("num.network.threads", Kind::Int(1, NETWORK_THREADS_MAX), Some("3"))
        .acts("The threads that serve connections; one a processor unless set.").high(),
    Property::new("num.partitions", Kind::Int(1, INT_MAX), Some("1"))
        .acts("The number of partitions of a topic that is created without saying."),
    Property::new("num.recovery.threads.per.data.dir", Kind::Int(1, INT_MAX), Some("2"))
        .acts("The threads a directory that load and recover logs at start.").cluster_wide().high(),
    Property::new("num.replica.alter.log.dirs.threads", Kind::Int(INT_MIN, INT_MAX), None).high(),
    Property::new("num.replica.fetchers", Kind::Int(1, INT_MAX), Some("1")).meaningless("one node has no other to copy from").cluster_wide().high(),
    Property::new("offset.metadata.max.bytes", Kind::Int(INT_MIN, INT_MAX), Some("4096"))
        .acts("How much text may go with a committed offset, in characters.").high(),
    Property::new("offsets.commit.timeout.ms", Kind::Int(1, INT_MAX), Some("5000"))
        .acts("How long the answer to a commit waits for its records to be committed.").high(),
    Property::new("offsets.load.buffer.size", Kind::Int(1, INT_MAX), Some("5242880"))
        .acts("How much of a partition of groups is read at once while it is loaded.").high(),
    Property::new("offsets.retention.check.interval.ms", Kind::Long(1, i64::MAX), Some("600000"))
        .acts("How often offsets that nobody uses any more are looked for.").high(),
    Property::new("offsets.retention.minutes", Kind::Int(1, INT_MAX), Some("10080"))
        .acts("How long offsets are kept of a group without members.").high(),
    Property::new("offsets.topic.compression.codec", Kind::Int(INT_MIN, INT_MAX), Some("0"))
        .acts("What the records of groups are compressed with: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.").high(),
    Property::new("offsets.topic.num.partitions", Kind::Int(1, INT_MAX), Some("50"))
        .acts("The number of partitions of the topic of groups and offsets, where it is created.").high(),
    Property::new("offsets.topic.replication.factor", Kind::Short(1, SHORT_MAX), Some("3"))
        .acts("The number of its replicas; fewer where there are fewer brokers.").high(),
    Property::new("offsets.topic.segment.bytes", Kind::Int(1, INT_MAX), Some("104857600"))
        .acts("The size of its segments.").high(),
    Property::new(
        "principal.builder.class",
        Kind::Class,
        Some("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"),
    ).per_broker(),
    Property::new("process.roles", Kind::ListOf(&["broker", "controller"]), None)
        .acts("What this node is; broker, or broker and controller in one.").high(),
    Property::new("producer.id.expiration.ms", Kind::Int(1, INT_MAX), Some("86400000"))
        .acts(
            "A producer that wrote nothing for so long is forgotten, and with it the numbers that \
             tell a repeated batch.",
        ).cluster_wide().low(),
    Property::new("producer.purgatory.purge.interval.requests", Kind::Int(INT_MIN, INT_MAX), Some("1000"))
        .meaningless("a request that waits is dropped as soon as it is answered"),
    Property::new("queued.max.request.bytes", Kind::Long(i64::MIN, i64::MAX), Some("-1"))
        .acts("The most bytes of requests that are held at once; -1 leaves the limit to the broker."),
    Property::new("queued.max.requests", Kind::Int(1, INT_MAX), Some("500")).meaningless(
        "a connection has one request in progress, and queued.max.request.bytes limits them all",
    ).high(),
    Property::new("quota.window.num", Kind::Int(1, INT_MAX), Some("11"))
        .acts("How many samples of what a client used are counted for a quota.").low(),
    Property::new("quota.window.size.seconds", Kind::Int(1, INT_MAX), Some("1"))
        .acts("How long each of these samples is.").low(),
    Property::new("remote.fetch.max.wait.ms", Kind::Int(1, INT_MAX), Some("500")).cluster_wide(),
    Property::new("remote.list.offsets.request.timeout.ms", Kind::Long(1, i64::MAX), Some("30000")).cluster_wide(),
    Property::new(
        "remote.log.index.file.cache.total.size.bytes",
        Kind::Long(1, i64::MAX),
        Some("1073741824"),
    ).cluster_wide().low(),
    Property::new("remote.log.manager.copier.thread.pool.size", Kind::Int(1, INT_MAX), Some("10")).cluster_wide(),
    Property::new(
        "remote.log.manager.copy.max.bytes.per.second",
        Kind::Long(1, i64::MAX),
        Some("9223372036854775807"),
    ).cluster_wide(),
    Property::new("remote.log.manager.copy.quota.window.num", Kind::Int(1, INT_MAX), Some("11")),
    Property::new("remote.log.manager.copy.quota.window.size.seconds", Kind::Int(1, INT_MAX), Some("1")),
    Property::new("remote.log.manager.expiration.thread.pool.size", Kind::Int(1, INT_MAX), Some("10")).cluster_wide(),
    Property::new(
        "remote.log.manager.fetch.max.bytes.per.second",
        Kind::Long(1, i64::MAX),
        Some("9223372036854775807"),
    ).cluster_wide(),
    Property::new("remote.log.manager.fetch.quota.window.num", Kind::Int(1, INT_MAX), Some("11")),
    Property::new("remote.log.manager.fetch.quota.window.size.seconds", Kind::Int(1, INT_MAX), Some("1")),
    Property::new("remote.log.manager.follower.thread.pool.size", Kind::Int(1, INT_MAX), Some("2")).cluster_wide(),
    Property::new("remote.log.manager.task.interval.ms", Kind::Long(1, i64::MAX), Some("30000")).low(),
    Property::new("remote.log.manager.thread.pool.size", Kind::Int(1, INT_MAX), Some("2")),
    Property::new("remote.log.metadata.custom.metadata.max.bytes", Kind::Int(0, INT_MAX), Some("128")).low(),
    Property::new(
        "remote.log.metadata.manager.class.name",
        Kind::Text,
        Some("org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"),
    ),
    Property::new("remote.log.metadata.manager.class.path", Kind::Text, None),
    Property::new("remote.log.metadata.manager.impl.prefix", Kind::Text, Some("rlmm.config.")),
    Property::new("remote.log.metadata.manager.listener.name", Kind::Text, None),
    Property::new("remote.log.reader.max.pending.tasks", Kind::Int(1, INT_MAX), Some("100")),
    Property::new("remote.log.reader.threads", Kind::Int(1, INT_MAX), Some("10")).cluster_wide(),
    Property::new("remote.log.storage.manager.class.name", Kind::Text, None),
    Property::new("remote.log.storage.manager.class.path", Kind::Text, None),
    Property::new("remote.log.storage.manager.impl.prefix", Kind::Text, Some("rsm.config.")),
    Property::new("remote.log.storage.system.enable", Kind::Boolean, Some("false")),
    Property::new("replica.alter.log.dirs.io.max.bytes.per.second", Kind::Long(0, i64::MAX), None)
        .internal()
        .cluster_wide(),
    Property::new("replica.fetch.backoff.ms", Kind::Int(0, INT_MAX), Some("1000")),
    Property::new("replica.fetch.max.bytes", Kind::Int(0, INT_MAX), Some("1048576")),
    Property::new("replica.fetch.min.bytes", Kind::Int(INT_MIN, INT_MAX), Some("1")).high(),
    Property::new("replica.fetch.response.max.bytes", Kind::Int(0, INT_MAX), Some("10485760")),
    Property::new("replica.fetch.wait.max.ms", Kind::Int(INT_MIN, INT_MAX), Some("500")).high(),
    Property::new(
        "replica.high.watermark.checkpoint.interval.ms",
        Kind::Long(i64::MIN, i64::MAX),
        Some("5000"),
    )
    .acts("How often the high watermarks are written down.").high(),
    Property::new("replica.lag.time.max.ms", Kind::Long(i64::MIN, i64::MAX), Some("30000")).high(),
    Property::new("replica.selector.class", Kind::Text, None),
    Property::new("replica.socket.receive.buffer.bytes", Kind::Int(INT_MIN, INT_MAX), Some("65536")).high(),
    Property::new("replica.socket.timeout.ms", Kind::Int(INT_MIN, INT_MAX), Some("30000")).high(),
    Property::new("replication.quota.window.num", Kind::Int(1, INT_MAX), Some("11")).low(),
    Property::new("replication.quota.window.size.seconds", Kind::Int(1, INT_MAX), Some("1")).low(),
    Property::new("request.timeout.ms", Kind::Int(INT_MIN, INT_MAX), Some("30000"))
        .acts("How long an answer about a transaction waits at most for what it tells of to be committed.").high(),
    Property::new("sasl.client.callback.handler.class", Kind::Class, None),
    Property::new("sasl.enabled.mechanisms", Kind::List, Some("GSSAPI")).per_broker(),
    Property::new("sasl.jaas.config", Kind::Password, None).per_broker(),
    Property::new("sasl.kerberos.kinit.cmd", Kind::Text, Some("/usr/bin/kinit")).per_broker(),
    Property::new("sasl.kerberos.min.time.before.relogin", Kind::Long(i64::MIN, i64::MAX), Some("60000")).per_broker(),
    Property::new("sasl.kerberos.principal.to.local.rules", Kind::List, Some("DEFAULT")).per_broker(),
    Property::new("sasl.kerberos.service.name", Kind::Text, None).per_broker(),
    Property::new("sasl.kerberos.ticket.renew.jitter", Kind::Double(0.0, f64::MAX), Some("0.05")).per_broker(),
    Property::new("sasl.kerberos.ticket.renew.window.factor", Kind::Double(0.0, f64::MAX), Some("0.8")).per_broker(),
    Property::new("sasl.login.callback.handler.class", Kind::Class, None),
    Property::new("sasl.login.class", Kind::Class, None),
    Property::new("sasl.login.connect.timeout.ms", Kind::Int(INT_MIN, INT_MAX), None).low(),
    Property::new("sasl.login.read.timeout.ms", Kind::Int(INT_MIN, INT_MAX), None).low(),
    Property::new("sasl.login.refresh.buffer.seconds", Kind::Short(-SHORT_MAX - 1, SHORT_MAX), Some("300")).per_broker(),
    Property::new(
        "sasl.login.refresh.min.period.seconds",
        Kind::Short(-SHORT_MAX - 1, SHORT_MAX),
        Some("60"),
    ).per_broker(),
    Property::new("sasl.login.refresh.window.factor", Kind::Double(0.0, f64::MAX), Some("0.8")).per_broker(),
    Property::new("sasl.login.refresh.window.jitter", Kind::Double(0.0, f64::MAX), Some("0.05")).per_broker(),
    Property::new("sasl.login.retry.backoff.max.ms", Kind::Long(i64::MIN, i64::MAX), Some("10000")).low(),
    Property::new("sasl.login.retry.backoff.ms", Kind::Long(i64::MIN, i64::MAX), Some("100")).low(),
    Property::new("sasl.mechanism.controller.protocol", Kind::Text, Some("GSSAPI")).high(),
    Property::new("sasl.mechanism.inter.broker.protocol", Kind::Text, Some("GSSAPI")).per_broker(),
    Property::new("sasl.oauthbearer.allow.unverified.audience", Kind::Boolean, Some("false")),
    Property::new("sasl.oauthbearer.allow.unverified.issuer", Kind::Boolean, Some("false")),
    Property::new(
        "sasl.oauthbearer.assertion.algorithm",
        Kind::OneOfAnyCase(&["ES256", "RS256"]),
        Some("RS256"),
    ),
    Property::new("sasl.oauthbearer.assertion.claim.aud", Kind::Text, None),
    Property::new("sasl.oauthbearer.assertion.claim.exp.seconds", Kind::Int(0, 86_400), Some("300")).low(),
    Property::new("sasl.oauthbearer.assertion.claim.iss", Kind::Text, None),
    Property::new("sasl.oauthbearer.assertion.claim.jti.include", Kind::Boolean, Some("false")),
    Property::new("sasl.oauthbearer.assertion.claim.nbf.seconds", Kind::Int(0, 3600), Some("60")).low(),
    Property::new("sasl.oauthbearer.assertion.claim.sub", Kind::Text, None),
    Property::new("sasl.oauthbearer.assertion.file", Kind::Text, None),
    Property::new("sasl.oauthbearer.assertion.private.key.file", Kind::Text, None),
    Property::new("sasl.oauthbearer.assertion.private.key.passphrase", Kind::Password, None),
    Property::new("sasl.oauthbearer.assertion.template.file", Kind::Text, None),
    Property::new("sasl.oauthbearer.client.credentials.client.id", Kind::Text, None),
    Property::new("sasl.oauthbearer.client.credentials.client.secret", Kind::Password, None),
    Property::new("sasl.oauthbearer.clock.skew.seconds", Kind::Int(INT_MIN, INT_MAX), Some("30")).low(),
    Property::new("sasl.oauthbearer.expected.audience", Kind::List, Some("")).high(),
    Property::new("sasl.oauthbearer.expected.issuer", Kind::Text, None).high(),
    Property::new(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        Kind::Long(i64::MIN, i64::MAX),
        Some("3600000"),
    ).low(),
    Property::new(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        Kind::Long(i64::MIN, i64::MAX),
        Some("10000"),
    ).low(),
    Property::new(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        Kind::Long(i64::MIN, i64::MAX),
        Some("100"),
    ).low(),
    Property::new("sasl.oauthbearer.jwks.endpoint.url", Kind::Text, None),
    Property::new(
        "sasl.oauthbearer.jwt.retriever.class",
        Kind::Class,
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
    ),
    Property::new(
        "sasl.oauthbearer.jwt.validator.class",
        Kind::Class,
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
    ),
    Property::new("sasl.oauthbearer.scope", Kind::Text, None),
    Property::new("sasl.oauthbearer.scope.claim.name", Kind::Text, Some("scope")).low(),
    Property::new("sasl.oauthbearer.sub.claim.name", Kind::Text, Some("sub")).low(),
    Property::new("sasl.oauthbearer.token.endpoint.url", Kind::Text, None),
    Property::new("sasl.server.callback.handler.class", Kind::Class, None),
    Property::new("sasl.server.max.receive.size", Kind::Int(INT_MIN, INT_MAX), Some("524288")),
    Property::new(
        "security.inter.broker.protocol",
        Kind::OneOf(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
        Some("PLAINTEXT"),
    )
    .acts(
        "The protocol among brokers when inter.broker.listener.name is not set; only PLAINTEXT \
             acts.",
    ),
    Property::new("security.providers", Kind::Text, None).meaningless("there are no Java classes to load").low(),
    Property::new("share.coordinator.append.linger.ms", Kind::Int(-1, INT_MAX), Some("-1")),
    Property::new("share.coordinator.cached.buffer.max.bytes", Kind::Int(524_288, INT_MAX), Some("1048588")).cluster_wide(),
    Property::new("share.coordinator.load.buffer.size", Kind::Int(1, INT_MAX), Some("5242880")).high(),
    Property::new("share.coordinator.snapshot.update.records.per.snapshot", Kind::Int(0, 500), Some("500")),
    Property::new("share.coordinator.state.topic.compression.codec", Kind::Int(INT_MIN, INT_MAX), Some("0")).high(),
    Property::new("share.coordinator.state.topic.min.isr", Kind::Short(1, SHORT_MAX), Some("2")).high(),
    Property::new("share.coordinator.state.topic.num.partitions", Kind::Int(1, INT_MAX), Some("50")).high(),
    Property::new("share.coordinator.state.topic.replication.factor", Kind::Short(1, SHORT_MAX), Some("3")).high(),
    Property::new("share.coordinator.state.topic.segment.bytes", Kind::Int(1, INT_MAX), Some("104857600")).high(),
    Property::new("share.coordinator.threads", Kind::Int(1, INT_MAX), Some("1")),
    Property::new("share.coordinator.write.timeout.ms", Kind::Int(1, INT_MAX), Some("5000")).high(),
    Property::new("share.fetch.purgatory.purge.interval.requests", Kind::Int(INT_MIN, INT_MAX), Some("1000"))
        .meaningless("a request that waits is dropped as soon as it is answered"),
    Property::new("socket.connection.setup.timeout.max.ms", Kind::Long(i64::MIN, i64::MAX), Some("30000")),
    Property::new("socket.connection.setup.timeout.ms", Kind::Long(i64::MIN, i64::MAX), Some("10000")),
    Property::new("socket.listen.backlog.size", Kind::Int(1, INT_MAX), Some("50"))
        .acts("How many connections may wait to be accepted."),
    Property::new("socket.receive.buffer.bytes", Kind::Int(INT_MIN, INT_MAX), Some("102400"))
        .acts("The receive buffer of a connection; -1 leaves it to the system.").high(),
    Property::new("socket.request.max.bytes", Kind::Int(1, INT_MAX), Some("104857600"))
        .acts("The largest request; a larger one closes the connection.").high(),
    Property::new("socket.send.buffer.bytes", Kind::Int(INT_MIN, INT_MAX), Some("102400"))
        .acts("The send buffer of a connection; -1 leaves it to the system.").high(),
    Property::new("ssl.allow.dn.changes", Kind::Boolean, Some("false")).low(),
    Property::new("ssl.allow.san.changes", Kind::Boolean, Some("false")).low(),
    Property::new("ssl.cipher.suites", Kind::List, Some("")).per_broker(),
    Property::new("ssl.client.auth", Kind::OneOf(&["required", "requested", "none"]), Some("none")).per_broker(),
    Property::new("ssl.enabled.protocols", Kind::List, Some("TLSv1.2,TLSv1.3")).per_broker(),
    Property::new("ssl.endpoint.identification.algorithm", Kind::Text, Some("https")).per_broker().low(),
    Property::new("ssl.engine.factory.class", Kind::Class, None).per_broker().low(),
    Property::new("ssl.key.password", Kind::Password, None).per_broker(),
    Property::new("ssl.keymanager.algorithm", Kind::Text, Some("SunX509")).per_broker(),
    Property::new("ssl.keystore.certificate.chain", Kind::Password, None).per_broker(),
    Property::new("ssl.keystore.key", Kind::Password, None).per_broker(),
    Property::new("ssl.keystore.location", Kind::Text, None).per_broker(),
    Property::new("ssl.keystore.password", Kind::Password, None).per_broker(),
    Property::new("ssl.keystore.type", Kind::Text, Some("JKS")).per_broker(),
    Property::new("ssl.principal.mapping.rules", Kind::Text, Some("DEFAULT")).low(),
    Property::new("ssl.protocol", Kind::Text, Some("TLSv1.3")).per_broker(),
    Property::new("ssl.provider", Kind::Text, None).per_broker(),
    Property::new("ssl.secure.random.implementation", Kind::Text, None).per_broker().low(),
    Property::new("ssl.trustmanager.algorithm", Kind::Text, Some("PKIX")).per_broker(),
    Property::new("ssl.truststore.certificates", Kind::Password, None).per_broker(),
    Property::new("ssl.truststore.location", Kind::Text, None).per_broker(),
    Property::new("ssl.truststore.password", Kind::Password, None).per_broker(),
    Property::new("ssl.truststore.type", Kind::Text, Some("JKS")).per_broker(),
    Property::new("telemetry.max.bytes", Kind::Int(1, INT_MAX), Some("1048576")).low(),
    Property::new(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        Kind::Int(1, INT_MAX),
        Some("10000"),
    )
        .acts("How often transactions are looked for that have taken too long.").low(),
    Property::new("transaction.max.timeout.ms", Kind::Int(1, INT_MAX), Some("900000"))
        .acts("The longest time that a client may ask for its transactions.").high(),
    Property::new("transaction.partition.verification.enable", Kind::Boolean, Some("true"))
        .acts("Whether a partition asks the coordinator before it takes the first record of a transaction.").cluster_wide().low(),
    Property::new(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        Kind::Int(1, INT_MAX),
        Some("3600000"),
    )
        .acts("How often transactional ids are looked for that nobody uses.").low(),
    Property::new("transaction.state.log.load.buffer.size", Kind::Int(1, INT_MAX), Some("5242880"))
        .acts("How much of a transaction log is read at once when it is loaded.").high(),
    Property::new("transaction.state.log.min.isr", Kind::Int(1, INT_MAX), Some("2"))
        .acts("min.insync.replicas of the topic of transactions when it is created.").high(),
    Property::new("transaction.state.log.num.partitions", Kind::Int(1, INT_MAX), Some("50"))
        .acts("Partitions of the topic of transactions when it is created.").high(),
    Property::new("transaction.state.log.replication.factor", Kind::Short(1, SHORT_MAX), Some("3"))
        .acts("Replicas of the topic of transactions when it is created; no more than there are brokers.").high(),
    Property::new("transaction.state.log.segment.bytes", Kind::Int(1, INT_MAX), Some("104857600"))
        .acts("segment.bytes of the topic of transactions when it is created.").high(),
    Property::new("transaction.two.phase.commit.enable", Kind::Boolean, Some("false")).low(),
    Property::new("transactional.id.expiration.ms", Kind::Int(1, INT_MAX), Some("604800000"))
        .acts("A transactional id that was not used for so long is forgotten.").high(),
    Property::new("unclean.leader.election.enable", Kind::Boolean, Some("false")).acts("Whether a replica that is behind may lead; one node has none that is.").cluster_wide().high(),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::property::Effect;

    #[test]
    fn the_table_is_sorted_and_every_default_is_allowed() {
        assert!(BROKER_PROPERTIES.is_sorted_by(|a, b| a.name < b.name));
        for property in BROKER_PROPERTIES {
            if let Some(default) = property.default {
                property.parse(default).unwrap();
            }
        }
    }

    #[test]
    fn what_acts_has_a_sentence() {
        for property in BROKER_PROPERTIES {
            assert_eq!(property.effect == Effect::Acts, property.doc.ends_with('.'), "{}", property.name);
        }
    }
}
