//! Stopping: what is in flight is finished, what is idle is closed, what takes too long is cut off.

use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ottla_network::{End, ServerConfig, ShutdownReport};

use crate::service::{DISPATCH, ECHO, LATER, Stage};
use crate::support::{TIME_MAX, framed, start, start_with};

#[test]
fn requests_in_flight_are_answered_and_idle_connections_closed() {
    let server = start_with(ServerConfig { reactors: 2, ..ServerConfig::default() }, Stage::new());
    let mut idle = server.connect();
    idle.call(&[ECHO, 1]);
    let mut half = server.connect();
    half.send_raw(&framed(&[ECHO; 50_000])[..30_000]);
    let mut parked = server.connect();
    parked.send(&[LATER, 0]);
    let mut dispatching = server.connect();
    dispatching.send(&[DISPATCH, 1]);
    server.wait_for_frames(3);
    server.wait_until("half a frame", |metrics| metrics.request_memory_bytes == 50_000);

    server.handle.begin_shutdown(TIME_MAX);
    idle.expect_end();
    half.expect_end();
    server.wait_for_ends(End::Drained, 2);
    server.stage.open(0);
    server.stage.open(1);
    parked.expect(&[LATER, 0]);
    parked.expect_end();
    dispatching.expect(&[DISPATCH, 1]);
    dispatching.expect_end();
    assert_eq!(server.handle.join(), ShutdownReport { cut_off: 0, threads_panicked: 0 });
    assert_eq!(server.stage.drained.load(Ordering::SeqCst), 2);
    assert_eq!(server.stage.disconnected.load(Ordering::SeqCst), 4);
    assert!(TcpStream::connect(server.address).is_err());
}

#[test]
fn at_the_deadline_the_rest_is_cut_off() {
    let server = start();
    let mut parked = server.connect();
    parked.send(&[LATER, 0]);
    server.wait_for_frames(1);
    let report = server.handle.shutdown(Duration::from_millis(50));
    assert_eq!(report, ShutdownReport { cut_off: 1, threads_panicked: 0 });
    parked.expect_end();
}

#[test]
fn a_second_call_shortens_the_time() {
    let server = start();
    let mut parked = server.connect();
    parked.send(&[LATER, 0]);
    server.wait_for_frames(1);
    server.handle.begin_shutdown(Duration::from_secs(3600));
    server.handle.begin_shutdown(Duration::ZERO);
    assert_eq!(server.handle.join().cut_off, 1);
    parked.expect_end();
}
