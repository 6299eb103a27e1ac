//! Where the broker listens and what its clients are told: `listeners`, `advertised.listeners` and the map of their
//! protocols. Opens nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use compact_str::CompactString;

use super::settings::{Origin, Settings, Warning};

const PROTOCOLS: &[&str] = &["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"];
const OPENABLE: &str = "PLAINTEXT";
/// What Kafka's own configuration calls the controller's listener, and its port.
const CONTROLLER_NAME: &str = "CONTROLLER";
const CONTROLLER_PORT: u16 = 9093;

/// One listener: a name, where it listens, and where its clients are told to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerConfig {
    /// The name, upper case.
    pub name: CompactString,
    /// Host and port to listen on; an empty host means every address, port 0 any free port.
    pub bind: HostPort,
    /// Host and port that clients are told; `None` means those that it listens on.
    pub advertised: Option<HostPort>,
}

/// A host, by name or address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Name or address, without brackets.
    pub host: CompactString,
    /// The port.
    pub port: u16,
}

/// Why listeners cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ListenerError {
    /// The text is no listener.
    #[error(
        "Invalid value {text} for configuration {key} ({origin}): a listener is written NAME://host:port."
    )]
    Malformed {
        /// Which key.
        key: &'static str,
        /// The text.
        text: String,
        /// Who gave it.
        origin: Origin,
    },
    /// There is nothing to listen on.
    #[error("The configuration listeners ({0}) names no listener that clients could use.")]
    None(Origin),
    /// A name or a port is used twice.
    #[error("The configuration listeners ({origin}) uses {what} twice.")]
    Twice {
        /// The name or port.
        what: String,
        /// Who gave it.
        origin: Origin,
    },
    /// The protocol cannot be opened.
    #[error(
        "The listener {name} ({origin}) asks for the protocol {protocol}; this version opens PLAINTEXT listeners only."
    )]
    Protocol {
        /// The listener.
        name: CompactString,
        /// What was asked for.
        protocol: String,
        /// Who asked.
        origin: Origin,
    },
    /// The map names no such listener and the name is no protocol.
    #[error(
        "The listener {name} ({origin}) has no protocol: add {name}:PLAINTEXT to listener.security.protocol.map."
    )]
    Unmapped {
        /// The listener.
        name: CompactString,
        /// Who named it.
        origin: Origin,
    },
    /// Clients cannot be told "every address".
    #[error(
        "The listener {name} listens on every address, so that its clients need one to be told: \
         set advertised.listeners to {name}://host:port with a host that they can reach."
    )]
    NothingToAdvertise {
        /// The listener.
        name: CompactString,
    },
    /// What is to be advertised does not listen.
    #[error("advertised.listeners ({origin}) names {name}, which is not among listeners.")]
    Unknown {
        /// The listener.
        name: CompactString,
        /// Who named it.
        origin: Origin,
    },
}

impl ListenerConfig {
    /// The address to bind.
    ///
    /// # Errors
    ///
    /// When the host cannot be resolved.
    pub fn bind_address(&self) -> std::io::Result<SocketAddr> {
        let HostPort { host, port } = &self.bind;
        if host.is_empty() {
            return Ok(SocketAddr::new(every_address(), *port));
        }
        let mut found: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs()?.collect();
        // A name that has both is bound to its IPv4 address, as by the JVM.
        found.sort_by_key(SocketAddr::is_ipv6);
        let missing = || std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
        found.first().copied().ok_or_else(missing)
    }

    /// What clients are told once the listener is bound to this address.
    #[must_use]
    pub fn advertised_at(&self, bound: SocketAddr) -> HostPort {
        self.advertised
            .clone()
            .unwrap_or_else(|| HostPort { host: self.bind.host.clone(), port: bound.port() })
    }

    /// Whether it can be reached from this machine alone. A name counts as reachable from everywhere unless it is
    /// `localhost`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.bind.host.as_str();
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// `::` takes IPv4 as well, but a kernel without IPv6 does not know it.
fn every_address() -> IpAddr {
    if std::path::Path::new("/proc/net/if_inet6").exists() {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    } else {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for ListenerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.name, self.bind)
    }
}

