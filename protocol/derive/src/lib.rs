//! `#[derive(Message)]`: makes a struct that mirrors one of Kafka's message schemas read and write itself on the wire
//! (and, with the feature `json`, in Kafka's JSON form). Knows no message; the wire's types are `ottla_protocol::codec`'s.

mod attr;
mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `ottla_protocol`'s `Wire`, `Struct`, `Default` and, for whole messages, `Message`.
///
/// The order of the fields is the order on the wire. A struct with `#[message(...)]` is a whole message; without it,
/// it is a part of one and takes the version of the message that it stands in.
///
/// # `#[message(...)]` on the struct
///
/// * `versions = 3..=13`: the versions that can be read and written, both bounds included. Required.
/// * `flexible = 9`: the first version with compact lengths and tagged fields. Absent or `none`: no version has them.
/// * `key = 0`: the API key, or the type of a record.
/// * `advertised = 0`: the oldest version that an ApiVersions answer names, if it is older than all that are served.
///
/// # `#[field(...)]` on a field
///
/// * `versions = 4..`, `..=12`, `3..=5` or `7`: where the field is on the wire. Elsewhere it decodes to its default, and
///   writing another value there is an error.
/// * `ignorable`: writing another value there is no error; the value is dropped.
/// * `nullable`: null is allowed, in all versions or in those given (`nullable = 6..`), which are versions of the field. The
///   type is then an `Option`.
/// * `tag = 0`: the field is a tagged one, left out when it has its default value.
/// * `default = -1`: a literal (turned into the field's type), or any expression of the field's type. Without it the
///   default is that of the type, so null for an `Option`; `default = empty` is an `Option` with an empty value.
///   A list has no elements by default.
/// * `flexible = none`: the length keeps its old form in flexible versions (the client id of a request header).
/// * `name = "ISRNodes"`: the schema's name, if it is not the field's in camel case.
#[proc_macro_derive(Message, attributes(message, field))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    attr::Struct::parse(&input)
        .map_or_else(|error| error.to_compile_error(), |parsed| expand::expand(&parsed))
        .into()
}
