//! The HTTP endpoint as scrapers and probes find it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use ottla_testkit::{TIME_MAX, TestBroker, TestProcess};

use crate::BROKER;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends one request on a connection of its own.
pub(crate) fn get_with(address: SocketAddr, path: &str, fields: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}\r\n");
    send(address, request.as_bytes())
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    get_with(address, path, "")
}

fn send(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect_timeout(&address, TIME_MAX).unwrap();
    stream.set_read_timeout(Some(TIME_MAX)).unwrap();
    stream.write_all(request).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status: {head}"));
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

pub(crate) fn broker() -> TestBroker {
    TestBroker::builder().set("http.address", "127.0.0.1:0").start()
}

pub(crate) fn address(broker: &TestBroker) -> SocketAddr {
    broker.running().http_address().unwrap()
}

/// The value of a sample, by its whole name with labels.
pub(crate) fn value(page: &str, sample: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok())
}

#[test]
fn a_request_of_kafkas_is_on_the_page_with_its_version_its_bytes_and_its_phases() {
    let broker = broker();
    let mut connection = broker.connect();
    let named = ApiVersionsRequest {
        client_software_name: "a-client".into(),
        client_software_version: "1.2".into(),
        ..ApiVersionsRequest::default()
    };
    let _ = connection.call(&named, 4);
    for _ in 0..3 {
        let _ = connection.call(&DescribeClusterRequest::default(), 1);
    }
    // An answer is counted once the system has it, which the next one's coming proves.
    let _ = connection.call(&named, 4);
    let page = get(address(&broker), "/metrics");
    assert_eq!(page.status, 200);
    let page = page.body;
    let sample = |name: &str| value(&page, name).unwrap_or_else(|| panic!("{name} is not on\n{page}"));
    assert_eq!(sample("ottla_requests_total{api=\"DescribeCluster\",version=\"1\"}"), 3.0);
    assert_eq!(sample("ottla_request_duration_seconds_count{api=\"DescribeCluster\"}"), 3.0);
    for phase in ["queue", "local", "wait", "send"] {
        let count = format!("ottla_request_phase_seconds_count{{api=\"DescribeCluster\",phase=\"{phase}\"}}");
        assert_eq!(sample(&count), 3.0);
    }
    assert!(sample("ottla_request_duration_seconds_sum{api=\"DescribeCluster\"}") > 0.0);
    assert!(sample("ottla_response_bytes_total{api=\"DescribeCluster\"}") > 0.0);
    let client = "ottla_connections{listener=\"PLAINTEXT\",software=\"a-client\",version=\"1.2\"}";
    assert_eq!(sample(client), 1.0);
    assert_eq!(sample("ottla_connections_open"), 1.0);
    drop(connection);
}

#[test]
fn error_codes_are_counted_by_api() {
    let broker = broker();
    let mut connection = broker.connect();
    let nameless = ApiVersionsRequest { client_software_name: "-".into(), ..ApiVersionsRequest::default() };
    let answer = connection.call(&nameless, 4);
    assert_eq!(answer.error_code, ottla_model::ErrorCode::INVALID_REQUEST);
    let page = get(address(&broker), "/metrics").body;
    assert_eq!(value(&page, "ottla_errors_total{api=\"ApiVersions\",code=\"INVALID_REQUEST\"}"), Some(1.0));
}

#[test]
fn the_format_is_the_one_that_is_accepted() {
    let broker = broker();
    let plain = get(address(&broker), "/metrics");
    assert!(plain.head.contains("content-type: text/plain; version=0.0.4"), "{}", plain.head);
    let fields = "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n";
    let open = get_with(address(&broker), "/metrics", fields);
    assert!(open.head.contains("content-type: application/openmetrics-text"), "{}", open.head);
    assert!(open.body.ends_with("# EOF\n") && !plain.body.contains("# EOF"));
    assert!(open.body.contains("# TYPE ottla_frames counter\n"), "{}", open.body);
    assert!(plain.body.contains("# TYPE ottla_frames_total counter\n"));
}

#[test]
fn a_broker_that_serves_is_live_ready_and_well() {
    let broker = broker();
    for path in ["/livez", "/readyz", "/healthz"] {
        let answer = get(address(&broker), path);
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"), "{path}");
    }
    let verbose = get(address(&broker), "/healthz?verbose").body;
    for check in ["serving", "registered", "all log directories", "all partitions"] {
        assert!(verbose.contains(&format!("[+] {check}: ok\n")), "{verbose}");
    }
}

#[test]
fn what_is_not_there_is_not_found_and_only_reading_is_allowed() {
    let broker = broker();
    assert_eq!(get(address(&broker), "/metric").status, 404);
    let posted = send(
        address(&broker),
        b"POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!(posted.status, 405);
    assert!(posted.head.contains("allow: get, head"), "{}", posted.head);
}

#[test]
fn a_taken_port_costs_a_warning_and_an_empty_address_opens_none() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap();
    let address = format!("http.address={port}");
    let process = TestProcess::builder(BROKER).argument("--override").argument(&address).start();
    let line = process.greeting().iter().find(|line| line.starts_with("Metrics and health are on http://"));
    let line = line.unwrap_or_else(|| panic!("{:?}", process.greeting())).clone();
    let other: SocketAddr =
        line.split_once("http://").unwrap().1.split_once(": ").unwrap().0.parse().unwrap();
    assert_ne!(other, port);
    assert_eq!(get(other, "/livez").status, 200);
    let exit = process.terminate();
    assert!(exit.stderr.contains("the port of http.address is taken"), "{}", exit.stderr);
    assert!(exit.stderr.contains(&other.to_string()), "{}", exit.stderr);
    assert!(TestBroker::start().running().http_address().is_none());
}

#[test]
fn a_head_without_end_and_too_many_fields_are_refused() {
    let broker = broker();
    let mut long = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ".to_vec();
    long.resize(64 * 1024, b'a');
    let mut stream = TcpStream::connect(address(&broker)).unwrap();
    stream.set_read_timeout(Some(TIME_MAX)).unwrap();
    // The broker may close before all of it is written.
    let _ = stream.write_all(&long);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    assert!(!String::from_utf8_lossy(&bytes).contains("200 OK"));
    let many = "X: y\r\n".repeat(100);
    assert_eq!(get_with(address(&broker), "/metrics", &many).status, 431);
    assert_eq!(get(address(&broker), "/livez").status, 200);
}

#[test]
fn connections_that_say_nothing_take_no_more_than_their_number() {
    let broker = broker();
    let silent: Vec<_> = (0..40).map(|_| TcpStream::connect(address(&broker)).unwrap()).collect();
    // Those beyond the limit wait in the system's queue; once one of them leaves, the next is served.
    drop(silent);
    assert_eq!(get(address(&broker), "/livez").status, 200);
}
