//! Keys that are each right and cannot be used together, or not by this version; and what several keys, or one of its
//! own syntax, mean together. Pure: opens nothing.

use std::collections::HashMap;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use compact_str::CompactString;
use ottla_model::NodeId;

use super::listener::ListenerConfig;
use super::settings::{Origin, Settings};

/// Kafka makes ids of 22 characters and takes other ones too; longer ones are no ids.
const CLUSTER_ID_BYTES_MAX: usize = 128;

/// Why keys that are each right cannot be used together, or not by this version.
#[derive(Debug, thiserror::Error)]
pub(super) enum Conflict {
    #[error("node.id is {node} and broker.id is {broker}: they are two names of one thing.")]
    TwoIds { node: i64, broker: i64 },
    #[error(
        "Invalid value {value} for configuration process.roles ({origin}): \
         this version is broker and controller in one, so it must be broker,controller or not set."
    )]
    Roles { value: String, origin: Origin },
    #[error("{key} ({origin}) names {count} controllers: this version is a cluster of one node.")]
    SeveralControllers { key: &'static str, count: usize, origin: Origin },
    #[error(
        "authorizer.class.name ({0}) asks for an authorizer, and this version has none: it would serve everybody. \
         Remove the key if that is meant."
    )]
    Authorizer(Origin),
    #[error(
        "Invalid value {value} for configuration inter.broker.listener.name ({origin}): it must be one of listeners."
    )]
    InterBroker { value: String, origin: Origin },
    #[error(
        "Invalid value {value} for configuration security.inter.broker.protocol ({origin}): \
         this version opens PLAINTEXT listeners only."
    )]
    InterBrokerProtocol { value: String, origin: Origin },
    #[error(
        "Invalid value {value} for configuration max.connections.per.ip.overrides ({origin}): it must be a list \
         separated by commas of address:number, each an address or the name of one."
    )]
    PerAddress { value: String, origin: Origin },
    #[error(
        "Invalid value {0:?} for CLUSTER_ID (environment): it must be 1 to {CLUSTER_ID_BYTES_MAX} ASCII characters \
         without spaces."
    )]
    ClusterId(String),
    #[error(
        "Invalid value {value} for configuration http.address ({origin}): it must be host:port, or empty for none."
    )]
    HttpAddress { value: String, origin: Origin },
    #[error("The configuration log.dirs ({0}) must name directories, each one once.")]
    LogDirs(Origin),
}

/// The id of the cluster, from the environment alone.
pub(super) fn cluster_id(given: Option<&str>) -> Result<Option<CompactString>, Conflict> {
    let is_id = |id: &str| id.len() <= CLUSTER_ID_BYTES_MAX && id.bytes().all(|byte| byte.is_ascii_graphic());
    match given {
        Some(id) if !is_id(id) => Err(Conflict::ClusterId(id.to_owned())),
        given => Ok(given.map(CompactString::from)),
    }
}

/// One node is broker and controller in one; what asks for anything else is refused, not half done.
pub(super) fn check_roles(settings: &Settings) -> Result<(), Conflict> {
    let roles = settings.list("process.roles");
    let has = |role: &str| roles.iter().any(|other| other == role);
    if settings.is_set("process.roles") && !(has("broker") && has("controller")) {
        let value = settings.text("process.roles").unwrap_or_default().to_owned();
        return Err(Conflict::Roles { value, origin: settings.origin("process.roles") });
    }
    for key in ["controller.quorum.voters", "controller.quorum.bootstrap.servers"] {
        let count = settings.list(key).len();
        if count > 1 {
            return Err(Conflict::SeveralControllers { key, count, origin: settings.origin(key) });
        }
    }
    if settings.text("authorizer.class.name").is_some_and(|class| !class.is_empty()) {
        return Err(Conflict::Authorizer(settings.origin("authorizer.class.name")));
    }
    Ok(())
}

pub(super) fn node_id(settings: &Settings) -> Result<Option<NodeId>, Conflict> {
    let node = settings.optional_number("node.id");
    // −1, the default of broker.id, stands for none.
    let broker = settings.optional_number("broker.id").filter(|id| *id >= 0);
    match (node, broker) {
        (Some(node), Some(broker)) if node != broker => Err(Conflict::TwoIds { node, broker }),
        _ => Ok(node.or(broker).and_then(|id| i32::try_from(id).ok()).map(NodeId::new)),
    }
}

/// `max.connections.per.ip.overrides`; a name stands for every address that it has.
pub(super) fn per_address(settings: &Settings) -> Result<HashMap<IpAddr, usize>, Conflict> {
    const KEY: &str = "max.connections.per.ip.overrides";
    let text = settings.text(KEY).unwrap_or_default();
    let entries = |pair: &str| {
        let (host, limit) = pair.trim().rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let limit = limit.parse::<u32>().ok().and_then(|limit| usize::try_from(limit).ok())?;
        let addresses = (host, 0).to_socket_addrs().ok()?;
        Some(addresses.map(|address| (address.ip(), limit)).collect::<Vec<_>>())
    };
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let found: Option<Vec<_>> = pairs.map(entries).collect();
    let conflict = || Conflict::PerAddress { value: text.to_owned(), origin: settings.origin(KEY) };
    Ok(found.ok_or_else(conflict)?.into_iter().flatten().collect())
}

pub(super) fn inter_broker_listener(
    settings: &Settings,
    listeners: &[ListenerConfig],
) -> Result<CompactString, Conflict> {
    const NAME: &str = "inter.broker.listener.name";
    const PROTOCOL: &str = "security.inter.broker.protocol";
    if let Some(value) = settings.text(NAME) {
        let found = listeners.iter().find(|listener| listener.name.eq_ignore_ascii_case(value));
        let conflict = || Conflict::InterBroker { value: value.to_owned(), origin: settings.origin(NAME) };
        return found.map(|listener| listener.name.clone()).ok_or_else(conflict);
    }
    let protocol = settings.text(PROTOCOL).unwrap_or_default();
    if protocol != "PLAINTEXT" {
        let value = protocol.to_owned();
        return Err(Conflict::InterBrokerProtocol { value, origin: settings.origin(PROTOCOL) });
    }
    // Every listener is PLAINTEXT; Kafka would want one of that very name, which a single node has no need of.
    let named = listeners.iter().find(|listener| listener.name == protocol).or(listeners.first());
    Ok(named.map(|listener| listener.name.clone()).unwrap_or_default())
}

pub(super) fn log_dirs(settings: &Settings) -> Result<Vec<PathBuf>, Conflict> {
    let key = if settings.is_set("log.dirs") { "log.dirs" } else { "log.dir" };
    let paths: Vec<PathBuf> = settings.list(key).into_iter().map(PathBuf::from).collect();
    let repeats =
        paths.iter().enumerate().any(|(index, path)| paths.iter().take(index).any(|other| other == path));
    if paths.is_empty() || repeats || paths.iter().any(|path| path.as_os_str().is_empty()) {
        return Err(Conflict::LogDirs(settings.origin(key)));
    }
    Ok(paths)
}
