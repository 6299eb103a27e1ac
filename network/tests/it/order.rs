//! Replies leave in the order of their requests, whatever each waits for.

use std::time::{Duration, Instant};

use ottla_network::{Requester, RequesterConfig, ServerConfig};

use crate::service::{
    BIG, CALL, CLOSE, CLOSE_UNANSWERED, DISPATCH, ECHO, GATES, LATER, LOG_IN, MUTE, NOTHING, REACTOR, Stage,
};
use crate::support::{Random, framed, start, start_with};

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = start();
    let mut client = server.connect();
    for frame in [&[LATER, 0][..], &[ECHO, 1], &[LATER, 1], &[ECHO, 2]] {
        client.send(frame);
    }
    server.wait_for_frames(4);
    server.stage.open(1);
    assert_eq!(server.handle.metrics().replies, 0);
    server.stage.open(0);
    for frame in [&[LATER, 0][..], &[ECHO, 1], &[LATER, 1], &[ECHO, 2]] {
        client.expect(frame);
    }
}

#[test]
fn the_next_frame_is_dispatched_only_after_the_one_before_and_earlier_replies_leave_meanwhile() {
    let server = start();
    let mut client = server.connect();
    client.send_raw(&[framed(&[ECHO, 1]), framed(&[DISPATCH, 0]), framed(&[ECHO, 2])].concat());
    client.expect(&[ECHO, 1]);
    assert_eq!(server.handle.metrics().frames, 2);
    server.stage.open(0);
    client.expect(&[DISPATCH, 0]);
    client.expect(&[ECHO, 2]);
}

#[test]
fn a_later_reply_leaves_while_a_dispatch_waits() {
    let server = start();
    let mut client = server.connect();
    client.send_raw(&[framed(&[LATER, 0]), framed(&[DISPATCH, 1])].concat());
    server.wait_for_frames(2);
    server.stage.open(0);
    client.expect(&[LATER, 0]);
    server.stage.open(1);
    client.expect(&[DISPATCH, 1]);
}

#[test]
fn a_request_without_an_answer_is_answered_by_nothing() {
    let server = start();
    let mut client = server.connect();
    client.send(&[NOTHING]);
    client.send(&[ECHO, 1]);
    client.send(&[NOTHING]);
    client.send(&[ECHO, 2]);
    client.expect(&[ECHO, 1]);
    client.expect(&[ECHO, 2]);
}

#[test]
fn a_muted_connection_is_answered_at_once_and_read_later() {
    let server = start();
    let mut client = server.connect();
    let began = Instant::now();
    client.send(&[MUTE, 0, 0, 0, 150]);
    client.expect(&[MUTE, 0, 0, 0, 150]);
    client.send(&[ECHO, 1]);
    client.expect(&[ECHO, 1]);
    assert!(began.elapsed() >= Duration::from_millis(150));
    // What came in one piece with the request that mutes waits as well.
    let began = Instant::now();
    client.send_raw(&[framed(&[MUTE, 0, 0, 0, 150]), framed(&[ECHO, 2])].concat());
    client.expect(&[MUTE, 0, 0, 0, 150]);
    assert_eq!(server.handle.metrics().frames, 3);
    client.expect(&[ECHO, 2]);
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[test]
fn a_close_ends_the_connection_after_its_answer_and_nothing_behind_it_is_served() {
    let server = start();
    let mut client = server.connect();
    client.send_raw(
        &[framed(&[LATER, 0]), framed(&[CLOSE, 1]), framed(&[ECHO, 2]), framed(&[ECHO, 3])].concat(),
    );
    server.wait_for_frames(2);
    server.stage.open(0);
    client.expect(&[LATER, 0]);
    client.expect(&[CLOSE, 1]);
    client.expect_end();
    assert_eq!(server.handle.metrics().frames, 2);

    let mut client = server.connect();
    client.send_raw(&[framed(&[ECHO, 1]), framed(&[CLOSE_UNANSWERED]), framed(&[ECHO, 2])].concat());
    client.expect(&[ECHO, 1]);
    client.expect_end();
}

#[test]
fn a_peer_that_sends_no_more_still_gets_its_answers() {
    let server = start();
    let mut client = server.connect();
    client.send(&[LATER, 0]);
    client.send(&[ECHO, 1]);
    client.finish();
    server.wait_for_frames(2);
    server.stage.open(0);
    client.expect(&[LATER, 0]);
    client.expect(&[ECHO, 1]);
    client.expect_end();
}

#[test]
fn before_log_in_requests_go_one_at_a_time() {
    let mut stage = Stage::new();
    stage.login = true;
    let server = start_with(ServerConfig::default(), stage);
    let mut client = server.connect();
    let frames = [framed(&[LATER, 0]), framed(&[LOG_IN]), framed(&[LATER, 1]), framed(&[ECHO, 1])];
    client.send_raw(&frames.concat());
    server.wait_for_frames(1);
    server.stage.open(0);
    client.expect(&[LATER, 0]);
    client.expect(&[LOG_IN]);
    server.wait_for_frames(4);
    server.stage.open(1);
    client.expect(&[LATER, 1]);
    client.expect(&[ECHO, 1]);
}

#[test]
fn connections_are_spread_evenly_over_the_reactors() {
    let server = start_with(ServerConfig { reactors: 3, ..ServerConfig::default() }, Stage::new());
    let mut served = [0; 3];
    let mut clients: Vec<_> = (0..12).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(&[REACTOR]);
        served[usize::from(client.receive()[0])] += 1;
    }
    assert_eq!(served, [4, 4, 4]);
}

