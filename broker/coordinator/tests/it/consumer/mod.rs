//! Groups of the newer protocol (KIP-848).

mod classic;
mod heartbeat;
mod migration;
mod offsets;
mod random;
mod recorded;
mod world;
