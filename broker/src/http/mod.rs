//! The HTTP endpoint: metrics and health, on a thread of its own that no client of Kafka's ever waits for. What the pages
//! hold is `sight.rs`'s and `metrics/export`'s; here are sockets and limits.
//!
//! Limits: so many connections at once (more wait in the system's queue), one request's head within a time, a size and a
//! number of fields, a connection's whole life. Bodies of requests are not read.

mod health;
mod io;
pub(crate) mod sight;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Semaphore, oneshot};

use self::io::{Clock, Stream};
use self::sight::Sight;
use crate::metrics::page::Format;

/// Connections at once. A scraper keeps one; a probe makes one each time.
const CONNECTIONS_MAX: usize = 32;
/// Within this time the head of a request must have come, from when the connection was made or the last answer left.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);
/// After so long a connection takes no more requests.
const CONNECTION_TIME: Duration = Duration::from_secs(600);
/// So long a client may take to read an answer, or what is left of it when its connection's time is over.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// The head of a request, at most.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Its fields, at most.
const HEAD_FIELDS_MAX: usize = 64;
/// Pause after a failure to accept that is ours.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A socket that listens and is not served yet.
pub(crate) struct HttpSocket {
    listener: TcpListener,
    address: SocketAddr,
}

/// The running endpoint. Dropping it ends it.
pub(crate) struct HttpServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HttpSocket {
    /// Binds host and port. A port that is taken costs nobody the broker: then it is a free one, and a warning names it.
    ///
    /// # Errors
    /// When the host has no address or is not ours.
    pub(crate) fn bind((host, port): &(String, u16)) -> std::io::Result<Self> {
        let bound = bind(host, *port);
        let listener = match bound {
            Err(taken) if taken.kind() == std::io::ErrorKind::AddrInUse && *port != 0 => {
                let listener = bind(host, 0)?;
                tracing::warn!(
                    wanted = format!("{host}:{port}"),
                    address = %listener.local_addr()?,
                    "the port of http.address is taken: metrics and health are on a free one; set http.address to \
                     another port, or to nothing if they are not wanted"
                );
                listener
            }
            bound => bound?,
        };
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Serves from now on, on a thread of its own.
    ///
    /// # Errors
    /// When the system gives no thread or no runtime.
    pub(crate) fn serve(self, sight: Arc<Sight>) -> std::io::Result<HttpServer> {
        let Self { listener, address } = self;
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("ottla-http".to_owned()).spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener);
                let listener = match listener {
                    Ok(listener) => listener,
                    Err(error) => return drop(ready.send(Err(error))),
                };
                drop(ready.send(Ok(())));
                tokio::select! {
                    () = accept(listener, sight) => {}
                    // Also when the server was dropped.
                    _ = stopped => {}
                }
            });
        })?;
        match is_ready.recv() {
            Ok(result) => result.map(|()| HttpServer { address, stop: Some(stop), thread: Some(thread) }),
            Err(std::sync::mpsc::RecvError) => {
                Err(std::io::Error::other("the thread for HTTP ended at once"))
            }
        }
    }
}

impl HttpServer {
    /// Where it listens; a port that was 0 has its number.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread for HTTP panicked");
        }
    }
}

fn bind(host: &str, port: u16) -> std::io::Result<TcpListener> {
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    TcpListener::bind(&*addresses)
}

async fn accept(listener: tokio::net::TcpListener, sight: Arc<Sight>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let sight = Arc::clone(&sight);
                tokio::task::spawn_local(async move {
                    converse(stream, sight).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection for HTTP could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// One connection's life. What goes wrong on it is its client's affair.
async fn converse(stream: tokio::net::TcpStream, sight: Arc<Sight>) {
    drop(stream.set_nodelay(true));
    let answer = service_fn(move |request| {
        let answered = answer(&sight, &request);
        async move { Ok::<_, Infallible>(answered) }
    });
    let connection = http1::Builder::new()
        .timer(Clock)
        .header_read_timeout(HEAD_TIME_MAX)
        .max_headers(HEAD_FIELDS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(Stream(stream), answer);
    let mut connection = pin!(connection);
    if let Ok(ended) = tokio::time::timeout(CONNECTION_TIME, connection.as_mut()).await {
        return drop(ended);
    }
    connection.as_mut().graceful_shutdown();
    drop(tokio::time::timeout(ANSWER_TIME_MAX, connection).await);
}

fn answer<B>(sight: &Sight, request: &Request<B>) -> Response<Whole> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match request.uri().path() {
        "/metrics" => {
            let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
            metrics(sight, Format::accepted(accept))
        }
        "/livez" => text(StatusCode::OK, "ok\n"),
        "/readyz" => health(&health::look(sight).needed(), is_verbose(request.uri().query())),
        "/healthz" => health(&health::look(sight), is_verbose(request.uri().query())),
        "/" => text(StatusCode::OK, "Ottla: /metrics, /livez, /readyz, /healthz?verbose\n"),
        _ => text(StatusCode::NOT_FOUND, "Here are /metrics, /livez, /readyz and /healthz?verbose.\n"),
    }
}

fn is_verbose(query: Option<&str>) -> bool {
    let mut words = query.unwrap_or_default().split('&');
    words.any(|word| matches!(word, "verbose" | "verbose=" | "verbose=1" | "verbose=true"))
}

fn metrics(sight: &Sight, format: Format) -> Response<Whole> {
    match sight.metrics(format) {
        Some(page) => {
            let mut response = whole(StatusCode::OK, page.into());
            let kind = HeaderValue::from_static(format.content_type());
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        None => text(StatusCode::SERVICE_UNAVAILABLE, "The broker is starting: there are no metrics yet.\n"),
    }
}

fn health(report: &health::Report, verbose: bool) -> Response<Whole> {
    let status = if report.is_well() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    text(status, &report.text(verbose))
}

fn text(status: StatusCode, text: &str) -> Response<Whole> {
    let mut response = whole(status, Bytes::copy_from_slice(text.as_bytes()));
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn whole(status: StatusCode, bytes: Bytes) -> Response<Whole> {
    let mut response = Response::new(Whole(Some(bytes)));
    *response.status_mut() = status;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An answer's body, of which the length is known.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
