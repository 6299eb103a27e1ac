//! Groups of the newer protocol (KIP-848).

mod heartbeat;
mod world;
