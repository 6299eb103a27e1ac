//! What a connection may keep, and how many there may be.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use ottla_network::{End, ServerConfig};

use crate::service::{BIG, ECHO, FILE, KEEP, LATER, NOTHING, Stage};
use crate::support::{Running, alone, filled, framed, open_descriptors, resident_bytes, start_with};

const BIG_BYTES: usize = 256 * 1024;

fn big() -> Vec<u8> {
    let mut frame = vec![BIG];
    frame.extend(u32::try_from(BIG_BYTES).expect("short").to_be_bytes());
    frame
}

#[test]
fn a_peer_that_does_not_read_is_not_served_further() {
    let config = ServerConfig { unsent_bytes_max: 1 << 20, ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut client = server.connect();
    client.send_raw(&framed(&big()).repeat(400));
    let bounded = |server: &Running| {
        // The frames first: what is sent meanwhile only widens the bound.
        let frames = usize::try_from(server.handle.metrics().frames).expect("few");
        let sent = usize::try_from(server.handle.metrics().bytes_out).expect("few");
        assert!(frames * BIG_BYTES <= sent + (1 << 20) + BIG_BYTES, "{frames} frames, {sent} bytes sent");
    };
    server.wait_until("something sent", |metrics| metrics.bytes_out > 0);
    (0..1000).for_each(|_| bounded(&server));
    for _ in 0..400 {
        assert_eq!(client.receive().len(), BIG_BYTES);
        bounded(&server);
    }
}

#[test]
fn replies_in_flight_have_a_limit() {
    let config = ServerConfig { replies_in_flight_max: 3, ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut client = server.connect();
    client.send_raw(&[framed(&[LATER, 0]), framed(&[ECHO, 1]).repeat(9)].concat());
    server.wait_for_frames(3);
    // Another connection's round trips give a reactor that goes too far the time to do so.
    let mut other = server.connect();
    (0..20).for_each(|_| other.call(&[ECHO, 2]));
    assert_eq!(server.handle.metrics().frames, 3 + 20);
    server.stage.open(0);
    client.expect(&[LATER, 0]);
    (0..9).for_each(|_| client.expect(&[ECHO, 1]));
}

#[test]
fn a_peer_that_never_reads_is_closed_in_the_end() {
    let config = ServerConfig { write_stall_time_max: Duration::from_millis(100), ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut client = server.connect();
    client.send_raw(&framed(&big()).repeat(100));
    server.wait_for_ends(End::WriteStalled, 1);
    server.wait_until("gone", |metrics| metrics.connections_open == 0);
    drop(client);
}

#[test]
fn a_frame_that_does_not_move_on_gives_its_memory_back() {
    let config = ServerConfig {
        request_memory_bytes_max: 100_000,
        read_stall_time_max: Duration::from_millis(100),
        ..ServerConfig::default()
    };
    let server = start_with(config, Stage::new());
    let mut stalled = server.connect();
    stalled.send_raw(&framed(&filled(&[ECHO], 90_000))[..40_000]);
    server.wait_until("memory taken", |metrics| metrics.request_memory_bytes == 90_000);
    let mut waiting = server.connect();
    waiting.call(&filled(&[ECHO], 80_000));
    stalled.expect_end();
    server.wait_for_ends(End::ReadStalled, 1);
}

#[test]
fn an_idle_connection_is_closed_and_one_that_waits_for_a_reply_is_not() {
    let config = ServerConfig { idle_time_max: Duration::from_millis(60), ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut waiting = server.connect();
    waiting.send(&[LATER, 0]);
    server.wait_for_frames(1);
    for _ in 0..3 {
        // Each of these takes the idle time, and so the waiting one has long passed it.
        let mut idle = server.connect();
        idle.expect_end();
        // Half a frame is no excuse.
        let mut idle = server.connect();
        idle.send_raw(&[0, 0, 0]);
        idle.expect_end();
    }
    server.wait_for_ends(End::Idle, 6);
    server.stage.open(0);
    waiting.expect(&[LATER, 0]);
    waiting.expect_end();
}

#[test]
fn a_peer_that_has_gone_is_not_kept_for_a_reply_that_does_not_come() {
    let config = ServerConfig { half_closed_time_max: Duration::from_millis(50), ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut client = server.connect();
    client.send(&[LATER, 0]);
    server.wait_for_frames(1);
    drop(client);
    server.wait_for_ends(End::PeerClosed, 1);
    server.wait_until("gone", |metrics| metrics.connections_open == 0);
}

#[test]
fn a_peer_that_has_gone_while_its_requests_go_one_at_a_time_is_noticed_and_what_it_sent_is_served() {
    let mut stage = Stage::new();
    stage.login = true;
    let config = ServerConfig { half_closed_time_max: Duration::from_millis(50), ..ServerConfig::default() };
    let server = start_with(config, stage);
    // With nothing behind the request that waits, and with two more of them.
    for behind in [Vec::new(), [framed(&[LATER, 1]), framed(&[LATER, 2])].concat()] {
        let mut client = server.connect();
        client.send_raw(&[framed(&[LATER, 0]), behind].concat());
        drop(client);
    }
    server.wait_for_ends(End::PeerClosed, 2);
    server.wait_until("gone", |metrics| metrics.connections_open == 0);
    // All four were dispatched, though nobody was left to hear of them.
    server.wait_for_frames(4);
}

#[test]
fn a_peer_that_sends_no_more_is_answered_one_at_a_time() {
    let mut stage = Stage::new();
    stage.login = true;
    let server = start_with(ServerConfig::default(), stage);
    let mut client = server.connect();
    client.send_raw(&[framed(&[LATER, 0]), framed(&[LATER, 1])].concat());
    client.finish();
    server.wait_for_frames(1);
    for gate in [0, 1] {
        server.stage.open(gate);
        client.expect(&[LATER, gate]);
    }
    client.expect_end();
}

#[test]
fn readers_that_do_not_read_cost_little_and_hinder_nobody() {
    alone("limits::readers_that_do_not_read_cost_little_and_hinder_nobody", || {
        const FILE_BYTES: u64 = 1 << 20;
        let file = tempfile::tempfile().expect("a file");
        file.set_len(FILE_BYTES).expect("a hole");
        let mut stage = Stage::new();
        stage.file = Some(Arc::new(file));
        let server = start_with(ServerConfig { reactors: 1, ..ServerConfig::default() }, stage);
        let mut good = server.connect();
        good.call(&[ECHO, 1]);
        let before = resident_bytes();
        let mut order = vec![FILE];
        (0..50).for_each(|_| {
            order.extend(0_u64.to_be_bytes());
            order.extend(FILE_BYTES.to_be_bytes());
        });
        let mut clients: Vec<_> = (0..200).map(|_| server.connect()).collect();
        for client in &mut clients {
            // Fifty megabytes from a file, and twenty times a quarter of one from memory.
            client.send_raw(&[framed(&order), framed(&big()).repeat(20)].concat());
        }
        server.wait_until("each begun", |metrics| metrics.replies >= 201);
        for _ in 0..100 {
            good.call(&[ECHO, 2]);
        }
        // Four of the replies from memory reach the limit of a connection.
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < 200 * (1 << 20) + (64 << 20), "{grown} bytes more");
        drop(clients);
        server.wait_until("gone", |metrics| metrics.connections_open == 1);
        good.call(&[ECHO, 3]);
    });
}

#[test]
fn one_address_has_a_limit_and_slots_return() {
    let config = ServerConfig { connections_per_ip_max: 2, ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut first = server.connect();
    let mut second = server.connect();
    first.call(&[ECHO, 1]);
    second.call(&[ECHO, 2]);
    let mut third = server.connect();
    third.expect_end();
    drop(first);
    server.wait_until("one gone", |metrics| metrics.connections_open == 1);
    let mut fourth = server.connect();
    fourth.call(&[ECHO, 4]);
    second.call(&[ECHO, 2]);
    assert_eq!(server.handle.metrics().connections_refused_per_ip, 1);
}

#[test]
fn an_address_may_have_a_limit_of_its_own() {
    let config = ServerConfig {
        connections_per_ip_max: 5,
        connections_per_ip_overrides: HashMap::from([([127, 0, 0, 1].into(), 1)]),
        ..ServerConfig::default()
    };
    let server = start_with(config, Stage::new());
    let mut first = server.connect();
    first.call(&[ECHO, 1]);
    server.connect().expect_end();
}

#[test]
fn beyond_the_limit_in_total_a_connection_waits_for_another_to_end() {
    let config = ServerConfig { connections_max: 1, ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut first = server.connect();
    first.call(&[ECHO, 1]);
    let mut second = server.connect();
    second.send(&[ECHO, 2]);
    (0..20).for_each(|_| first.call(&[ECHO, 1]));
    assert_eq!(server.handle.metrics().connections_opened, 1);
    drop(first);
    second.expect(&[ECHO, 2]);
}

#[test]
fn every_kind_of_end_frees_its_slot_and_its_descriptor() {
    alone("limits::every_kind_of_end_frees_its_slot_and_its_descriptor", || {
        const PER_IP: usize = 20;
        let config = ServerConfig {
            connections_per_ip_max: PER_IP,
            read_stall_time_max: Duration::from_millis(50),
            ..ServerConfig::default()
        };
        let server = start_with(config, Stage::new());
        let before = open_descriptors();
        let mut resident = 0;
        for pass in 0..2 {
            for round in 0..1000 {
                let mut client = server.connect();
                // Refused by the limit or served: whichever, the socket may be gone while we write.
                let bytes = match round % 8 {
                    0 => Vec::new(),
                    1 => vec![0, 0, 0],
                    2 => framed(&[ECHO; 100])[..50].to_vec(),
                    3 => framed(&[ECHO; 100]).repeat(10),
                    4 => b"\x16\x03\x01\x02\x00".to_vec(),
                    5 => framed(&filled(&[KEEP, 0], 50_000))[..30_000].to_vec(),
                    6 => framed(&big()).repeat(20),
                    _ => framed(&[NOTHING; 10]),
                };
                drop(std::io::Write::write_all(&mut client.stream, &bytes));
                if round % 3 == 0 {
                    client.reset();
                } else {
                    drop(client);
                }
            }
            // Whoever is accepted now comes after all of them; there may be too many of them yet.
            while server.connect().try_call(&[ECHO, 1]).is_err() {}
            server.wait_until("all gone", |metrics| {
                metrics.connections_open == 0 && metrics.connections_opened == metrics.ended_total()
            });
            let mut clients: Vec<_> = (0..PER_IP).map(|_| server.connect()).collect();
            clients.iter_mut().for_each(|client| client.call(&[ECHO, 1]));
            let mut one_more = server.connect();
            let mut nothing = Vec::new();
            drop(one_more.stream.read_to_end(&mut nothing));
            assert!(nothing.is_empty());
            drop(clients);
            drop(one_more);
            server.wait_until("all gone", |metrics| metrics.connections_open == 0);
            let after = open_descriptors();
            assert!(after <= before + 1, "descriptors: {before}, then {after}");
            if pass == 0 {
                resident = resident_bytes();
            }
        }
        let grown = resident_bytes().saturating_sub(resident);
        assert!(grown < 8 * 1024 * 1024, "{grown} bytes more in the second pass");
    });
}
