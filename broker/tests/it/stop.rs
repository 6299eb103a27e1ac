//! Stopping: in good order at the first signal, at once at the second.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use nix::sys::signal::Signal;
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use ottla_testkit::TestProcess;

use crate::BROKER;

const CLEAN_MARKER: &str = ".kafka_cleanshutdown";

fn assert_marker(data: &Path) {
    let marker = fs::read_to_string(data.join(CLEAN_MARKER)).unwrap();
    assert!(marker.starts_with("{\"version\":0,\"brokerEpoch\":"), "{marker}");
}

#[test]
fn a_signal_stops_it_in_good_order() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let process = TestProcess::builder(BROKER).start();
        let mut connection = process.connect();
        let answer = connection.call(&DescribeClusterRequest::default(), 1);
        assert_eq!(answer.brokers.len(), 1);
        assert!(!process.data().join(CLEAN_MARKER).exists(), "a running broker has no clean marker");
        process.signal(signal);
        connection.expect_end();
        let exit = process.wait();
        assert_eq!(exit.status.code(), Some(0), "{signal}: {exit:?}");
        assert_marker(exit.plan.data());
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let process = TestProcess::builder(BROKER).start();
    let _connection = process.connect();
    // While it stands still both signals wait for it, so that it finds the second right after the first.
    process.signal(Signal::SIGSTOP);
    process.signal(Signal::SIGINT);
    process.signal(Signal::SIGTERM);
    process.signal(Signal::SIGCONT);
    let exit = process.wait();
    assert_eq!(exit.status.code(), Some(128 + Signal::SIGTERM as i32), "{exit:?}");
    assert!(!exit.plan.data().join(CLEAN_MARKER).exists(), "a stop in haste is no clean one");
}

#[test]
fn a_kill_leaves_no_marker_and_the_next_start_recovers() {
    let plan = TestProcess::builder(BROKER).start().kill();
    assert!(!plan.data().join(CLEAN_MARKER).exists());
    let exit = plan.start().terminate();
    assert!(exit.stderr.contains("no clean stop before"), "{}", exit.stderr);
    let exit = exit.plan.start().terminate();
    assert!(!exit.stderr.contains("no clean stop before"), "{}", exit.stderr);
}

#[test]
fn a_killed_process_says_which_signal_it_was() {
    let process = TestProcess::builder(BROKER).start();
    process.signal(Signal::SIGKILL);
    assert_eq!(process.wait().status.signal(), Some(Signal::SIGKILL as i32));
}
