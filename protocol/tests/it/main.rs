//! The protocol against bytes and schemas of Apache Kafka 4.4.0, and against bytes that no honest peer sends.

mod data;
mod derive;
mod frames;
mod golden;
mod hostile;
mod primitives;
mod registry;
mod schema;
