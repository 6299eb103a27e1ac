//! Keys of older Kafkas, of ZooKeeper and of other builds, with the reason why each means nothing here; and how far an
//! unknown key is from a known one.

use super::broker_table::BROKER_PROPERTIES;

const ZOOKEEPER: &str = "there is no ZooKeeper: the cluster's metadata is in a log of its own";
const MESSAGE_FORMAT: &str = "since Kafka 4 there is one format of messages";
const JVM: &str = "there is no Java virtual machine to set";

/// Keys, or their beginnings where they end with a dot, and why they mean nothing.
const OBSOLETE: &[(&str, &str)] = &[
    ("zookeeper.", ZOOKEEPER),
    ("broker.id.generation.enable", "a node without node.id gets one on its first start and keeps it"),
    ("reserved.broker.max.id", "a node without node.id gets one on its first start and keeps it"),
    ("control.plane.listener.name", "the controller is within this process and needs no listener"),
    ("inter.broker.protocol.version", "metadata.version in the cluster's metadata has taken its place"),
    ("log.message.format.version", MESSAGE_FORMAT),
    ("message.format.version", MESSAGE_FORMAT),
    ("log.message.downconversion.enable", MESSAGE_FORMAT),
    ("message.downconversion.enable", MESSAGE_FORMAT),
    (
        "log.message.timestamp.difference.max.ms",
        "log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms have taken its place",
    ),
    ("password.encoder.", "no secrets are kept in the cluster's metadata"),
    ("delegation.token.master.key", "delegation.token.secret.key has taken its place"),
    ("confluent.", "it belongs to another build of Kafka"),
    ("kafka.logs.dir", JVM),
    ("java.", JVM),
    ("com.sun.", JVM),
    ("log4j.", "the log is set by OTTLA_LOG and broker loggers"),
    ("log4j2.", "the log is set by OTTLA_LOG and broker loggers"),
];

/// Why a key that Kafka once knew means nothing here; none where it is no such key.
pub(super) fn reason(key: &str) -> Option<&'static str> {
    let is = |known: &str| known == key || (known.ends_with('.') && key.starts_with(known));
    OBSOLETE.iter().find(|(known, _)| is(known)).map(|(_, reason)| *reason)
}

/// Slips of the finger that make an unknown key another one.
const SLIPS_MAX: usize = 2;
/// Shorter keys are near to too much.
const KEY_CHARS_MIN: usize = 6;
/// Longer ones are no slip of anything, and cost.
const KEY_CHARS_MAX: usize = 100;

/// The known key that somebody may have meant by an unknown one.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    let chars = key.chars().count();
    if !(KEY_CHARS_MIN..=KEY_CHARS_MAX).contains(&chars) {
        return None;
    }
    let near = BROKER_PROPERTIES.iter().map(|property| (slips(key, property.name), property.name));
    near.filter(|(slips, _)| *slips <= SLIPS_MAX).min().map(|(_, name)| name)
}

/// The fewest insertions, deletions, replacements and swaps of neighbours that make one text of the other; more than
/// [`SLIPS_MAX`] where the lengths say so already.
fn slips(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_ascii_lowercase().chars().collect(), b.to_ascii_lowercase().chars().collect());
    if a.len().abs_diff(b.len()) > SLIPS_MAX {
        return SLIPS_MAX + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
    for (line, left) in a.iter().enumerate() {
        let mut row = vec![line + 1];
        for (column, right) in b.iter().enumerate() {
            let replaced = at(&last, column) + usize::from(left != right);
            let mut best = replaced.min(at(&last, column + 1) + 1).min(at(&row, column) + 1);
            let swapped =
                line > 0 && column > 0 && a.get(line - 1) == Some(right) && b.get(column - 1) == Some(left);
            if swapped {
                best = best.min(at(&before, column - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    at(&last, b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_seen_and_another_key_is_not() {
        assert_eq!(nearest("num.partitons"), Some("num.partitions"));
        assert_eq!(nearest("num.partitoins"), Some("num.partitions"));
        assert_eq!(nearest("LOG.RETENTION.MS"), Some("log.retention.ms"));
        assert_eq!(nearest("log.dirss"), Some("log.dirs"));
        assert_eq!(nearest("my.plugin.setting"), None);
        assert_eq!(nearest("x.ms"), None);
        assert_eq!(nearest(&"n".repeat(10_000)), None);
    }

    #[test]
    fn what_kafka_once_knew_has_its_reason() {
        assert_eq!(reason("zookeeper.connect"), Some(ZOOKEEPER));
        assert!(
            reason("inter.broker.protocol.version").is_some_and(|reason| reason.contains("metadata.version"))
        );
        assert_eq!(reason("log.dirs"), None);
        for property in BROKER_PROPERTIES {
            assert_eq!(reason(property.name), None, "{} is known", property.name);
        }
    }
}
