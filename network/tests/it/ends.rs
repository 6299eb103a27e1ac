//! A service that panics, and servers that cannot start.

use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_network::{BlockingPool, End, ListenerConfig, Server, ServerConfig, StartError};

use crate::service::{ECHO, Echo, LATER, LISTENER, PANIC, PANIC_LATER, Stage};
use crate::support::{Client, framed, start_with};

#[test]
fn a_request_that_panics_costs_its_connection_and_nothing_else() {
    let server = start_with(ServerConfig { reactors: 1, ..ServerConfig::default() }, Stage::new());
    let mut good = server.connect();
    good.call(&[ECHO, 1]);
    let mut parked = server.connect();
    parked.send(&[LATER, 0]);
    for order in [PANIC, PANIC_LATER] {
        let mut bad = server.connect();
        bad.send_raw(&[framed(&[order]), framed(&[ECHO, 2])].concat());
        bad.expect_end();
        good.call(&[ECHO, 3]);
    }
    server.wait_for_ends(End::Panicked, 2);
    assert_eq!(server.stage.disconnected.load(Ordering::SeqCst), 2);
    server.stage.open(0);
    parked.expect(&[LATER, 0]);
}

#[test]
fn an_address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = taken.local_addr().expect("an address");
    let config = ServerConfig {
        listeners: vec![ListenerConfig { name: Arc::from("PLAINTEXT"), address }],
        ..ServerConfig::default()
    };
    let error = Server::bind(config).expect_err("taken");
    assert!(matches!(&error, StartError::AddressInUse { address: named, .. } if *named == address));
    assert_eq!(error.to_string(), format!("listener PLAINTEXT: address {address} is already in use"));
}

#[test]
fn an_address_of_somebody_else_is_named() {
    // Documentation addresses belong to nobody.
    let address: SocketAddr = "192.0.2.1:0".parse().expect("an address");
    let config = ServerConfig {
        listeners: vec![ListenerConfig { name: Arc::from("OUTSIDE"), address }],
        ..ServerConfig::default()
    };
    let error = Server::bind(config).expect_err("not ours");
    assert!(error.to_string().starts_with("listener OUTSIDE: cannot listen on 192.0.2.1:0: "), "{error}");
}

#[test]
fn a_limit_of_nothing_is_refused() {
    let error =
        Server::bind(ServerConfig { reactors: 0, ..ServerConfig::default() }).expect_err("nobody serves");
    assert_eq!(error.to_string(), "the number of reactors is 0, but must be at least 1");
}

#[test]
fn a_factory_that_panics_is_an_error() {
    let server = Server::bind(ServerConfig::default()).expect("bound");
    let started = server.start(BlockingPool::new("test-pool", 1, 1), |context| {
        assert_ne!(context.index(), 0, "planted in a factory");
        Echo::new(&Arc::new(Stage::new()), context)
    });
    assert!(matches!(started, Err(StartError::Factory { .. })));
}

#[test]
fn each_listener_gives_its_name_to_its_connections() {
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut listeners = vec![
        ListenerConfig { name: Arc::from("INSIDE"), address: loopback },
        ListenerConfig { name: Arc::from("OUTSIDE"), address: loopback },
    ];
    // A machine may have no IPv6.
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        let address = (Ipv6Addr::LOCALHOST, 0).into();
        listeners.push(ListenerConfig { name: Arc::from("SIX"), address });
    }
    let server = start_with(ServerConfig { listeners, ..ServerConfig::default() }, Stage::new());
    for (name, address) in server.handle.local_addresses() {
        assert_ne!(address.port(), 0);
        let mut client = Client::connect(address);
        client.send(&[LISTENER]);
        client.expect(name.as_bytes());
    }
}
