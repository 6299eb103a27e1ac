//! Background work: retention and compaction.

use super::Scrape;
use crate::metrics::page::Page;

/// What it has done since the start.
pub(super) fn background(scrape: &Scrape<'_>, page: &mut Page) {
    let state = scrape.broker.background_state();
    let retention = &state.retention;
    page.one_counter("ottla_retention_passes_total", "Looks of retention at all logs.", retention.passes);
    page.one_counter(
        "ottla_retention_segments_total",
        "Segments that retention took away.",
        retention.segments,
    );
    page.one_counter("ottla_retention_bytes_total", "Bytes that retention took away.", retention.bytes);
    page.one_counter(
        "ottla_retention_failures_total",
        "Logs and directories that retention could not deal with; each is tried again.",
        retention.failures,
    );
    let cleaner = &state.cleaner;
    page.one_counter(
        "ottla_compaction_rounds_total",
        "Compactions that were brought to their end.",
        cleaner.rounds,
    );
    page.one_counter(
        "ottla_compaction_read_bytes_total",
        "Bytes of segments that were compacted.",
        cleaner.bytes_before,
    );
    page.one_counter(
        "ottla_compaction_written_bytes_total",
        "Bytes of those in their place.",
        cleaner.bytes_after,
    );
    page.one_counter(
        "ottla_compaction_failures_total",
        "Compactions that failed, as for want of room; each is tried again.",
        cleaner.failures,
    );
    page.one_gauge(
        "ottla_compaction_uncleanable_partitions",
        "Logs that cannot be compacted and are left as they are until the next start.",
        cleaner.uncleanable.len(),
    );
}
