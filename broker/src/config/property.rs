//! What one property is: Kafka's name, the type with its bounds, the default, a sentence, and whether it acts. The
//! tables are rows of this; nothing here knows a particular key, a file or an environment.

use std::fmt;

use super::units;

/// The largest `int` that Kafka's type holds.
pub(super) const INT_MAX: i64 = i32::MAX as i64;
/// The smallest `int` that Kafka's type holds.
pub(super) const INT_MIN: i64 = i32::MIN as i64;
/// The largest `short` that Kafka's type holds.
pub(super) const SHORT_MAX: i64 = i16::MAX as i64;

/// A property as the tables list it.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// Kafka's name.
    pub name: &'static str,
    /// The type and what a value must satisfy.
    pub kind: Kind,
    /// What one would write into a file to get the default; `None` where Kafka has none.
    pub default: Option<&'static str>,
    /// Whether setting it changes what the broker does.
    pub effect: Effect,
    /// Where it can be set beside the file.
    pub scope: Scope,
    /// How much an operator should care.
    pub importance: Importance,
    /// Whether it is taken and not spoken of to Kafka's tools: Kafka has such ones, and those of our own are.
    pub internal: bool,
    /// A sentence of documentation; empty where nothing acts.
    pub doc: &'static str,
}

/// Where a property can be set: Kafka's "update mode".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In the file alone; a change needs a restart.
    Static,
    /// Also while the broker runs, for this broker and as the default of all.
    Cluster,
    /// Also while the broker runs, for this broker alone.
    Broker,
    /// Of a topic.
    Topic,
    /// Of a group.
    Group,
    /// Of a subscription to clients' metrics.
    ClientMetrics,
}

impl Scope {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Cluster => "cluster",
            Self::Broker => "broker",
            Self::Topic => "topic",
            Self::Group => "group",
            Self::ClientMetrics => "client-metrics",
        }
    }
}

/// How much an operator should care for a property, as Kafka's documentation ranks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    /// Look at it before production.
    High,
    /// Look at it where something is to be better.
    Medium,
    /// Leave it alone.
    Low,
}

impl Importance {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// Whether a property changes what the broker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It does.
    Acts,
    /// Kafka knows it, this broker does not act on it yet.
    NotYet,
    /// It has no meaning here, for this reason.
    Meaningless(&'static str),
}

/// The type of a property and the bounds of its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// A 16-bit number within inclusive bounds.
    Short(i64, i64),
    /// A 32-bit number within inclusive bounds.
    Int(i64, i64),
    /// A 32-bit number that is either within the inclusive bounds or the one value outside them.
    IntOr(i64, i64, i64),
    /// A 64-bit number within inclusive bounds.
    Long(i64, i64),
    /// A floating-point number within inclusive bounds.
    Double(f64, f64),
    /// Any text.
    Text,
    /// One of these words, in this very spelling.
    OneOf(&'static [&'static str]),
    /// One of these words, in any case.
    OneOfAnyCase(&'static [&'static str]),
    /// Words separated by commas.
    List,
    /// Words separated by commas, each one of these.
    ListOf(&'static [&'static str]),
    /// `*`, or a list of `partition:broker`.
    Replicas,
    /// `earliest`, `latest`, or `by_duration:` and a span as ISO 8601 writes it.
    OffsetReset,
    /// The name of a Java class; never loaded here.
    Class,
    /// Text that is never shown.
    Password,
}

/// A value that satisfies its property.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a boolean.
    Boolean(bool),
    /// Of any whole number.
    Number(i64),
    /// Of a floating-point number.
    Double(f64),
    /// Of text, a class, a password, or one word of several.
    Text(String),
    /// Of a list.
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(boolean) => write!(f, "{boolean}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Double(double) => f.write_str(&java_double(*double)),
            Self::Text(text) => f.write_str(text),
            Self::List(list) => f.write_str(&list.join(",")),
        }
    }
}

