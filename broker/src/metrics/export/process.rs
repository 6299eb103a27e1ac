//! The process: which build, since when, how much of the machine it takes. Reads `/proc/self`; what that does not say is
//! left out.

use std::fs;

use super::Scrape;
use crate::metrics::page::Page;

/// Which program this is.
pub(super) fn build(scrape: &Scrape<'_>, page: &mut Page) {
    let (node, profile) =
        (scrape.broker.node_id.to_string(), if cfg!(debug_assertions) { "debug" } else { "release" });
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("profile", profile),
        ("cluster_id", scrape.broker.cluster_id.as_str()),
        ("node_id", &node),
    ];
    page.gauge("ottla_build_info", "The program and the node that it is; always 1.").sample(&labels, 1_u64);
    let started = scrape.broker.metrics.started_ms() as f64 / 1000.0;
    page.one_gauge("ottla_start_time_seconds", "When the broker was started, since 1970.", started);
    let uptime = scrape.broker.metrics.started().elapsed().as_secs_f64();
    page.one_gauge("ottla_uptime_seconds", "How long ago that was.", uptime);
}

/// Memory, descriptors, processor time. The names are those that Prometheus's own libraries give.
pub(super) fn process(_scrape: &Scrape<'_>, page: &mut Page) {
    if let Some((resident, whole)) = memory_bytes() {
        page.one_gauge("process_resident_memory_bytes", "Memory that the process has in RAM.", resident);
        page.one_gauge("process_virtual_memory_bytes", "Memory that the process has mapped.", whole);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // The listing itself holds one.
        page.one_gauge("process_open_fds", "Descriptors that are open.", open.count().saturating_sub(1));
    }
    if let Ok((soft, _)) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE) {
        page.one_gauge("process_max_fds", "Descriptors that may be open.", soft);
    }
    let threads = threads();
    page.one_gauge("process_threads", "Threads.", threads.len());
    let mut family = page
        .counter("ottla_thread_cpu_seconds_total", "Processor time of the threads that run now, by name.");
    for (name, seconds) in by_name(threads) {
        family.sample(&[("thread", &name)], seconds);
    }
    if let Some(seconds) = cpu_seconds() {
        page.counter("process_cpu_seconds_total", "Processor time of the process.").sample(&[], seconds);
    }
}

/// Processor time of the reactors so far.
pub(super) fn reactor_seconds() -> f64 {
    let reactors = threads().into_iter().filter(|(name, _)| name.starts_with("ottla-reactor"));
    reactors.map(|(_, seconds)| seconds).sum()
}

/// Resident and mapped.
fn memory_bytes() -> Option<(u64, u64)> {
    let page_bytes = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    let page_bytes = u64::try_from(page_bytes).ok()?;
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_whitespace().map(str::parse::<u64>);
    let (whole, resident) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some((resident * page_bytes, whole * page_bytes))
}

/// Each thread's name and its processor time in seconds.
fn threads() -> Vec<(String, f64)> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let thread = |task: fs::DirEntry| {
        let read = |file| fs::read_to_string(task.path().join(file)).ok();
        let ns: u64 = read("schedstat")?.split_whitespace().next()?.parse().ok()?;
        Some((read("comm")?.trim().to_owned(), ns as f64 / 1e9))
    };
    tasks.flatten().filter_map(thread).collect()
}

/// Threads of one name are one.
fn by_name(mut threads: Vec<(String, f64)>) -> Vec<(String, f64)> {
    threads.sort_by(|a, b| a.0.cmp(&b.0));
    threads.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    threads
}

fn cpu_seconds() -> Option<f64> {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).ok()?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Some(seconds(usage.user_time()) + seconds(usage.system_time()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_threads_and_time() {
        let (resident, whole) = memory_bytes().expect("Linux tells it");
        assert!(resident > 0 && whole >= resident, "{resident} {whole}");
        assert!(!threads().is_empty());
        assert!(cpu_seconds().is_some_and(|seconds| seconds > 0.0));
    }

    #[test]
    fn threads_of_one_name_are_added() {
        let threads = [("b", 1.0), ("a", 2.0), ("b", 3.5)].map(|(name, time)| (name.to_owned(), time));
        assert_eq!(by_name(threads.to_vec()), [("a".to_owned(), 2.0), ("b".to_owned(), 4.5)]);
    }
}
