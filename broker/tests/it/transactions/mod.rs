//! Transactions over the wire. The codes are those that Apache Kafka 4.4.0 gave to the same requests.

mod chain;
mod client;
mod codes;
mod fencing;
mod isolation;
mod markers;
mod offsets;
mod protocols;
mod restart;
mod telling;
mod time_out;
