//! Bytes to frames: every cut of the stream, every size, and lengths that nobody should send.

use ottla_network::{End, SMALL_FRAME_BYTES_MAX, ServerConfig};

use crate::service::{ECHO, KEEP, LOG_IN, Stage};
use crate::support::{Random, alone, filled, framed, resident_bytes, start, start_with};

#[test]
fn a_frame_may_come_one_byte_at_a_time() {
    let server = start();
    let mut client = server.connect();
    for byte in framed(&filled(&[ECHO], 40)) {
        client.send_raw(&[byte]);
    }
    client.expect(&filled(&[ECHO], 40));
}

#[test]
fn frames_of_any_size_arrive_whole_however_they_are_cut() {
    let server = start();
    let small = SMALL_FRAME_BYTES_MAX;
    let sizes = [1, 2, 3, 100, small - 1, small, small + 1, 65_532, 65_536, 300_000, 1 << 20, 2_000_000];
    for seed in 1..=3 {
        let mut random = Random(seed);
        let frames: Vec<Vec<u8>> =
            (0..30).map(|_| filled(&[ECHO], sizes[random.below(sizes.len())])).collect();
        let sent: Vec<u8> = frames.iter().flat_map(|frame| framed(frame)).collect();
        let mut client = server.connect();
        let mut sender = crate::support::Client { stream: client.stream.try_clone().expect("cloned") };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut rest = sent.as_slice();
                while !rest.is_empty() {
                    let most = if random.below(2) == 0 { 10 } else { 200_000 };
                    let (piece, behind) = rest.split_at((1 + random.below(most)).min(rest.len()));
                    sender.send_raw(piece);
                    rest = behind;
                }
            });
            for frame in &frames {
                client.expect(frame);
            }
        });
    }
    // The last answer is received a moment before the server lets go of it.
    server.wait_until("all returned", |metrics| metrics.request_memory_bytes == 0);
}

#[test]
fn half_a_frame_and_then_the_end_leaves_nothing_behind() {
    let server = start();
    for (half, number) in
        [(&[0, 0][..], 1), (&framed(&[ECHO; 10])[..9], 2), (&framed(&[ECHO; 50_000])[..30_000], 3)]
    {
        let mut client = server.connect();
        client.send_raw(half);
        drop(client);
        server.wait_for_ends(End::PeerClosed, number);
    }
    server.wait_until("nothing open", |metrics| {
        metrics.connections_open == 0 && metrics.request_memory_bytes == 0 && metrics.frames == 0
    });
}

#[test]
fn a_length_that_is_not_accepted_closes_the_connection_and_no_other() {
    let config = ServerConfig { request_bytes_max: 1000, ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut good = server.connect();
    let mut closed = 0;
    for bytes in [
        &0_i32.to_be_bytes()[..],
        &(-1_i32).to_be_bytes(),
        &i32::MIN.to_be_bytes(),
        &i32::MAX.to_be_bytes(),
        &1001_i32.to_be_bytes(),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        // The start of a TLS hello.
        &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03],
    ] {
        let mut client = server.connect();
        client.send_raw(bytes);
        client.expect_end();
        closed += 1;
        // What came before it is answered first.
        let mut client = server.connect();
        client.send_raw(&[&framed(&[ECHO, 1])[..], bytes].concat());
        client.expect(&[ECHO, 1]);
        client.expect_end();
        closed += 1;
        good.call(&[ECHO, 7]);
    }
    good.call(&filled(&[ECHO], 1000));
    server.wait_for_ends(End::BadLength, closed);
}

#[test]
fn before_log_in_a_tighter_limit_holds() {
    let mut stage = Stage::new();
    stage.login = true;
    let server = start_with(ServerConfig::default(), stage);
    let mut client = server.connect();
    client.call(&filled(&[ECHO], 100));
    client.call(&[LOG_IN]);
    client.call(&filled(&[ECHO], 101));
    let mut client = server.connect();
    client.send(&filled(&[ECHO], 101));
    client.expect_end();
}

#[test]
fn a_thousand_connections_with_garbage_cost_no_memory() {
    alone("frames::a_thousand_connections_with_garbage_cost_no_memory", || {
        let server = start();
        let mut good = server.connect();
        good.call(&[ECHO, 1]);
        let before = resident_bytes();
        let mut random = Random(1);
        let mut clients: Vec<_> = (0..1000).map(|_| server.connect()).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            let claimed = [i32::MAX, 99 * 1024 * 1024, 0, -5, 0x4745_5420][number % 5];
            let mut bytes = claimed.to_be_bytes().to_vec();
            bytes.extend((0..200).map(|_| u8::try_from(random.below(256)).expect("a byte")));
            client.send_raw(&bytes);
            if number % 100 == 0 {
                good.call(&[ECHO, 2]);
            }
        }
        server.wait_until("bad lengths", |metrics| metrics.ended(End::BadLength) == 800);
        // Those who claim 99 MiB and send 200 bytes are admitted two at a time, since the budget is 256 MiB.
        let metrics = server.wait_until("waiting", |metrics| metrics.admission_waits == 198);
        assert!(metrics.request_memory_bytes <= 256 * 1024 * 1024);
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < 32 * 1024 * 1024, "{grown} bytes more");
        good.call(&[ECHO, 3]);
        drop(clients);
        server.wait_until("all gone", |metrics| {
            metrics.connections_open == 1 && metrics.request_memory_bytes == 0
        });
        good.call(&[ECHO, 4]);
    });
}

#[test]
fn a_frame_waits_for_memory_in_order_of_arrival_and_small_ones_need_none() {
    let config = ServerConfig { request_memory_bytes_max: 100_000, ..ServerConfig::default() };
    let server = start_with(config, Stage::new());
    let mut first = server.connect();
    first.send(&filled(&[KEEP, 0], 80_000));
    server.wait_for_frames(1);
    let mut second = server.connect();
    second.send(&filled(&[KEEP, 1], 90_000));
    server.wait_until("a wait", |metrics| metrics.admission_waits == 1);
    let mut third = server.connect();
    third.send(&filled(&[KEEP, 2], 20_000));
    server.wait_until("a wait", |metrics| metrics.admission_waits == 2);
    let mut small = server.connect();
    small.call(&filled(&[ECHO], SMALL_FRAME_BYTES_MAX));
    // What is left is kept for the second.
    assert_eq!(server.handle.metrics().request_memory_bytes, 100_000);

    server.stage.open(0);
    first.expect(&filled(&[KEEP, 0], 80_000));
    // The third would have fitted beside the first, but the second was there before; now the second is served, and
    // the third still waits.
    server.wait_for_frames(3);
    assert_eq!(server.handle.metrics().request_memory_bytes, 100_000);
    server.stage.open(1);
    second.expect(&filled(&[KEEP, 1], 90_000));
    server.stage.open(2);
    third.expect(&filled(&[KEEP, 2], 20_000));
    server.wait_until("all returned", |metrics| metrics.request_memory_bytes == 0);
    // More than there is at all is taken alone.
    let mut over = server.connect();
    over.call(&filled(&[ECHO], 150_000));
}