/// All listeners of a configuration.
pub(super) struct Listeners {
    /// Those that clients use; at least one.
    pub(super) clients: Vec<ListenerConfig>,
    /// The controller's: a name and an address that the cluster's metadata names. Nothing listens there.
    pub(super) controller: (CompactString, HostPort),
    /// What the author of the configuration should know.
    pub(super) warnings: Vec<Warning>,
}

/// Tells the listeners that clients use from those of the controller, for which no port is opened.
pub(super) fn parse(settings: &Settings) -> Result<Listeners, ListenerError> {
    let origin = settings.origin("listeners");
    let names = settings.list("controller.listener.names");
    let is_controller = |name: &str| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    let controller_name = names.first().map_or(CONTROLLER_NAME, String::as_str);
    let mut controller = (
        CompactString::from(controller_name),
        HostPort { host: CompactString::const_new("localhost"), port: CONTROLLER_PORT },
    );
    let mut advertised: BTreeMap<CompactString, HostPort> =
        endpoints(settings, "advertised.listeners")?.into_iter().collect();
    let (mut listeners, mut warnings) = (Vec::<ListenerConfig>::new(), Vec::new());
    for (name, bind) in endpoints(settings, "listeners")? {
        if listeners.iter().any(|other| other.name == name) {
            return Err(ListenerError::Twice { what: format!("the name {name}"), origin });
        }
        if is_controller(&name) {
            let told = advertised.remove(&name).unwrap_or(bind);
            warnings.push(Warning::ControllerListener(name.to_string()));
            if !is_every_address(&told.host) {
                controller = (name, told);
            }
            continue;
        }
        if bind.port != 0 && listeners.iter().any(|other| other.bind == bind) {
            return Err(ListenerError::Twice { what: format!("the address {bind}"), origin });
        }
        let protocol = protocol_of(settings, &name)?;
        if protocol != OPENABLE {
            return Err(ListenerError::Protocol { name, protocol, origin });
        }
        let told = advertised.remove(&name);
        let listener = ListenerConfig { name, bind, advertised: told };
        if listener.advertised.as_ref().is_some_and(|told| is_every_address(&told.host))
            || (listener.advertised.is_none() && is_every_address(&listener.bind.host))
        {
            return Err(ListenerError::NothingToAdvertise { name: listener.name });
        }
        if !listener.is_loopback() {
            warnings.push(Warning::OpenToEverybody(listener.to_string()));
        }
        listeners.push(listener);
    }
    if let Some(name) = advertised.into_keys().find(|name| !is_controller(name)) {
        return Err(ListenerError::Unknown { name, origin: settings.origin("advertised.listeners") });
    }
    if listeners.is_empty() {
        return Err(ListenerError::None(origin));
    }
    Ok(Listeners { clients: listeners, controller, warnings })
}