/// A floating-point number as Java writes it.
fn java_double(number: f64) -> String {
    const PLAIN: std::ops::Range<f64> = 1e-3..1e7;
    if number == 0.0 || PLAIN.contains(&number.abs()) || !number.is_finite() {
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

/// `partition:broker`, both whole numbers.
fn is_replica(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':').is_some_and(|(partition, broker)| is_number(partition) && is_number(broker))
}

/// A span of time as `java.time.Duration` reads one that is not negative: `P2DT3H4M5.6S`, parts left out as one likes.
fn is_span(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    let Some(rest) = upper.strip_prefix('P') else { return false };
    let (days, time) = rest.split_once('T').map_or((rest, None), |(days, time)| (days, Some(time)));
    let mut parts = 0;
    let mut take = |rest: &mut &str, unit: char| {
        let Some((number, after)) = rest.split_once(unit) else { return true };
        let is_seconds = unit == 'S';
        let digits = |byte: u8| byte.is_ascii_digit() || (is_seconds && byte == b'.');
        let fine = number.starts_with(|c: char| c.is_ascii_digit()) && number.bytes().all(digits);
        *rest = after;
        parts += 1;
        fine && number.parse::<f64>().is_ok()
    };
    let mut left = days;
    let mut fine = take(&mut left, 'D') && left.is_empty();
    if let Some(time) = time {
        let mut left = time;
        fine = fine && !time.is_empty();
        for unit in ['H', 'M', 'S'] {
            fine = fine && take(&mut left, unit);
        }
        fine = fine && left.is_empty();
    }
    fine && parts > 0
}

/// A value that its property does not allow. It says the key, the value and the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidValue {
    /// The property's name.
    pub key: String,
    /// What was given; a secret is masked.
    pub value: String,
    /// What would be right, as a clause: `it must be …`.
    pub rule: Box<str>,
    /// The sentence that Kafka answers a client with.
    pub kafka: Box<str>,
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invalid value {} for configuration {}: {}", self.value, self.key, self.rule)
    }
}

impl std::error::Error for InvalidValue {}

impl Property {
    /// The same, taken and not spoken of.
    pub(super) const fn internal(self) -> Self {
        Self { internal: true, ..self }
    }

