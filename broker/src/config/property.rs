//! What one property is: Kafka's name, the type with its bounds, the default, a sentence, and whether it acts. The
//! tables are rows of this; nothing here knows a particular key, a file or an environment.

use std::fmt;

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
    /// Whether it could be altered while the broker runs.
    pub dynamic: bool,
    /// Whether it is taken and not spoken of to Kafka's tools: Kafka has such ones, and those of our own are.
    pub internal: bool,
    /// A sentence of documentation; empty where nothing acts.
    pub doc: &'static str,
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

/// A value that its property does not allow. It says the key, the value and the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidValue {
    /// The property's name.
    pub key: String,
    /// What was given; a secret is masked.
    pub value: String,
    /// What would be right, as a clause: `it must be …`.
    pub rule: String,
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
        Self { name, kind, default, effect: Effect::NotYet, dynamic: false, internal: false, doc: "" }
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

    /// The same, alterable while the broker runs.
    #[must_use]
    pub const fn dynamic(self) -> Self {
        Self { dynamic: true, ..self }
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
            () if ends(".bytes") => "bytes",
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
            rule: format!("it must be {}", self.bounds()),
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
            Kind::Text | Kind::OneOf(_) | Kind::OneOfAnyCase(_) => 2,
            Kind::Int(..) | Kind::IntOr(..) => 3,
            Kind::Short(..) => 4,
            Kind::Long(..) => 5,
            Kind::Double(..) => 6,
            Kind::List | Kind::ListOf(_) => 7,
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
        }
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
