//! Behaviour of the model, mostly against bytes that Apache Kafka wrote. One binary; a module a subject.

mod batches;
mod check;
mod compression;
mod hostile;
mod legacy;
mod primitives;
mod recompress;
mod round_trip;
mod vectors;
