//! What a service manager is told, and the log as objects.

use std::os::unix::net::UnixDatagram;

use ottla_testkit::{TIME_MAX, TestProcess};

use crate::BROKER;
use crate::requests::create_topic;

#[test]
fn the_service_manager_learns_when_the_broker_serves_and_when_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(TIME_MAX)).unwrap();
    let next = || {
        let mut bytes = [0; 512];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let process = TestProcess::builder(BROKER).environment("NOTIFY_SOCKET", path.as_os_str()).start();
    let ready = next();
    let address = process.address().to_string();
    assert!(ready.starts_with("READY=1\nSTATUS=Serving PLAINTEXT://") && ready.contains(&address), "{ready}");
    let exit = process.terminate();
    assert!(next().starts_with("STOPPING=1\n"));
    assert!(!exit.stderr.contains("service manager"), "{}", exit.stderr);
}

#[test]
fn a_socket_that_cannot_be_used_is_told_and_the_broker_serves() {
    let process = TestProcess::builder(BROKER).environment("NOTIFY_SOCKET", "not/a/path").start();
    let exit = process.terminate();
    assert!(exit.stderr.contains("NOTIFY_SOCKET") && exit.stderr.contains("not/a/path"), "{}", exit.stderr);
}

#[test]
fn with_log_format_json_every_line_of_the_log_is_an_object() {
    let process = TestProcess::builder(BROKER).set("log.format", "json").start();
    let exit = process.terminate();
    assert!(exit.stderr.lines().count() > 1, "{}", exit.stderr);
    for line in exit.stderr.lines() {
        let keys = ["{\"time\":\"", "\",\"level\":\"", "\",\"module\":\"ottla_", "\",\"message\":\""];
        let mut rest = line;
        for key in keys {
            rest = rest.split_once(key).unwrap_or_else(|| panic!("{key} is not in {line}")).1;
        }
        assert!(line.ends_with('}'), "{line}");
    }
}

#[test]
fn a_slow_request_is_told_with_its_phases_and_a_limit_of_zero_tells_of_none() {
    for (limit, is_told) in [("1", true), ("0", false)] {
        let process = TestProcess::builder(BROKER).set("log.slow.request.ms", limit).start();
        // A folder and several files for each of them, made durable: no disk does that within a millisecond.
        create_topic(&mut process.connect(), "wide", 200);
        let exit = process.terminate();
        let line = exit.stderr.lines().find(|line| line.contains("a request was slow"));
        assert_eq!(line.is_some(), is_told, "{}", exit.stderr);
        if let Some(line) = line {
            for part in ["api=CreateTopics", "total_ms=", "queue_ms=", "local_ms=", "wait_ms=", "send_ms="] {
                assert!(line.contains(part), "{part} is not in {line}");
            }
        }
    }
}
