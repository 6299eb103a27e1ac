//! Random configurations against a small model: what a file may hold; and, over a running broker, random changes, each
//! either described back equal and obeyed by produce and fetch, also after a restart, or refused and without effect.

use std::collections::BTreeMap;

use ottla_broker::config::property::{Effect, Kind, Property};
use ottla_broker::config::{BrokerConfig, broker_properties};
use ottla_model::ErrorCode;
use ottla_model::batch::TimestampType;
use ottla_model::compression::{Codec, Compression};
use ottla_testkit::{Connection, TestBroker};

use crate::config_life::{alter, describe};
use crate::requests::{batch_at, batch_of_bytes, batches_of, create_topic, fetch, now_ms, produce};

const SEEDS: u64 = 4;
const STEPS: u64 = 120;

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    /// A number at, just inside, just outside, or far from the bounds, and whether it is within.
    fn number(&mut self, (min, max): (i64, i64), type_max: i64) -> (String, bool) {
        let wide = i128::from(min)..=i128::from(max);
        let candidates = [
            i128::from(min),
            i128::from(max),
            i128::from(min) - 1,
            i128::from(max) + 1,
            i128::from(min).midpoint(i128::from(max)),
            i128::from(self.below(1000)),
            -i128::from(self.below(1000)),
            i128::from(type_max) + 1,
        ];
        let number = *self.pick(&candidates);
        (number.to_string(), wide.contains(&number))
    }
}

/// A value of a property, and whether the property may have it.
fn value_for(random: &mut Random, property: &Property) -> (String, bool) {
    if random.below(6) == 0 {
        return match property.kind {
            Kind::Text | Kind::List | Kind::Class | Kind::Password => ("anything".to_owned(), true),
            _ => ("no value of it".to_owned(), false),
        };
    }
    let words = |random: &mut Random, words: &[&'static str]| ((*random.pick(words)).to_owned(), true);
    match property.kind {
        Kind::Boolean => words(random, &["true", "false", "TRUE", "False"]),
        Kind::Short(min, max) => random.number((min, max), i64::from(i16::MAX)),
        Kind::Int(min, max) => random.number((min, max), i64::from(i32::MAX)),
        Kind::IntOr(other, min, max) => {
            let (text, within) = random.number((min, max), i64::from(i32::MAX));
            let is_other = text == other.to_string();
            (text, within || is_other)
        }
        Kind::Long(min, max) => random.number((min, max), i64::MAX),
        Kind::Double(min, max) => {
            let number = random.pick(&[0.0, 0.25, 1.0, 1.5, -0.5]);
            (number.to_string(), (min..=max).contains(number))
        }
        Kind::OneOf(of) | Kind::OneOfAnyCase(of) => words(random, of),
        Kind::ListOf(of) => words(random, of),
        Kind::Replicas => words(random, &["*", "0:1", "0:1,1:1"]),
        Kind::OffsetReset => words(random, &["earliest", "by_duration:PT1H"]),
        Kind::Text | Kind::List | Kind::Class | Kind::Password => ("a".to_owned(), true),
    }
}

/// Keys whose values mean something together with others, or outside the process.
fn stands_alone(property: &Property) -> bool {
    const TOGETHER: &[&str] = &[
        "process.roles",
        "node.id",
        "broker.id",
        "max.connections.per.ip.overrides",
        "inter.broker.listener.name",
        "authorizer.class.name",
        "http.address",
    ];
    let of_listeners = property.name.contains("listener") || property.name.contains("protocol");
    let of_quorum = property.name.starts_with("controller.quorum");
    !TOGETHER.contains(&property.name)
        && !of_listeners
        && !of_quorum
        && !property.name.contains("log.dir")
        && property.effect == Effect::Acts
}

#[test]
fn a_file_is_taken_exactly_when_each_of_its_values_is_allowed() {
    let properties: Vec<&Property> =
        broker_properties().iter().filter(|property| stands_alone(property)).collect();
    for seed in 1..=200_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut pairs = vec![("log.dirs".to_owned(), "/data".to_owned())];
        let mut wrong = Vec::new();
        for _ in 0..=random.below(6) {
            let property = random.pick(&properties);
            if pairs.iter().any(|(key, _)| key == property.name) {
                continue;
            }
            let (value, allowed) = value_for(&mut random, property);
            if !allowed {
                wrong.push(property.name);
            }
            pairs.push((property.name.to_owned(), value));
        }
        let loaded =
            BrokerConfig::from_pairs(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        match loaded {
            Ok(config) => {
                assert!(wrong.is_empty(), "seed {seed}: {wrong:?} were taken: {pairs:?}");
                for (key, value) in &pairs {
                    let text = config.settings().text(key).unwrap();
                    assert!(text.eq_ignore_ascii_case(value), "seed {seed}: {key}={value} is {text}");
                }
            }
            Err(error) => {
                assert_eq!(error.sentences.len(), wrong.len(), "seed {seed}: {error}\n{pairs:?}");
                assert!(!wrong.is_empty(), "seed {seed}: {error}\n{pairs:?}");
                for key in wrong {
                    assert!(error.to_string().contains(key), "seed {seed}: {key} is not named in {error}");
                }
            }
        }
    }
}

/// What was set for a topic, for the broker, and for all brokers.
#[derive(Default)]
struct Model {
    sets: BTreeMap<(i8, String), BTreeMap<String, String>>,
}

impl Model {
    /// The text in force of a topic property, whose broker's name is the second.
    fn in_force(&self, key: &str, broker_key: &str, default: &str) -> String {
        let layers = [((2, "t"), key), ((4, "1"), broker_key), ((4, ""), broker_key)];
        let found = layers.iter().find_map(|((kind, name), key)| {
            self.sets.get(&(*kind, (*name).to_owned())).and_then(|set| set.get(*key))
        });
        found.map_or_else(|| default.to_owned(), |text| text.trim().to_owned())
    }

    fn number(&self, key: &str, broker_key: &str, default: i64) -> i64 {
        self.in_force(key, broker_key, &default.to_string()).parse().unwrap()
    }
}

/// A topic's key, the broker's, and values with whether they are allowed.
type Row = (&'static str, &'static str, &'static [(&'static str, bool)]);

