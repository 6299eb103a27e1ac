//! The network over real loopback sockets, with a service that answers by order. Each test has a server of its own on
//! a free port; waiting is for conditions, never for a time.

mod ends;
mod files;
mod frames;
mod limits;
mod order;
mod service;
mod stop;
mod support;
