//! Compaction, seen from outside: beside what Apache Kafka made of the same files, by its rules one by one, beside a
//! twin that knows each key's newest value, and across crashes.

mod beside;
mod crash;
mod kafka;
mod model;
mod rules;
mod support;