/// The keys that are changed: of the topic, of a broker, and values of which some are not allowed.
const KEYS: &[Row] = &[
    (
        "max.message.bytes",
        "message.max.bytes",
        &[("200", true), ("5000", true), ("1048588", true), ("-1", false), ("x", false)],
    ),
    (
        "message.timestamp.type",
        "log.message.timestamp.type",
        &[("CreateTime", true), ("LogAppendTime", true), ("createtime", false)],
    ),
    (
        "message.timestamp.before.max.ms",
        "log.message.timestamp.before.max.ms",
        &[("60000", true), ("9223372036854775807", true), ("-1", false)],
    ),
    (
        "compression.type",
        "compression.type",
        &[("producer", true), ("gzip", true), ("lz4", true), ("uncompressed", true), ("brotli", false)],
    ),
    (
        "cleanup.policy",
        "log.cleanup.policy",
        &[("delete", true), ("compact", true), ("compact,delete", true), ("purge", false)],
    ),
    (
        "retention.ms",
        "log.retention.ms",
        &[("86400000", true), ("-1", true), ("99999999999999999999", false)],
    ),
    ("segment.bytes", "log.segment.bytes", &[("1048576", true), ("14", false), (" 2097152 ", true)]),
];

/// What describing a resource says that somebody set for it.
fn described(connection: &mut Connection, kind: i8, name: &str) -> BTreeMap<String, String> {
    let source = match (kind, name) {
        (2, _) => 1,
        (_, "") => 3,
        _ => 2,
    };
    let own = describe(connection, kind, name).into_iter().filter(|config| config.config_source == source);
    // The cluster's default number of replicas in sync is there from the start.
    let own = own.filter(|config| config.name != "min.insync.replicas");
    own.map(|config| (config.name.to_string(), config.value.unwrap_or_default().to_string())).collect()
}

#[test]
fn random_changes_are_described_obeyed_and_kept_or_refused_without_effect() {
    for seed in 1..=SEEDS {
        let mut random = Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D));
        let mut broker = TestBroker::builder().set("node.id", "1").start();
        let mut connection = broker.connect();
        create_topic(&mut connection, "t", 1);
        let mut model = Model::default();
        for step in 0..STEPS {
            let at = format!("seed {seed}, step {step}");
            change(&mut random, &mut connection, &mut model, &at);
            check_produce(&mut random, &mut connection, &model, &at);
            if random.below(40) == 0 {
                broker.restart();
                connection = broker.connect();
                check_described(&mut connection, &model, &at);
            }
        }
        check_described(&mut connection, &model, &format!("seed {seed}, at the end"));
    }
}

