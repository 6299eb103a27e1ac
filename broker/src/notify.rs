//! Tells the service manager what the process is at, as systemd's `sd_notify` does: a datagram to the socket that
//! `NOTIFY_SOCKET` names, by path or by abstract name. Without that variable it tells nobody.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable with the socket's name.
const VARIABLE: &str = "NOTIFY_SOCKET";

/// The way to the service manager, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
}

/// Why nobody is told.
#[derive(Debug, thiserror::Error)]
#[error(
    "the service manager's socket {name} (NOTIFY_SOCKET) cannot be used: {source}; it will not learn that the broker is ready"
)]
pub(crate) struct NotifyError {
    name: String,
    source: std::io::Error,
}

impl Notify {
    /// To the socket that this environment names.
    ///
    /// # Errors
    /// When it names one that cannot be used. A service goes on without.
    pub(crate) fn of(environment: &[(String, String)]) -> Result<Self, NotifyError> {
        let named = environment.iter().rev().find(|(name, value)| name == VARIABLE && !value.is_empty());
        let Some((_, name)) = named else { return Ok(Self::default()) };
        let open = || Ok((UnixDatagram::unbound()?, address(name)?));
        let socket = open().map_err(|source| NotifyError { name: name.clone(), source })?;
        Ok(Self { socket: Some(socket) })
    }

    /// Clients are served.
    pub(crate) fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={}", one_line(status)));
    }

    /// The configuration is read again; [`ready`](Self::ready) ends it.
    pub(crate) fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    /// The process is about to end.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=Answering what is in flight, then making everything durable.");
    }

    fn send(&self, text: &str) {
        if let Some((socket, address)) = &self.socket
            && let Err(error) = socket.send_to_addr(text.as_bytes(), address)
        {
            tracing::warn!(%error, "the service manager could not be told");
        }
    }
}

fn address(name: &str) -> std::io::Result<SocketAddr> {
    match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None if name.starts_with('/') => SocketAddr::from_pathname(name),
        None => Err(std::io::Error::other("it is neither a path from the root nor an abstract name (@…)")),
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Vec<(String, String)> {
        vec![(VARIABLE.to_owned(), name.to_owned())]
    }

    fn received(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 256];
        let length = socket.recv(&mut bytes).expect("a datagram was sent");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    #[test]
    fn it_tells_a_socket_with_a_path_and_one_with_an_abstract_name() {
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        let path = folder.path().join("notify");
        let by_path = UnixDatagram::bind(&path).expect("the folder takes a socket");
        let name = format!("ottla-notify-test-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&name).expect("a short name");
        let by_name = UnixDatagram::bind_addr(&abstract_address).expect("nobody has the name");
        for (socket, name) in [(by_path, path.display().to_string()), (by_name, format!("@{name}"))] {
            let notify = Notify::of(&environment(&name)).expect("it can be used");
            notify.ready("Listening\non 1");
            assert_eq!(received(&socket), "READY=1\nSTATUS=Listening on 1");
            notify.reloading();
            let reloading = received(&socket);
            let micros = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap_or_default();
            assert!(micros.parse::<u64>().is_ok_and(|micros| micros > 0), "{reloading}");
            notify.stopping();
            assert!(received(&socket).starts_with("STOPPING=1\n"));
        }
    }

    #[test]
    fn without_the_variable_it_is_silent_and_another_kind_of_name_is_an_error() {
        assert!(Notify::of(&[]).expect("nothing is wrong").socket.is_none());
        assert!(Notify::of(&environment("")).expect("nothing is wrong").socket.is_none());
        let error = Notify::of(&environment("vsock:2:1")).map(drop).unwrap_err().to_string();
        assert!(error.contains("vsock:2:1") && error.contains(VARIABLE), "{error}");
    }
}