#[test]
fn another_thread_can_call_a_reactor() {
    let server = start_with(ServerConfig { reactors: 1, ..ServerConfig::default() }, Stage::new());
    let mut client = server.connect();
    client.send(&[CALL]);
    server.wait_for_frames(1);
    server.stage.call.notify_one();
    client.expect(&[CALL]);
}

#[test]
fn random_pipelines_keep_their_order() {
    for seed in 1..=12 {
        let mut random = Random(seed);
        let config = ServerConfig { replies_in_flight_max: 1 + random.below(20), ..ServerConfig::default() };
        let server = start_with(config, Stage::new());
        let mut client = server.connect();
        let mut gates = Vec::new();
        let frames: Vec<Vec<u8>> = (0..200)
            .map(|number| {
                let gate = u8::try_from(random.below(GATES)).expect("few gates");
                match random.below(6) {
                    0 => {
                        gates.push(gate);
                        vec![LATER, gate, number]
                    }
                    1 => {
                        gates.push(gate);
                        vec![DISPATCH, gate, number]
                    }
                    2 => vec![NOTHING, number],
                    3 => vec![BIG, 0, 0, number, number],
                    _ => vec![ECHO, number],
                }
            })
            .collect();
        let sent: Vec<u8> = frames.iter().flat_map(|frame| framed(frame)).collect();
        let mut rest = sent.as_slice();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(1 + random.below(rest.len()));
            client.send_raw(piece);
            rest = behind;
            for _ in 0..random.below(gates.len() + 1) {
                server.stage.open(gates.swap_remove(random.below(gates.len())));
            }
        }
        gates.iter().for_each(|gate| server.stage.open(*gate));
        for frame in &frames {
            match frame[0] {
                NOTHING => {}
                BIG => {
                    let length = u32::from_be_bytes([0, 0, frame[3], frame[4]]) as usize;
                    assert_eq!(client.receive(), vec![b'.'; length], "seed {seed}");
                }
                _ => client.expect(frame),
            }
        }
    }
}

#[test]
fn a_requester_speaks_with_a_server() {
    let server = start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut requester =
            Requester::connect(server.address, &RequesterConfig::default()).await.expect("connected");
        assert_eq!(requester.peer(), server.address);
        let frames: Vec<bytes::Bytes> =
            (0..50_u8).map(|n| vec![ECHO; 1 + usize::from(n) * 1000].into()).collect();
        for frame in &frames {
            let middle = frame.len() / 2;
            requester.send(&[frame.slice(..middle), frame.slice(middle..)]).await.expect("sent");
        }
        for frame in &frames {
            assert_eq!(requester.receive().await.expect("received"), frame);
        }
    });
}
