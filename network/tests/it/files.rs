//! Replies out of files: every mixture of pieces, files that are too short, files that lie cold.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

use ottla_network::{End, ServerConfig};

use crate::service::{ECHO, FILE, Stage};
use crate::support::{Random, Running, filled, framed, start_with};

const FILE_BYTES: usize = 3_000_000;

fn start_with_file() -> (Running, Vec<u8>) {
    let content = filled(&[], FILE_BYTES);
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&content).expect("written");
    let mut stage = Stage::new();
    stage.file = Some(Arc::new(file));
    (start_with(ServerConfig { reactors: 1, ..ServerConfig::default() }, stage), content)
}

fn order(slices: &[(usize, usize)]) -> Vec<u8> {
    let mut frame = vec![FILE];
    for (position, length) in slices {
        frame.extend((*position as u64).to_be_bytes());
        frame.extend((*length as u64).to_be_bytes());
    }
    frame
}

fn answer(content: &[u8], slices: &[(usize, usize)]) -> Vec<u8> {
    let mut frame = Vec::new();
    for (position, length) in slices {
        frame.push(b':');
        frame.extend(&content[*position..position + length]);
    }
    frame
}

#[test]
fn slices_of_a_file_arrive_between_the_bytes_around_them() {
    let (server, content) = start_with_file();
    let mut client = server.connect();
    let fixed: [&[(usize, usize)]; 6] = [
        &[(0, 0)],
        &[(0, 1), (FILE_BYTES - 1, 1)],
        &[(5, 16_384), (6, 16_385)],
        &[(0, FILE_BYTES)],
        &[(1, 262_144), (2, 262_145), (0, 0), (3, 262_143)],
        &[(0, 20_000); 100],
    ];
    for slices in fixed {
        client.send(&order(slices));
        client.expect(&answer(&content, slices));
    }
    // Pipelined, with small answers between.
    let mut random = Random(3);
    let orders: Vec<Vec<(usize, usize)>> = (0..40)
        .map(|_| {
            (0..random.below(4) + 1)
                .map(|_| {
                    let most = [100, 50_000, 600_000][random.below(3)];
                    let length = random.below(most);
                    (random.below(FILE_BYTES - length), length)
                })
                .collect()
        })
        .collect();
    for slices in &orders {
        client.send_raw(&[framed(&order(slices)), framed(&[ECHO, 1])].concat());
    }
    for slices in &orders {
        client.expect(&answer(&content, slices));
        client.expect(&[ECHO, 1]);
    }
    assert!(server.handle.metrics().file_bytes_out > 0);
}

#[test]
fn a_file_that_is_shorter_than_announced_closes_the_connection() {
    let (server, content) = start_with_file();
    for (number, (position, length)) in
        [(FILE_BYTES - 10, 11), (FILE_BYTES - 100_000, 100_001), (FILE_BYTES, 1_000_000), (0, FILE_BYTES * 2)]
            .into_iter()
            .enumerate()
    {
        let mut client = server.connect();
        client.send(&order(&[(0, 100), (position, length)]));
        let mut received = Vec::new();
        client.stream.read_to_end(&mut received).expect("an end");
        // Every byte that came is the right one, and some are missing.
        let announced = 102 + length;
        assert_eq!(received[..4], u32::try_from(announced).expect("short").to_be_bytes());
        let there =
            answer(&content, &[(0, 100), (position.min(FILE_BYTES), FILE_BYTES - position.min(FILE_BYTES))]);
        assert!(there.starts_with(&received[4..]));
        server.wait_for_ends(End::FileCut, number as u64 + 1);
    }
}

#[test]
fn a_file_that_lies_cold_is_warmed_elsewhere() {
    let (server, content) = start_with_file();
    let file = server.stage.file.as_ref().expect("a file");
    file.sync_all().expect("synced");
    evict(file);
    let slices = [(0, 100), (FILE_BYTES - 700_000, 700_000), (100_000, 2_000_000), (10, 0)];
    let mut client = server.connect();
    client.send(&order(&slices));
    client.expect(&answer(&content, &slices));
}

/// Asks the system to forget the file's pages; one in memory has nowhere to forget them to.
fn evict(file: &File) {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).expect("advised");
}

#[test]
fn a_long_file_does_not_keep_others_from_being_served() {
    let (server, content) = start_with_file();
    let mut long = server.connect();
    let slices = [(0, FILE_BYTES); 20];
    long.send(&order(&slices));
    // Nobody reads the long one yet, and the reactor is the same.
    let mut other = server.connect();
    other.call(&[ECHO, 1]);
    long.expect(&answer(&content, &slices));
}
