//! The broker: Kafka's requests answered from Ottla's logs and metadata.

pub mod config;
