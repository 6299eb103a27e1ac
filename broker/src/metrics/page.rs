//! The text of a scrape: Prometheus's format 0.0.4 or OpenMetrics 1.0, family by family. Names nothing by itself.
//!
//! A label set that grows with the users' topics, groups or clients has a limit: samples beyond it are left out, counted,
//! and said on the page itself (`ottla_metrics_series_left_out`).

use std::fmt::Write as _;

use super::histogram::HistogramSnapshot;

/// Which text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus's text format, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// What an `Accept` header prefers; Prometheus's own where it says nothing that we have.
    pub(crate) fn accepted(accept: Option<&str>) -> Self {
        let wants = |part: &str| {
            let mut words = part.split(';').map(str::trim);
            let is_open =
                words.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"));
            let refused = words.any(|word| matches!(word, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
            is_open && !refused
        };
        match accept {
            Some(accept) if accept.split(',').any(wants) => Self::OpenMetrics,
            _ => Self::Prometheus,
        }
    }

    /// The `Content-Type` of the page.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A page that is being written.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    format: Format,
    series_max: usize,
    /// Families of which samples were left out, and how many.
    left_out: Vec<(&'static str, u64)>,
}

/// A label's name and value.
pub(crate) type Label<'a> = (&'static str, &'a str);

/// One family of a page: samples of one name that differ in their labels.
pub(crate) struct Family<'a> {
    page: &'a mut Page,
    name: &'static str,
    left: usize,
}

impl Page {
    /// An empty page on which a limited family has at most `series_max` samples.
    pub(crate) fn new(format: Format, series_max: usize) -> Self {
        Self { text: String::new(), format, series_max, left_out: Vec::new() }
    }

    /// A number that only grows; its name ends with `_total`.
    pub(crate) fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        debug_assert!(name.ends_with("_total"), "{name}: a counter's name ends with _total");
        let family = match self.format {
            Format::Prometheus => name,
            Format::OpenMetrics => name.strip_suffix("_total").unwrap_or(name),
        };
        self.family(family, name, "counter", help)
    }

    /// A number that goes up and down.
    pub(crate) fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, name, "gauge", help)
    }

    /// Durations in seconds.
    pub(crate) fn histogram(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, name, "histogram", help)
    }

    /// One sample without labels.
    pub(crate) fn one_counter(&mut self, name: &'static str, help: &str, value: u64) {
        self.counter(name, help).sample(&[], value);
    }

    /// One sample without labels.
    pub(crate) fn one_gauge(&mut self, name: &'static str, help: &str, value: impl Number) {
        self.gauge(name, help).sample(&[], value);
    }

    fn family(&mut self, shown: &str, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "# HELP {shown} ");
        escape(&mut self.text, help, false);
        let _ = writeln!(self.text, "\n# TYPE {shown} {kind}");
        Family { page: self, name, left: usize::MAX }
    }

    /// The text, closed.
    pub(crate) fn finish(mut self) -> String {
        let left_out = std::mem::take(&mut self.left_out);
        let mut family = self.gauge(
            "ottla_metrics_series_left_out",
            "Samples that this page leaves out of a family since metrics.series.max allows no more.",
        );
        for (name, count) in left_out {
            family.sample(&[("family", name)], count);
        }
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

impl Family<'_> {
    /// The same with the page's limit on its samples, for a label set that has no other.
    #[must_use]
    pub(crate) fn limited(mut self) -> Self {
        self.left = self.page.series_max;
        self
    }

    /// Adds a sample.
    pub(crate) fn sample(&mut self, labels: &[Label<'_>], value: impl Number) {
        if self.takes() {
            line(&mut self.page.text, self.name, "", labels, None, value);
        }
    }

    /// Adds a histogram, with a sample for each bucket.
    pub(crate) fn durations(&mut self, labels: &[Label<'_>], durations: &HistogramSnapshot) {
        if !self.takes() {
            return;
        }
        let (text, name) = (&mut self.page.text, self.name);
        for (bound, count) in durations.cumulative() {
            line(text, name, "_bucket", labels, Some(("le", bound)), count);
        }
        let count = durations.count();
        line(text, name, "_bucket", labels, Some(("le", f64::INFINITY)), count);
        line(text, name, "_sum", labels, None, durations.sum_seconds());
        line(text, name, "_count", labels, None, count);
    }

    fn takes(&mut self) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return true;
        }
        let left_out = &mut self.page.left_out;
        match left_out.last_mut() {
            Some((name, count)) if *name == self.name => *count += 1,
            _ => left_out.push((self.name, 1)),
        }
        false
    }
}

/// What a sample's value may be.
pub(crate) trait Number {
    /// Appends its text.
    fn put(self, text: &mut String);
}

