//! How an event stands in the log: a line for people, or a JSON object a line (`log.format`). What is told stands where it
//! happens, how often it may repeat in `ottla_network::Repeats`.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::config::LogFormat;

/// What writes events to stderr in this form.
pub(crate) fn lines<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    match format {
        LogFormat::Text => layer.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => layer.with_ansi(false).event_format(Json).boxed(),
    }
}

/// A panic is an event too, where every line is to be an object.
pub(crate) fn tell_panics(format: LogFormat) {
    if format == LogFormat::Json {
        std::panic::set_hook(Box::new(|panic| {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("without a name");
            let text = panic.payload_as_str().unwrap_or("no text");
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(thread = name, place, text, "a thread panicked: this is a fault of the broker");
        }));
    }
}

/// An object a line: time, level, module, message, then the event's fields.
struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        writer.write_str("{\"time\":\"")?;
        SystemTime.format_time(&mut writer)?;
        write!(writer, "\",\"level\":\"{}\",\"module\":", metadata.level())?;
        text(&mut writer, metadata.target())?;
        let mut fields = Fields { message: String::new(), rest: String::new() };
        event.record(&mut fields);
        writer.write_str(",\"message\":")?;
        text(&mut writer, &fields.message)?;
        writer.write_str(&fields.rest)?;
        writer.write_str("}\n")
    }
}

/// An event's fields as the members of an object.
struct Fields {
    message: String,
    rest: String,
}

impl Fields {
    fn member(&mut self, field: &Field, value: impl FnOnce(&mut String) -> fmt::Result) {
        let name = field.name();
        self.rest.push(',');
        // Writing to a string cannot fail.
        let _ = match name {
            "time" | "level" | "module" | "message" => text(&mut self.rest, &format!("{name}_")),
            name => text(&mut self.rest, name),
        };
        self.rest.push(':');
        let _ = value(&mut self.rest);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let shown = format!("{value:?}");
        match field.name() {
            "message" => self.message = shown,
            _ => self.member(field, |out| text(out, &shown)),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            _ => self.member(field, |out| text(out, value)),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.member(field, |out| {
            if value.is_finite() { write!(out, "{value}") } else { text(out, &value.to_string()) }
        });
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.member(field, |out| write!(out, "{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.member(field, |out| write!(out, "{value}"));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.member(field, |out| write!(out, "{value}"));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.member(field, |out| write!(out, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.member(field, |out| write!(out, "{value}"));
    }
}

/// A string of JSON (RFC 8259).
fn text(out: &mut impl fmt::Write, value: &str) -> fmt::Result {
    out.write_char('"')?;
    for character in value.chars() {
        match character {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            control if control < ' ' => write!(out, "\\u{:04x}", u32::from(control))?,
            other => out.write_char(other)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// Keeps what is written.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Kept {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    fn lines_of(events: impl FnOnce()) -> Vec<String> {
        let kept = Kept::default();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).event_format(Json);
        let subscriber = tracing_subscriber::registry().with(layer.with_writer(kept.clone()));
        tracing::subscriber::with_default(subscriber, events);
        let text = String::from_utf8(kept.0.lock().clone()).expect("what is written is UTF-8");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_event_is_one_object_with_its_fields() {
        let lines = lines_of(|| {
            tracing::warn!(
                partition = "a-0",
                bytes = 7_u64,
                ok = true,
                level = "x",
                "told \"so\"\nand\u{1} so"
            );
        });
        let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
        let (time, rest) = line.split_once("\",\"level\"").expect("a time comes first");
        assert!(time.starts_with("{\"time\":\"2") && time.ends_with('Z'), "{time}");
        assert_eq!(
            rest,
            ":\"WARN\",\"module\":\"ottla_broker::log::tests\",\"message\":\"told \\\"so\\\"\\nand\\u0001 so\",\
             \"partition\":\"a-0\",\"bytes\":7,\"ok\":true,\"level_\":\"x\"}"
        );
    }
}
