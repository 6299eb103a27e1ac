//! Several listeners: who came in by one is told the addresses of that one, whatever he asks, and nothing of the others.

use std::net::SocketAddr;
use std::time::Instant;

use ottla_broker::config::{BrokerConfig, Sources};
use ottla_model::ErrorCode;
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use ottla_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_testkit::{Connection, TIME_MAX, TestBroker};

/// A host and a port as clients are told them.
type Told = (String, i32);

fn start() -> TestBroker {
    TestBroker::builder()
        .set("listeners", "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0")
        .set("listener.security.protocol.map", "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT")
        .set("advertised.listeners", "OUTSIDE://broker.example:19092")
        .set("inter.broker.listener.name", "INSIDE")
        .start()
}

fn address(broker: &TestBroker, name: &str) -> SocketAddr {
    broker.running().listeners().iter().find(|listener| listener.name == name).unwrap().address
}

fn coordinator(connection: &mut Connection) -> Told {
    let begin = Instant::now();
    loop {
        let request = FindCoordinatorRequest { key: "g".into(), ..FindCoordinatorRequest::default() };
        let answer = connection.call(&request, 3);
        if answer.error_code.is_none() {
            return (answer.host.to_string(), answer.port);
        }
        assert_eq!(answer.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
        assert!(begin.elapsed() < TIME_MAX, "there is no coordinator");
    }
}

/// What each API tells who came in at this address.
fn told(at: SocketAddr) -> [Vec<Told>; 3] {
    let mut connection = Connection::open(at);
    let metadata = connection.call(&MetadataRequest { topics: Some(vec![]), ..Default::default() }, 9);
    let metadata = metadata.brokers.into_iter().map(|broker| (broker.host.to_string(), broker.port));
    let cluster = connection.call(&DescribeClusterRequest::default(), 2);
    let cluster = cluster.brokers.into_iter().map(|broker| (broker.host.to_string(), broker.port));
    [metadata.collect(), cluster.collect(), vec![coordinator(&mut connection)]]
}

#[test]
fn each_listener_tells_its_own_address_in_metadata_cluster_and_coordinator() {
    let broker = start();
    let (inside, outside) = (address(&broker, "INSIDE"), address(&broker, "OUTSIDE"));
    assert_ne!(inside.port(), outside.port(), "port 0 takes a free one each");
    // Not advertised, it is told where it listens, with the port that it got.
    let expected = vec![("127.0.0.1".to_owned(), i32::from(inside.port()))];
    for told in told(inside) {
        assert_eq!(told, expected);
    }
    for told in told(outside) {
        assert_eq!(told, [("broker.example".to_owned(), 19_092)]);
    }
}

#[test]
fn who_cannot_be_told_an_address_is_refused_with_the_remedy() {
    let load = |listeners: &str, advertised: Option<&str>| {
        let mut overrides = vec![
            ("listeners".to_owned(), listeners.to_owned()),
            ("listener.security.protocol.map".to_owned(), "A:PLAINTEXT,B:PLAINTEXT".to_owned()),
            ("log.dirs".to_owned(), "/nowhere".to_owned()),
        ];
        overrides.extend(advertised.map(|text| ("advertised.listeners".to_owned(), text.to_owned())));
        BrokerConfig::load(&Sources { overrides, ..Sources::default() }).map(drop)
    };
    for every in ["", "0.0.0.0", "[::]"] {
        let listeners = format!("A://127.0.0.1:0,B://{every}:9092");
        let told = load(&listeners, None).unwrap_err().to_string();
        assert!(
            told.contains("set advertised.listeners to B://host:port with a host that they can reach"),
            "{told}"
        );
        let told = load(&listeners, Some("A://a.example:1")).unwrap_err().to_string();
        assert!(
            told.contains("The listener B listens on every address"),
            "one is advertised, the other not: {told}"
        );
        let told = load(&listeners, Some(&format!("B://{every}:1"))).unwrap_err().to_string();
        assert!(told.contains("The listener B listens on every address"), "{told}");
        load(&listeners, Some("B://b.example:1")).unwrap();
    }
}