    /// A property that does not act yet; [`acts`](Self::acts) makes it one that does.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, default: Option<&'static str>) -> Self {
        Self {
            name,
            kind,
            default,
            effect: Effect::NotYet,
            scope: Scope::Static,
            importance: Importance::Medium,
            internal: false,
            doc: "",
        }
    }

    /// The same, acting, with its sentence.
    #[must_use]
    pub const fn acts(self, doc: &'static str) -> Self {
        Self { effect: Effect::Acts, doc, ..self }
    }

    /// The same, without a meaning here for this reason.
    #[must_use]
    pub const fn meaningless(self, reason: &'static str) -> Self {
        Self { effect: Effect::Meaningless(reason), ..self }
    }

    /// The same, of this scope.
    #[must_use]
    pub(super) const fn of(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// The same, alterable while the broker runs, also as the default of all brokers.
    pub(super) const fn cluster_wide(self) -> Self {
        self.of(Scope::Cluster)
    }

    /// The same, alterable for this broker while it runs.
    pub(super) const fn per_broker(self) -> Self {
        self.of(Scope::Broker)
    }

    /// The same, of high importance.
    pub(super) const fn high(self) -> Self {
        Self { importance: Importance::High, ..self }
    }

    /// The same, of low importance.
    pub(super) const fn low(self) -> Self {
        Self { importance: Importance::Low, ..self }
    }

    /// Whether it can be altered while the broker runs.
    #[must_use]
    pub const fn is_dynamic(&self) -> bool {
        !matches!(self.scope, Scope::Static)
    }

    /// Whether the value must never be shown.
    #[must_use]
    pub const fn is_sensitive(&self) -> bool {
        matches!(self.kind, Kind::Password)
    }

    /// The unit of the value, as Kafka's names end with it; empty where there is none.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        let is_number =
            matches!(self.kind, Kind::Short(..) | Kind::Int(..) | Kind::IntOr(..) | Kind::Long(..));
        let ends = |suffix: &str| self.name.ends_with(suffix);
        match () {
            () if !is_number => "",
            () if ends(".ms") || ends(".millis") => "ms",
            () if ends(".bytes") || ends(".buffer.size") || ends("free.bytes.min") => "bytes",
            () if ends(".hours") => "hours",
            () if ends(".minutes") => "minutes",
            () if ends(".seconds") || ends(".secs") => "seconds",
            () => "",
        }
    }

    /// What a value must be, as a clause that follows "it must be".
    #[must_use]
    pub fn bounds(&self) -> String {
        let unit = match self.unit() {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        match self.kind {
            Kind::Boolean => "true or false".to_owned(),
            Kind::Short(min, max) | Kind::Int(min, max) | Kind::Long(min, max) => {
                format!("a whole number from {min} to {max}{unit}")
            }
            Kind::IntOr(other, min, max) => format!("{other} or a whole number from {min} to {max}{unit}"),
            Kind::Double(min, max) if max == f64::MAX => format!("a number of at least {min}"),
            Kind::Double(min, max) => format!("a number from {min} to {max}"),
            Kind::Text | Kind::Class | Kind::Password => "text".to_owned(),
            Kind::OneOf(words) | Kind::OneOfAnyCase(words) => format!("one of {}", words.join(", ")),
            Kind::List => "a list separated by commas".to_owned(),
            Kind::ListOf(words) => format!("a list separated by commas of {}", words.join(", ")),
            Kind::Replicas => "* or a list separated by commas of partition:broker".to_owned(),
            Kind::OffsetReset => "earliest, latest, or by_duration: and a span such as PT1H".to_owned(),
        }
    }

    /// Reads the text of a value. White space around it does not count, as in Kafka.
    ///
    /// # Errors
    ///
    /// When the text is not of the property's type or lies outside its bounds.
    pub fn parse(&self, text: &str) -> Result<Value, InvalidValue> {
        self.parse_kind(text.trim()).ok_or_else(|| InvalidValue {
            key: self.name.to_owned(),
            value: self.shown(text).to_owned(),
            rule: format!("it must be {}", self.bounds()).into(),
            kafka: self.kafka_sentence(text.trim()).into(),
        })
    }

    /// What Kafka says of a value that is none: of a number its digits, of a list the first word that is wrong.
    fn kafka_sentence(&self, text: &str) -> String {
        let (value, rule) = self.kafka_refusal(text);
        let value = if self.is_sensitive() { "[hidden]" } else { &value };
        format!("Invalid value {value} for configuration {}: {rule}", self.name)
    }

    fn kafka_refusal(&self, text: &str) -> (String, String) {
        let whole = |of: &str, type_min: i64, type_max: i64, rule: &dyn Fn(i64) -> String| match text
            .parse::<i64>()
            .ok()
            .filter(|number| (type_min..=type_max).contains(number))
        {
            Some(number) => (number.to_string(), rule(number)),
            None => (text.to_owned(), format!("Not a number of type {of}")),
        };
        let between = |number: i64, min: i64, max: i64| match number < min {
            true => format!("Value must be at least {min}"),
            false => format!("Value must be no more than {max}"),
        };
        let one_of = |words: &[&str]| format!("String must be one of: {}", words.join(", "));
        match self.kind {
            Kind::Boolean => (text.to_owned(), "Expected value to be either true or false".to_owned()),
            Kind::Short(min, max) => {
                whole("SHORT", -SHORT_MAX - 1, SHORT_MAX, &|number| between(number, min, max))
            }
            Kind::Int(min, max) => whole("INT", INT_MIN, INT_MAX, &|number| between(number, min, max)),
            Kind::IntOr(other, min, max) => whole("INT", INT_MIN, INT_MAX, &|_| {
                format!("Value must be between {min} and {max} or equal to {other}")
            }),
            Kind::Long(min, max) => whole("LONG", i64::MIN, i64::MAX, &|number| between(number, min, max)),
            Kind::Double(min, max) => match text.parse::<f64>() {
                Ok(number) if number < min => (text.to_owned(), format!("Value must be at least {min}")),
                Ok(number) if number > max => (text.to_owned(), format!("Value must be no more than {max}")),
                _ => (text.to_owned(), "Not a number of type DOUBLE".to_owned()),
            },
            Kind::OneOf(words) => (text.to_owned(), one_of(words)),
            Kind::OneOfAnyCase(words) => {
                (text.to_owned(), format!("String must be one of (case insensitive): {}", words.join(", ")))
            }
            Kind::ListOf(words) => {
                let wrong = split_list(text).into_iter().find(|item| !words.contains(&item.as_str()));
                (wrong.unwrap_or_default(), one_of(words))
            }
            Kind::Replicas => {
                let list = format!("[{}]", split_list(text).join(", "));
                let rule = format!(
                    "{} must be the literal '*' or a list of replicas in the following format: \
                     [partitionId]:[brokerId],[partitionId]:[brokerId],...",
                    self.name
                );
                (list, rule)
            }
            Kind::OffsetReset => {
                let rule = format!(
                    "Invalid value `{text}` for configuration {}. The value must be either 'earliest', 'latest' or \
                     of the format 'by_duration:<PnDTnHnMn.nS>'.",
                    self.name
                );
                (text.to_owned(), rule)
            }
            Kind::Text | Kind::Class | Kind::Password | Kind::List => (text.to_owned(), String::new()),
        }
    }

    /// The same for what a person has written: a number may have a unit (`7d`, `1GiB`).
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_written(&self, text: &str) -> Result<Value, InvalidValue> {
        self.parse(text).or_else(|invalid| match units::number(text, self.unit()) {
            Some(number) => self.parse(&number.to_string()),
            None => Err(invalid),
        })
    }

    /// The text if it may be shown, else a mask.
    #[must_use]
    pub fn shown<'a>(&self, text: &'a str) -> &'a str {
        if self.is_sensitive() { "[hidden]" } else { text }
    }

    /// Kafka's number for the type in a DescribeConfigs response.
    #[must_use]
    pub const fn wire_type(&self) -> i8 {
        match self.kind {
            Kind::Boolean => 1,
            Kind::Text | Kind::OneOf(_) | Kind::OneOfAnyCase(_) | Kind::OffsetReset => 2,
            Kind::Int(..) | Kind::IntOr(..) => 3,
            Kind::Short(..) => 4,
            Kind::Long(..) => 5,
            Kind::Double(..) => 6,
            Kind::List | Kind::ListOf(_) | Kind::Replicas => 7,
            Kind::Class => 8,
            Kind::Password => 9,
        }
    }

    fn parse_kind(&self, text: &str) -> Option<Value> {
        let number = || text.parse::<i64>().ok();
        let one_of = |words: &[&str], any_case: bool| {
            words.iter().any(|word| *word == text || (any_case && word.eq_ignore_ascii_case(text)))
        };
        match self.kind {
            Kind::Boolean if text.eq_ignore_ascii_case("true") => Some(Value::Boolean(true)),
            Kind::Boolean if text.eq_ignore_ascii_case("false") => Some(Value::Boolean(false)),
            Kind::Boolean => None,
            Kind::Short(min, max) | Kind::Int(min, max) | Kind::Long(min, max) => {
                number().filter(|n| (min..=max).contains(n)).map(Value::Number)
            }
            Kind::IntOr(other, min, max) => {
                number().filter(|n| *n == other || (min..=max).contains(n)).map(Value::Number)
            }
            Kind::Double(min, max) => {
                text.parse::<f64>().ok().filter(|n| (min..=max).contains(n)).map(Value::Double)
            }
            Kind::Text | Kind::Class | Kind::Password => Some(Value::Text(text.to_owned())),
            Kind::OneOf(words) => one_of(words, false).then(|| Value::Text(text.to_owned())),
            Kind::OneOfAnyCase(words) => one_of(words, true).then(|| Value::Text(text.to_owned())),
            Kind::List => Some(Value::List(split_list(text))),
            Kind::ListOf(words) => {
                let list = split_list(text);
                let known = list.iter().all(|item| words.contains(&item.as_str()));
                known.then_some(Value::List(list))
            }
            Kind::Replicas => {
                let list = split_list(text);
                let all_replicas = list.iter().all(|item| is_replica(item));
                (text == "*" || all_replicas).then_some(Value::List(list))
            }
            Kind::OffsetReset => {
                let is_span = text.strip_prefix("by_duration:").is_some_and(is_span);
                (matches!(text, "earliest" | "latest") || is_span).then(|| Value::Text(text.to_owned()))
            }
        }
    }

    /// Whether it is a list, to which words can be added.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List | Kind::ListOf(_) | Kind::Replicas)
    }

    /// The text of a value as Kafka writes it: `0.50` as `0.5`, a list without spaces. What is no value stays as it is.
    #[must_use]
    pub fn canonical(&self, text: &str) -> String {
        self.parse_kind(text.trim()).map_or_else(|| text.to_owned(), |value| value.to_string())
    }
}