fn is_every_address(host: &str) -> bool {
    host.is_empty() || host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

/// The `NAME://host:port` of a key.
fn endpoints(
    settings: &Settings,
    key: &'static str,
) -> Result<Vec<(CompactString, HostPort)>, ListenerError> {
    let parse = |text: String| {
        endpoint(&text).ok_or_else(|| ListenerError::Malformed { key, text, origin: settings.origin(key) })
    };
    settings.list(key).into_iter().map(parse).collect()
}

fn endpoint(text: &str) -> Option<(CompactString, HostPort)> {
    let (name, address) = text.split_once("://")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (host, port) = address.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if name.is_empty() || !name.chars().all(is_name) || host.contains(['/', '[', ']', ' ']) {
        return None;
    }
    let port = port.parse::<u16>().ok()?;
    Some((name.to_ascii_uppercase().into(), HostPort { host: host.into(), port }))
}

/// The protocol of a listener: as the map says, else the one that bears its name.
fn protocol_of(settings: &Settings, name: &CompactString) -> Result<String, ListenerError> {
    const KEY: &str = "listener.security.protocol.map";
    let map = settings.text(KEY).unwrap_or_default();
    let mut mapped = map.split(',').filter_map(|pair| pair.trim().split_once(':'));
    let found = mapped.rfind(|(listener, _)| listener.trim().eq_ignore_ascii_case(name));
    let protocol = found.map_or(name.as_str(), |(_, protocol)| protocol.trim()).to_ascii_uppercase();
    if PROTOCOLS.contains(&protocol.as_str()) {
        Ok(protocol)
    } else if found.is_some() {
        Err(ListenerError::Protocol { name: name.clone(), protocol, origin: settings.origin(KEY) })
    } else {
        Err(ListenerError::Unmapped { name: name.clone(), origin: settings.origin("listeners") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::Given;

    fn listeners(pairs: &[(&str, &str)]) -> Result<(Vec<ListenerConfig>, Vec<Warning>), String> {
        let given = pairs.iter().map(|(key, value)| Given {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            origin: Origin::Override,
        });
        let (settings, _, errors) = Settings::resolve_all(given.collect());
        assert!(errors.is_empty());
        parse(&settings).map(|found| (found.clients, found.warnings)).map_err(|error| error.to_string())
    }

    #[test]
    fn without_configuration_it_listens_on_the_loopback_address() {
        let (found, warnings) = listeners(&[]).unwrap();
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), ["PLAINTEXT://127.0.0.1:9092"]);
        assert_eq!(found[0].advertised_at("127.0.0.1:9092".parse().unwrap()).to_string(), "127.0.0.1:9092");
        assert_eq!(warnings, []);
    }

    #[test]
    fn kafkas_own_server_properties_opens_the_broker_listener_alone() {
        let (found, warnings) = listeners(&[
            ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
            ("advertised.listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"),
            ("controller.listener.names", "CONTROLLER"),
            (
                "listener.security.protocol.map",
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
            ),
        ])
        .unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].advertised_at("[::]:9092".parse().unwrap()).to_string(), "localhost:9092");
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }

    #[test]
    fn a_listener_may_have_any_name_that_the_map_knows() {
        let map = ("listener.security.protocol.map", "inside:PLAINTEXT, OUTSIDE : PLAINTEXT");
        let (found, _) = listeners(&[("listeners", "INSIDE://127.0.0.1:0,outside://[::1]:0"), map]).unwrap();
        assert_eq!(found[1].name, "OUTSIDE");
        assert_eq!(found[1].bind_address().unwrap(), "[::1]:0".parse().unwrap());
        assert_eq!(found[1].advertised_at("[::1]:7".parse().unwrap()).to_string(), "[::1]:7");
    }

    #[test]
    fn what_cannot_be_opened_or_advertised_is_refused_with_the_reason() {
        for (pairs, text) in [
            (vec![("listeners", "PLAINTEXT://:9092")], "set advertised.listeners to PLAINTEXT://host:port"),
            (vec![("listeners", "PLAINTEXT://0.0.0.0:9092")], "listens on every address"),
            (
                vec![
                    ("listeners", "PLAINTEXT://:9092"),
                    ("advertised.listeners", "PLAINTEXT://0.0.0.0:9092"),
                ],
                "listens on every address",
            ),
            (vec![("listeners", "SSL://127.0.0.1:9092")], "asks for the protocol SSL"),
            (vec![("listeners", "INSIDE://127.0.0.1:9092")], "add INSIDE:PLAINTEXT"),
            (
                vec![("listeners", "127.0.0.1:9092")],
                "Invalid value 127.0.0.1:9092 for configuration listeners",
            ),
            (vec![("listeners", "PLAINTEXT://127.0.0.1:65536")], "a listener is written NAME://host:port"),
            (vec![("listeners", "")], "names no listener"),
            (
                vec![("listeners", "PLAINTEXT://127.0.0.1:1,PLAINTEXT://127.0.0.1:2")],
                "uses the name PLAINTEXT twice",
            ),
            (vec![("advertised.listeners", "OTHER://host:1")], "names OTHER, which is not among listeners"),
        ] {
            let error = listeners(&pairs).unwrap_err();
            assert!(error.contains(text), "{pairs:?}: {error}");
        }
    }

    #[test]
    fn a_listener_beyond_loopback_is_warned_about() {
        let (_, warnings) = listeners(&[("listeners", "PLAINTEXT://192.0.2.1:9092")]).unwrap();
        assert_eq!(warnings, [Warning::OpenToEverybody("PLAINTEXT://192.0.2.1:9092".to_owned())]);
    }
}
