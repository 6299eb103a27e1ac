//! Sockets: connections, bytes, frames, memory for requests.

use ottla_network::End;

use super::Scrape;
use crate::metrics::page::Page;
use crate::metrics::requests;

/// What the network counts, and who is connected.
pub(super) fn network(scrape: &Scrape<'_>, page: &mut Page) {
    let network = &scrape.network;
    page.one_gauge("ottla_connections_open", "Connections that are open.", network.connections_open);
    let mut family = page
        .gauge("ottla_connections", "Connections by listener and by the client software that they name.")
        .limited();
    for (client, count) in requests::clients(scrape.broker.metrics.reactors()) {
        let software = if client.software.is_empty() { "unknown" } else { client.software.as_str() };
        let labels =
            [("listener", &*client.listener), ("software", software), ("version", client.version.as_str())];
        family.sample(&labels, count);
    }
    page.one_counter(
        "ottla_connections_opened_total",
        "Connections that were accepted.",
        network.connections_opened,
    );
    let mut family = page.counter("ottla_connections_ended_total", "Connections that ended, by how.");
    for end in End::ALL {
        family.sample(&[("end", end.name())], network.ended(end));
    }
    page.one_counter(
        "ottla_connections_refused_total",
        "Connections that were closed at once, since their address has too many (max.connections.per.ip).",
        network.connections_refused_per_ip,
    );
    page.one_counter(
        "ottla_accept_failures_total",
        "Attempts to accept that failed, as for want of descriptors.",
        network.accept_failures,
    );
    page.one_counter("ottla_frames_total", "Requests that were read.", network.frames);
    page.one_counter("ottla_replies_total", "Answers that were sent.", network.replies);
    page.one_counter("ottla_received_bytes_total", "Bytes received by all listeners.", network.bytes_in);
    page.one_counter("ottla_sent_bytes_total", "Bytes sent by all listeners.", network.bytes_out);
    page.one_counter(
        "ottla_sent_file_bytes_total",
        "Those of them that went from a file to a socket without being copied.",
        network.file_bytes_out,
    );
    page.one_counter(
        "ottla_cold_file_reads_total",
        "Pieces of files that were not in the page cache when they were to be sent.",
        network.cold_file_steps,
    );
    page.one_counter(
        "ottla_request_memory_waits_total",
        "Requests that waited for a share of the memory for requests (queued.max.request.bytes).",
        network.admission_waits,
    );
    page.one_gauge(
        "ottla_request_memory_bytes",
        "Memory for requests that is taken now.",
        network.request_memory_bytes,
    );
}