/// The words of a list: separated by commas, white space around them dropped, an empty text is an empty list.
fn split_list(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split(',').map(|item| item.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_value_names_the_key_the_value_and_the_bounds() {
        let property = Property::new("log.segment.bytes", Kind::Int(1_048_576, INT_MAX), Some("1073741824"));
        let error = property.parse("12").unwrap_err().to_string();
        assert_eq!(
            error,
            "Invalid value 12 for configuration log.segment.bytes: \
             it must be a whole number from 1048576 to 2147483647 bytes"
        );
    }

    #[test]
    fn values_are_read_by_their_type() {
        let parse = |kind, text: &str| Property::new("x", kind, None).parse(text).ok();
        assert_eq!(parse(Kind::Boolean, " TRUE "), Some(Value::Boolean(true)));
        assert_eq!(parse(Kind::Boolean, "yes"), None);
        assert_eq!(parse(Kind::Int(0, INT_MAX), "2147483648"), None);
        assert_eq!(parse(Kind::Int(0, INT_MAX), "+7"), Some(Value::Number(7)));
        assert_eq!(parse(Kind::IntOr(-1, 1, 9), "-1"), Some(Value::Number(-1)));
        assert_eq!(parse(Kind::IntOr(-1, 1, 9), "0"), None);
        assert_eq!(parse(Kind::Double(0.0, 1.0), "0.5"), Some(Value::Double(0.5)));
        assert_eq!(parse(Kind::Double(0.0, 1.0), "NaN"), None);
        assert_eq!(parse(Kind::OneOf(&["CreateTime"]), "createtime"), None);
        assert_eq!(parse(Kind::List, ""), Some(Value::List(vec![])));
        assert_eq!(parse(Kind::List, "a, b"), Some(Value::List(vec!["a".into(), "b".into()])));
        assert_eq!(parse(Kind::ListOf(&["compact", "delete"]), "compact,gone"), None);
    }

    #[test]
    fn a_password_is_never_shown() {
        let property = Property::new("ssl.key.password", Kind::Password, None);
        assert_eq!(property.shown("hunter2"), "[hidden]");
    }
}
