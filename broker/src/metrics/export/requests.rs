//! Requests: how many, how large, how long in which phase, what they were refused with.

use ottla_model::ErrorCode;

use super::Scrape;
use crate::metrics::page::Page;
use crate::metrics::requests::{self, ApiSum, Phase};

/// By API.
pub(super) fn requests(scrape: &Scrape<'_>, page: &mut Page) {
    let metrics = &scrape.broker.metrics;
    let apis = requests::by_api(metrics.reactors());
    let mut family = page.counter("ottla_requests_total", "Requests by API and version.");
    for sum in &apis {
        for (version, count) in &sum.versions {
            family.sample(&[("api", sum.api.api().name), ("version", &version.to_string())], *count);
        }
    }
    let by_api = |family: &mut dyn FnMut(&'static str, &ApiSum)| {
        for sum in &apis {
            family(sum.api.api().name, sum);
        }
    };
    let mut family = page.counter("ottla_request_bytes_total", "Bytes of requests.");
    by_api(&mut |api, sum| family.sample(&[("api", api)], sum.bytes_in));
    let mut family = page.counter("ottla_response_bytes_total", "Bytes of answers.");
    by_api(&mut |api, sum| family.sample(&[("api", api)], sum.bytes_out));
    let mut family = page.gauge("ottla_requests_waiting", "Requests whose answer waits for others now.");
    by_api(&mut |api, sum| family.sample(&[("api", api)], sum.waiting));
    let mut family = page.histogram(
        "ottla_request_duration_seconds",
        "From the receipt of a request's last byte until the system has its answer's last byte.",
    );
    by_api(&mut |api, sum| family.durations(&[("api", api)], &sum.total));
    let mut family = page.histogram(
        "ottla_request_phase_seconds",
        "The same by phase: queue (until its turn), local (work), wait (for others), send.",
    );
    by_api(&mut |api, sum| {
        for (phase, durations) in Phase::ALL.iter().zip(&sum.phases) {
            family.durations(&[("api", api), ("phase", phase.name())], durations);
        }
    });
    let mut family = page.counter("ottla_errors_total", "Error codes in answers, each place counted.");
    for ((api, code), times) in requests::errors(metrics.reactors()) {
        let number = code.to_string();
        let name = ErrorCode::new(code).name().unwrap_or(&number);
        family.sample(&[("api", api.api().name), ("code", name)], times);
    }
}
