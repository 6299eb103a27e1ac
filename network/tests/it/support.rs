//! A server with its stage, and a client that speaks frames through a plain blocking socket.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ottla_network::{BlockingPool, End, NetworkSnapshot, Server, ServerConfig, ServerHandle};
use socket2::SockRef;

use crate::service::{Echo, Stage};

/// After this long a test has failed; none waits so long when it passes.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(30);

pub(crate) struct Running {
    pub(crate) handle: ServerHandle,
    pub(crate) stage: Arc<Stage>,
    pub(crate) address: SocketAddr,
}

pub(crate) fn start() -> Running {
    start_with(ServerConfig::default(), Stage::new())
}

pub(crate) fn start_with(config: ServerConfig, stage: Stage) -> Running {
    let stage = Arc::new(stage);
    let server = Server::bind(config).expect("bound");
    let address = server.local_addresses().next().expect("a listener").1;
    let of_services = Arc::clone(&stage);
    let handle = server
        .start(BlockingPool::new("test-pool", 2, 16), move |context| Echo::new(&of_services, context))
        .expect("started");
    Running { handle, stage, address }
}

impl Running {
    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&NetworkSnapshot) -> bool) -> NetworkSnapshot {
        let began = Instant::now();
        loop {
            let metrics = self.handle.metrics();
            if holds(&metrics) {
                return metrics;
            }
            assert!(began.elapsed() < TIME_MAX, "{what}: {metrics:?}");
            std::thread::yield_now();
        }
    }

    pub(crate) fn wait_for_ends(&self, end: End, count: u64) {
        self.wait_until("ends", |metrics| metrics.ended(end) == count);
    }

    pub(crate) fn wait_for_frames(&self, count: u64) {
        self.wait_until("frames", |metrics| metrics.frames == count);
    }
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(TIME_MAX)).expect("a limit");
        stream.set_write_timeout(Some(TIME_MAX)).expect("a limit");
        Self { stream }
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("written");
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        self.send_raw(&framed(frame));
    }

    pub(crate) fn receive(&mut self) -> Vec<u8> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head).expect("a head");
        let mut frame = vec![0; u32::from_be_bytes(head) as usize];
        self.stream.read_exact(&mut frame).expect("a frame");
        frame
    }

    /// An echo, by a server that may close instead.
    pub(crate) fn try_call(&mut self, frame: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(&framed(frame))?;
        self.stream.read_exact(&mut vec![0; 4 + frame.len()])
    }

    #[track_caller]
    pub(crate) fn call(&mut self, frame: &[u8]) {
        self.send(frame);
        self.expect(frame);
    }

    #[track_caller]
    pub(crate) fn expect(&mut self, frame: &[u8]) {
        let received = self.receive();
        assert!(
            received == frame,
            "expected {} bytes {:?}…, received {} bytes {:?}…",
            frame.len(),
            &frame[..frame.len().min(16)],
            received.len(),
            &received[..received.len().min(16)]
        );
    }

    /// The server closes, and sends nothing before it does; how it closes is all the same.
    #[track_caller]
    pub(crate) fn expect_end(&mut self) {
        match self.stream.read(&mut [0; 64]) {
            Ok(0) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            other => panic!("expected the end of the stream, saw {other:?}"),
        }
    }

    /// Sends no more, but goes on reading.
    pub(crate) fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).expect("half closed");
    }

    /// Tears the connection up.
    pub(crate) fn reset(self) {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).expect("no lingering");
    }
}

pub(crate) fn framed(frame: &[u8]) -> Vec<u8> {
    let length = u32::try_from(frame.len()).expect("a short frame");
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend_from_slice(frame);
    bytes
}

/// A frame of this length that begins with these bytes; the rest differs from place to place.
pub(crate) fn filled(start: &[u8], length: usize) -> Vec<u8> {
    let mut frame = start.to_vec();
    frame.extend((start.len()..length).map(|place| u8::try_from(place % 251).expect("below 251")));
    frame
}

/// Numbers that look random and are the same for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).expect("below a usize")
    }
}

/// Runs the test named so in a process of its own, where descriptors and memory are nobody else's.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    const MARK: &str = "OTTLA_NETWORK_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        body();
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--nocapture"])
        .env(MARK, "1")
        .output()
        .expect("the test runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Descriptors of this process.
pub(crate) fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a proc file system").count()
}

/// Memory of this process that is resident, in bytes.
pub(crate) fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("a proc file system");
    let pages: usize = statm.split(' ').nth(1).expect("a second field").parse().expect("a number");
    pages * 4096
}