fn change(random: &mut Random, connection: &mut Connection, model: &mut Model, at: &str) {
    let (kind, name) = *random.pick(&[(2, "t"), (2, "t"), (4, "1"), (4, "")]);
    let mut asked = BTreeMap::new();
    let mut allowed = true;
    for _ in 0..=random.below(2) {
        let (topic_key, broker_key, values) = random.pick(KEYS);
        let key = if kind == 2 { *topic_key } else { *broker_key };
        let value = match random.below(4) {
            0 => None,
            _ => Some(*random.pick(values)),
        };
        if asked.insert(key, value.map(|(text, _)| text)).is_none() {
            allowed &= value.is_none_or(|(_, fine)| fine);
        } else {
            // The later one took the place of the earlier.
            allowed = asked.iter().all(|(key, value)| {
                let row = KEYS.iter().find(|row| row.0 == *key || row.1 == *key).unwrap();
                value.is_none_or(|value| row.2.iter().any(|(text, fine)| *text == value && *fine))
            });
        }
    }
    let configs: Vec<_> = asked.iter().map(|(key, value)| (*key, *value)).collect();
    let before = described(connection, kind, name);
    let answer = alter(connection, kind, name, &configs);
    assert_eq!(answer.error_code.is_none(), allowed, "{at}: {configs:?} of {kind}:{name}: {answer:?}");
    if allowed {
        let set = model.sets.entry((kind, name.to_owned())).or_default();
        for (key, value) in configs {
            match value {
                Some(value) => set.insert(key.to_owned(), value.trim().to_owned()),
                None => set.remove(key),
            };
        }
        check_described(connection, model, at);
    } else {
        assert_eq!(described(connection, kind, name), before, "{at}: a refused change changed something");
    }
}

fn check_described(connection: &mut Connection, model: &Model, at: &str) {
    let nothing = BTreeMap::new();
    for (kind, name) in [(2, "t"), (4, "1"), (4, "")] {
        let wanted = model.sets.get(&(kind, name.to_owned())).unwrap_or(&nothing);
        assert_eq!(described(connection, kind, name), *wanted, "{at}: {kind}:{name}");
    }
}

/// One produce, whose fate the model foretells; and of what was taken, the batch as it was stored.
fn check_produce(random: &mut Random, connection: &mut Connection, model: &Model, at: &str) {
    let codec = *random.pick(&[None, Some(Codec::Snappy)]);
    let age_ms = *random.pick(&[0, 3_600_000]);
    let has_key = random.below(3) > 0;
    let batch = match has_key {
        true => batch_at(3, now_ms() - age_ms, codec.map_or(Compression::NONE, Compression::of)),
        false => batch_of_bytes(usize::try_from(random.below(7000)).unwrap() + 1),
    };
    let (age_ms, codec) = if has_key { (age_ms, codec) } else { (0, None) };
    let is_log_append = model.in_force("message.timestamp.type", "log.message.timestamp.type", "CreateTime")
        == "LogAppendTime";
    let compression = model.in_force("compression.type", "compression.type", "producer");
    let too_large = (batch.len() as i64) > model.number("max.message.bytes", "message.max.bytes", 1_048_588);
    let before_max =
        model.number("message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms", i64::MAX);
    let too_old = !is_log_append && age_ms > before_max;
    let needs_key = model.in_force("cleanup.policy", "log.cleanup.policy", "delete").contains("compact");
    let answer = produce(connection, "t", 0, batch);
    let code = answer.error_code;
    let said = format!("{at}: {answer:?}");
    match (too_large, needs_key && !has_key, too_old) {
        (true, _, _) => assert_eq!(code, ErrorCode::MESSAGE_TOO_LARGE, "{said}"),
        (_, true, _) => assert_eq!(code, ErrorCode::INVALID_RECORD, "{said}"),
        (_, _, true) => assert_eq!(code, ErrorCode::INVALID_TIMESTAMP, "{said}"),
        _ => {
            assert_eq!(code, ErrorCode::NONE, "{said}");
            let stored = batches_of(fetch(connection, "t", 0, answer.base_offset.get())).remove(0);
            let header = stored.header();
            let wanted = match compression.as_str() {
                "producer" => codec,
                "gzip" => Some(Codec::Gzip),
                "lz4" => Some(Codec::Lz4),
                _ => None,
            };
            assert_eq!(header.codec().filter(|codec| *codec != Codec::None), wanted, "{said}");
            let is_stamped = header.timestamp_type() == TimestampType::LogAppendTime;
            assert_eq!(is_stamped, is_log_append, "{said}");
        }
    }
}
