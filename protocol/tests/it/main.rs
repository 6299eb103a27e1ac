//! The protocol against bytes and schemas of Apache Kafka 4.4.0, and against bytes that no honest peer sends.

mod data;
mod derive;
mod docs;
mod frames;
mod fuzz;
mod golden;
mod hostile;
mod memory;
mod primitives;
mod properties;
mod random;
mod registry;
mod schema;
