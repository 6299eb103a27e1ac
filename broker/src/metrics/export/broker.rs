//! The broker's own work: log directories, flushes, retention, compaction, metadata.

use super::Scrape;
use crate::metrics::page::Page;

/// Log directories: room, failures, how long flushes take.
pub(super) fn directories(scrape: &Scrape<'_>, page: &mut Page) {
    let dirs = &scrape.broker.log_dirs;
    let states: Vec<_> = dirs.states().map(|state| (state.path.display().to_string(), state)).collect();
    let mut family = page.gauge("ottla_log_dir_online", "Whether a log directory can be used.");
    for (path, state) in &states {
        family.sample(&[("directory", path)], state.held.is_some());
    }
    let mut family = page.gauge("ottla_log_dir_partitions", "Partitions whose log lies in a directory.");
    for (path, state) in &states {
        family.sample(&[("directory", path)], state.held.map_or(0, |held| held.dir.held()));
    }
    let mut family = page.gauge("ottla_disk_total_bytes", "Size of the volume that a log directory is on.");
    for (path, space) in states.iter().filter_map(|(path, state)| Some((path, state.space?))) {
        family.sample(&[("directory", path)], space.total_bytes);
    }
    let mut family = page.gauge("ottla_disk_free_bytes", "Bytes of it that this process may still use.");
    for (path, space) in states.iter().filter_map(|(path, state)| Some((path, state.space?))) {
        family.sample(&[("directory", path)], space.usable_bytes);
    }
    let mut family = page.histogram(
        "ottla_flush_duration_seconds",
        "How long it took to make a log durable, its fsync among it, by log directory.",
    );
    for held in dirs.iter() {
        let path = held.dir.path().display().to_string();
        family.durations(&[("directory", &path)], &held.queue.flushes.snapshot());
    }
}

/// What background work has done since the start.
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

/// The cluster's metadata as this broker has applied them.
pub(super) fn metadata(scrape: &Scrape<'_>, page: &mut Page) {
    let image = scrape.broker.image();
    let position = image.position();
    page.one_gauge("ottla_brokers", "Brokers that the metadata know.", image.brokers().count());
    page.one_gauge(
        "ottla_metadata_offset",
        "The offset in __cluster_metadata up to which this broker has applied the metadata.",
        position.offset.get(),
    );
    page.one_gauge("ottla_metadata_epoch", "The controller's epoch there.", position.epoch.get());
    page.one_gauge(
        "ottla_metadata_time_seconds",
        "When the last record was written that was applied, since 1970.",
        position.timestamp_ms as f64 / 1000.0,
    );
    page.one_gauge("ottla_controller_active", "Whether the active controller is in this process.", true);
    let mut family = page.gauge("ottla_feature_level", "The levels of the cluster's features.");
    for (name, level) in image.features() {
        family.sample(&[("feature", name.as_str())], i64::from(level));
    }
    let producers: usize = scrape.rows.iter().map(|row| row.partition.log().producers_held()).sum();
    page.one_gauge(
        "ottla_producers",
        "Idempotent producers that logs hold in memory, each counted in each of its partitions. A log that nobody used since \
         the start holds none.",
        producers,
    );
}
