//! `bootstrap.servers`: where a client first knocks. Parses and resolves; connects to nobody.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// A list of `host:port`, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    servers: Vec<(String, u16)>,
}

/// A text that is no list of servers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BootstrapError {
    /// No server at all.
    #[error("no bootstrap server is given")]
    Empty,
    /// An entry without a port, or with one that is none.
    #[error("'{entry}' is not host:port with a port of 1 to 65535")]
    Entry {
        /// The entry.
        entry: String,
    },
}

impl Bootstrap {
    /// The servers, as host and port.
    #[must_use]
    pub fn servers(&self) -> &[(String, u16)] {
        &self.servers
    }
}

impl FromStr for Bootstrap {
    type Err = BootstrapError;

    fn from_str(text: &str) -> Result<Self, BootstrapError> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let servers: Vec<_> = entries.map(parse).collect::<Result<_, _>>()?;
        if servers.is_empty() { Err(BootstrapError::Empty) } else { Ok(Self { servers }) }
    }
}

impl fmt::Display for Bootstrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (host, port)) in self.servers.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if host.contains(':') {
                write!(f, "{comma}[{host}]:{port}")?;
            } else {
                write!(f, "{comma}{host}:{port}")?;
            }
        }
        Ok(())
    }
}

fn parse(entry: &str) -> Result<(String, u16), BootstrapError> {
    let wrong = || BootstrapError::Entry { entry: entry.to_owned() };
    let (host, port) = entry.rsplit_once(':').ok_or_else(wrong)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match port.parse() {
        Ok(port) if port > 0 && !host.is_empty() => Ok((host.to_owned(), port)),
        _ => Err(wrong()),
    }
}

/// All addresses of a host, the system's resolver asked.
///
/// # Errors
/// The resolver's.
pub(crate) async fn resolve(host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    Ok(tokio::net::lookup_host((host, port)).await?.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_names_and_bracketed_addresses_are_servers() {
        let list: Bootstrap = "one:9092, [::1]:9093,127.0.0.1:1,".parse().expect("a list");
        let expected = [("one", 9092), ("::1", 9093), ("127.0.0.1", 1)];
        assert!(list.servers().iter().map(|(host, port)| (host.as_str(), *port)).eq(expected));
        assert_eq!(list.to_string(), "one:9092,[::1]:9093,127.0.0.1:1");
    }

    #[test]
    fn what_is_no_server_is_named() {
        assert_eq!(" , ".parse::<Bootstrap>(), Err(BootstrapError::Empty));
        for entry in ["host", "host:", ":9092", "host:0", "host:65536", "host:x"] {
            assert_eq!(entry.parse::<Bootstrap>(), Err(BootstrapError::Entry { entry: entry.to_owned() }));
        }
    }
}