macro_rules! whole_numbers {
    ($($kind:ty)*) => {$(
        impl Number for $kind {
            fn put(self, text: &mut String) {
                let _ = write!(text, "{self}");
            }
        }
    )*};
}

whole_numbers!(u64 i64 usize u32 i32);

impl Number for f64 {
    fn put(self, text: &mut String) {
        let _ = match self {
            infinite if infinite == f64::INFINITY => write!(text, "+Inf"),
            infinite if infinite == f64::NEG_INFINITY => write!(text, "-Inf"),
            whole if whole.fract() == 0.0 && whole.abs() < 1e15 => write!(text, "{whole:.1}"),
            number => write!(text, "{number}"),
        };
    }
}

impl Number for bool {
    fn put(self, text: &mut String) {
        text.push(if self { '1' } else { '0' });
    }
}

fn line(
    text: &mut String,
    name: &str,
    suffix: &str,
    labels: &[Label<'_>],
    bound: Option<(&str, f64)>,
    value: impl Number,
) {
    text.push_str(name);
    text.push_str(suffix);
    let mut mark = '{';
    for (label, value) in labels {
        text.push(mark);
        text.push_str(label);
        text.push_str("=\"");
        escape(text, value, true);
        text.push('"');
        mark = ',';
    }
    if let Some((label, bound)) = bound {
        text.push(mark);
        text.push_str(label);
        text.push_str("=\"");
        bound.put(text);
        text.push('"');
        mark = ',';
    }
    if mark == ',' {
        text.push('}');
    }
    text.push(' ');
    value.put(text);
    text.push('\n');
}

/// As both formats ask for: a backslash and a line feed are written as two characters, within quotes a quote as well.
fn escape(text: &mut String, value: &str, quoted: bool) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if quoted => text.push_str("\\\""),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::histogram::Histogram;
    use super::*;

    fn body(page: Page) -> String {
        let text = page.finish();
        text.split("# HELP ottla_metrics_series_left_out").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_family_has_its_help_its_type_and_its_samples() {
        let mut page = Page::new(Format::Prometheus, 10);
        let mut family = page.counter("a_total", "What\nit is.");
        family.sample(&[("topic", "a\"b\\c\nd"), ("partition", "0")], 7_u64);
        page.one_gauge("b", "Another.", -0.5);
        assert_eq!(
            body(page),
            "# HELP a_total What\\nit is.\n# TYPE a_total counter\n\
             a_total{topic=\"a\\\"b\\\\c\\nd\",partition=\"0\"} 7\n\
             # HELP b Another.\n# TYPE b gauge\nb -0.5\n"
        );
    }

    #[test]
    fn openmetrics_names_a_counters_family_without_its_suffix_and_ends_with_a_mark() {
        let mut page = Page::new(Format::OpenMetrics, 10);
        page.one_counter("a_total", "It.", 1);
        let text = page.finish();
        assert!(text.starts_with("# HELP a It.\n# TYPE a counter\na_total 1\n"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn a_histogram_has_every_bucket_the_sum_and_the_count() {
        let durations = Histogram::default();
        durations.observe(Duration::from_micros(3));
        durations.observe(Duration::from_secs(100));
        let mut page = Page::new(Format::Prometheus, 10);
        page.histogram("t_seconds", "It.").durations(&[("api", "Fetch")], &durations.snapshot());
        let text = body(page);
        for line in [
            "t_seconds_bucket{api=\"Fetch\",le=\"0.000004096\"} 1\n",
            "t_seconds_bucket{api=\"Fetch\",le=\"34.359738368\"} 1\n",
            "t_seconds_bucket{api=\"Fetch\",le=\"+Inf\"} 2\n",
            "t_seconds_sum{api=\"Fetch\"} 100.000003\n",
            "t_seconds_count{api=\"Fetch\"} 2\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_limited_family_says_what_it_left_out() {
        let mut page = Page::new(Format::Prometheus, 2);
        let mut family = page.gauge("a", "It.").limited();
        for topic in ["x", "y", "z", "w"] {
            family.sample(&[("topic", topic)], 1_u64);
        }
        let text = page.finish();
        assert!(text.contains("a{topic=\"y\"} 1\n") && !text.contains("a{topic=\"z\"}"), "{text}");
        assert!(text.contains("ottla_metrics_series_left_out{family=\"a\"} 2\n"), "{text}");
    }

    #[test]
    fn the_format_is_the_accepted_one() {
        let accepted = |header| Format::accepted(Some(header));
        assert_eq!(
            accepted("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            Format::OpenMetrics
        );
        assert_eq!(accepted("text/plain;version=0.0.4;q=0.3,*/*;q=0.1"), Format::Prometheus);
        assert_eq!(accepted("application/openmetrics-text;q=0"), Format::Prometheus);
        assert_eq!(Format::accepted(None), Format::Prometheus);
    }
}
