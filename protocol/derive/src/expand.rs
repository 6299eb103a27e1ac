//! Makes the implementations out of what `attr` read. The code is small on purpose: loops, lengths and errors are
//! functions of the codec, so that a hundred messages still compile quickly.

use proc_macro2::TokenStream;
use quote::quote;

use crate::attr::{DefaultValue, Field, MessageAttr, Struct, Versions};

pub(crate) fn expand(parsed: &Struct) -> TokenStream {
    let default = default_impl(parsed);
    let wire = wire_impl(parsed);
    let message = parsed.message.as_ref().map(|message| message_impl(parsed, message));
    let json = if cfg!(feature = "json") { json_impl(parsed) } else { TokenStream::new() };
    quote! { #default #wire #message #json }
}

fn default_impl(parsed: &Struct) -> TokenStream {
    let Struct { ident, fields, .. } = parsed;
    let values = fields.iter().map(|field| {
        let Field { ident, .. } = field;
        let value = default_expr(field);
        quote! { #ident: #value }
    });
    quote! {
        #[automatically_derived]
        impl ::core::default::Default for #ident {
            fn default() -> Self {
                Self { #(#values),* }
            }
        }
    }
}

fn wire_impl(parsed: &Struct) -> TokenStream {
    let Struct { ident, fields, .. } = parsed;
    let name = ident.to_string();
    let positional = || fields.iter().filter(|field| field.tag.is_none());
    let mut tagged: Vec<_> = fields.iter().filter(|field| field.tag.is_some()).collect();
    tagged.sort_by_key(|field| field.tag);

    let segments = segments(positional());
    let reads = segments.iter().map(|segment| match segment.as_slice() {
        [field] => read_field(field),
        run => read_run(run),
    });
    let writes = segments.iter().map(|segment| match segment.as_slice() {
        [field] => write_field(field),
        run => write_run(run),
    });
    let (read_tags, write_tags) = if tagged.is_empty() {
        (quote! { reader.end_struct()?; }, quote! { writer.end_struct(); })
    } else {
        (read_tags(&tagged), write_tags(&tagged))
    };
    // A part is read and written in one place as a rule, the loop over an array of it.
    let inline = parsed.message.is_none().then(|| quote! { #[inline] });
    quote! {
        #[automatically_derived]
        impl ::ottla_protocol::codec::Wire for #ident {
            #inline
            fn read_into(
                &mut self,
                reader: &mut ::ottla_protocol::codec::Reader,
            ) -> ::core::result::Result<(), ::ottla_protocol::codec::DecodeError> {
                #(#reads)*
                #read_tags
                Ok(())
            }

            #inline
            fn write(
                &self,
                writer: &mut ::ottla_protocol::codec::Writer,
            ) -> ::core::result::Result<(), ::ottla_protocol::codec::EncodeError> {
                #(#writes)*
                #write_tags
                Ok(())
            }
        }

        #[automatically_derived]
        impl ::ottla_protocol::codec::Struct for #ident {
            const NAME: &'static str = #name;
        }
    }
}

/// The fields in order, with those together that are of fixed size and in the same versions.
fn segments<'a>(fields: impl Iterator<Item = &'a Field>) -> Vec<Vec<&'a Field>> {
    let mut segments: Vec<Vec<&Field>> = Vec::new();
    for field in fields {
        match segments.last_mut() {
            Some(segment)
                if is_fixed(field)
                    && segment.iter().all(|other| is_fixed(other) && other.versions == field.versions) =>
            {
                segment.push(field);
            }
            _ => segments.push(vec![field]),
        }
    }
    segments
}

fn is_fixed(field: &Field) -> bool {
    const FIXED: [&str; 16] = [
        "bool",
        "i8",
        "i16",
        "u16",
        "i32",
        "u32",
        "i64",
        "f64",
        "ErrorCode",
        "LeaderEpoch",
        "NodeId",
        "Offset",
        "PartitionIndex",
        "ProducerEpoch",
        "ProducerId",
        "Uuid",
    ];
    let syn::Type::Path(path) = &field.ty else { return false };
    path.path.get_ident().is_some_and(|ident| FIXED.iter().any(|fixed| ident == fixed))
}

/// The writer tells which codes a message bears.
fn is_code(field: &Field) -> bool {
    matches!(&field.ty, syn::Type::Path(path) if path.path.is_ident("ErrorCode"))
}

fn read_run(run: &[&Field]) -> TokenStream {
    let idents = run.iter().map(|field| &field.ident);
    let names = run.iter().map(|field| &field.name);
    let types: Vec<_> = run.iter().map(|field| &field.ty).collect();
    let read = quote! {{
        let mut run = reader.run::<{ 0 #(+ <#types as ::ottla_protocol::codec::Fixed>::BYTES)* }>(
            &[#((#names, <#types as ::ottla_protocol::codec::Fixed>::BYTES)),*],
        )?;
        #(self.#idents = run.get();)*
    }};
    match run.first().map(|field| field.versions) {
        Some(Versions::ALL) | None => read,
        Some(Versions { first, last }) => quote! { if reader.in_versions(#first, #last) #read },
    }
}

fn write_run(run: &[&Field]) -> TokenStream {
    let idents = run.iter().map(|field| &field.ident);
    let types = run.iter().map(|field| &field.ty);
    let codes = run.iter().filter(|field| is_code(field)).map(|field| &field.ident);
    let write = quote! {
        let mut run = ::ottla_protocol::codec::Run::<{ 0 #(+ <#types as ::ottla_protocol::codec::Fixed>::BYTES)* }>::new();
        #(run.put(&self.#idents);)*
        writer.put(run.bytes());
        #(writer.note_code(self.#codes);)*
    };
    match run.first().map(|field| field.versions) {
        Some(Versions::ALL) | None => quote! {{ #write }},
        Some(Versions { first, last }) => {
            let refusals = run.iter().filter(|field| !field.ignorable).map(|field| {
                let name = &field.name;
                let is_not_default = is_not_default(field);
                quote! { if #is_not_default { return Err(writer.not_in_version(#name)); } }
            });
            quote! { if writer.in_versions(#first, #last) { #write } else { #(#refusals)* } }
        }
    }
}

fn message_impl(parsed: &Struct, message: &MessageAttr) -> TokenStream {
    let ident = &parsed.ident;
    let Versions { first, last } = message.versions;
    let advertised = message.advertised.unwrap_or(first);
    let key = optional(message.key);
    let flexible = optional(message.flexible);
    quote! {
        #[automatically_derived]
        impl ::ottla_protocol::codec::Message for #ident {
            const KEY: ::core::option::Option<i16> = #key;
            const VERSIONS: ::ottla_protocol::codec::VersionRange =
                ::ottla_protocol::codec::VersionRange::new(#first, #last);
            const ADVERTISED_MIN: i16 = #advertised;
            const FLEXIBLE: ::core::option::Option<i16> = #flexible;
        }
    }
}

fn read_field(field: &Field) -> TokenStream {
    let Field { ident, name, .. } = field;
    let read = match field.nullable {
        None => quote! { reader.field_into(#name, &mut self.#ident)?; },
        Some(_) if field.inflexible => quote! { self.#ident = reader.inflexible_field(#name)?; },
        Some(Versions::ALL) => quote! { reader.nullable_field_into(#name, &mut self.#ident)?; },
        Some(Versions { first, last }) => quote! {
            self.#ident = if reader.in_versions(#first, #last) {
                reader.nullable_field(#name)?
            } else {
                Some(reader.field(#name)?)
            };
        },
    };
    if field.versions == Versions::ALL {
        return read;
    }
    let Versions { first, last } = field.versions;
    quote! { if reader.in_versions(#first, #last) { #read } }
}

fn write_field(field: &Field) -> TokenStream {
    let Field { ident, name, .. } = field;
    let write = match field.nullable {
        None if is_code(field) => quote! {
            writer.field(#name, &self.#ident)?;
            writer.note_code(self.#ident);
        },
        None => quote! { writer.field(#name, &self.#ident)?; },
        Some(_) if field.inflexible => quote! { writer.inflexible_field(#name, self.#ident.as_ref())?; },
        Some(Versions::ALL) => quote! { writer.nullable_field(#name, self.#ident.as_ref())?; },
        Some(Versions { first, last }) => quote! {
            if writer.in_versions(#first, #last) {
                writer.nullable_field(#name, self.#ident.as_ref())?;
            } else if let Some(value) = &self.#ident {
                writer.field(#name, value)?;
            } else {
                return Err(writer.null_in_version(#name));
            }
        },
    };
    if field.versions == Versions::ALL {
        return write;
    }
    let Versions { first, last } = field.versions;
    let refusal = refusal(field, &quote! { writer });
    quote! { if writer.in_versions(#first, #last) { #write } #refusal }
}

/// The `else` of a version that has no place for the field.
fn refusal(field: &Field, target: &TokenStream) -> TokenStream {
    if field.ignorable {
        return TokenStream::new();
    }
    let name = &field.name;
    let is_not_default = is_not_default(field);
    quote! { else if #is_not_default { return Err(#target.not_in_version(#name)); } }
}

fn read_tags(tagged: &[&Field]) -> TokenStream {
    let arms = tagged.iter().map(|field| {
        let Field { ident, name, tag, .. } = field;
        let read = match field.nullable {
            None => quote! { reader.field(#name)? },
            Some(_) => quote! { reader.nullable_tagged_field(#name)? },
        };
        let Versions { first, last } = field.versions;
        let check = (field.versions != Versions::ALL)
            .then(|| quote! { reader.check_tag(#tag, #name, #first, #last)?; });
        quote! { #tag => { #check self.#ident = #read; } }
    });
    quote! {
        if reader.is_flexible() {
            for _ in 0..reader.tag_count()? {
                let (tag, size) = reader.tag()?;
                match tag {
                    #(#arms)*
                    _ => reader.skip_tag(tag, size)?,
                }
            }
        }
    }
}

fn write_tags(tagged: &[&Field]) -> TokenStream {
    let writes = tagged.iter().map(|field| {
        let Field { ident, name, tag, .. } = field;
        let write = match field.nullable {
            None => quote! { tags.field(#tag, #name, &self.#ident)?; },
            Some(_) => quote! { tags.nullable_field(#tag, #name, self.#ident.as_ref())?; },
        };
        let is_not_default = is_not_default(field);
        if field.versions == Versions::ALL {
            return quote! { if #is_not_default { #write } };
        }
        let Versions { first, last } = field.versions;
        let refusal = if field.ignorable {
            TokenStream::new()
        } else {
            quote! { else { return Err(tags.not_in_version(#name)); } }
        };
        quote! { if #is_not_default { if tags.in_versions(#first, #last) { #write } #refusal } }
    });
    let refusals = tagged.iter().filter(|field| !field.ignorable).map(|field| {
        let name = &field.name;
        let is_not_default = is_not_default(field);
        quote! { if #is_not_default { return Err(writer.not_in_version(#name)); } }
    });
    quote! {
        if writer.is_flexible() {
            let mut tags = writer.tags();
            #(#writes)*
        } else {
            #(#refusals)*
        }
    }
}

fn default_expr(field: &Field) -> TokenStream {
    let ty = &field.ty;
    match &field.default {
        DefaultValue::OfType if field.nullable.is_some() => quote! { ::core::option::Option::None },
        DefaultValue::OfType => quote! { <#ty as ::core::default::Default>::default() },
        DefaultValue::Empty => quote! { ::core::option::Option::Some(::core::default::Default::default()) },
        DefaultValue::Literal(literal) if is_rust_primitive(ty) => quote! { #literal },
        DefaultValue::Literal(literal) => quote! { <#ty>::from(#literal) },
        DefaultValue::Value(value) => quote! { #value },
    }
}

fn is_not_default(field: &Field) -> TokenStream {
    let Field { ident, ty, .. } = field;
    match &field.default {
        DefaultValue::OfType if field.nullable.is_some() => quote! { self.#ident.is_some() },
        _ => {
            let default = default_expr(field);
            quote! {{ let default: #ty = #default; self.#ident != default }}
        }
    }
}

fn is_rust_primitive(ty: &syn::Type) -> bool {
    const PRIMITIVES: [&str; 8] = ["bool", "i8", "i16", "i32", "i64", "u16", "u32", "f64"];
    let syn::Type::Path(path) = ty else { return false };
    PRIMITIVES.iter().any(|primitive| path.path.is_ident(primitive))
}

fn optional<T: quote::ToTokens>(value: Option<T>) -> TokenStream {
    value.map_or_else(
        || quote! { ::core::option::Option::None },
        |value| quote! { ::core::option::Option::Some(#value) },
    )
}

/// Kafka's JSON form and the description of the schema.
fn json_impl(parsed: &Struct) -> TokenStream {
    let Struct { ident, fields, .. } = parsed;
    let descriptions = fields.iter().map(describe_field);
    let puts = fields.iter().map(|field| {
        let Field { ident, name, versions: Versions { first, last }, .. } = field;
        let put = match field.nullable {
            Some(Versions { first, last }) if field.nullable != Some(Versions::ALL) => {
                quote! { object.put_nullable(#name, #first, #last, &self.#ident)?; }
            }
            _ => quote! { object.put(#name, &self.#ident)?; },
        };
        let put = if field.tag.is_some() {
            let is_not_default = is_not_default(field);
            quote! { if #is_not_default { #put } }
        } else {
            put
        };
        if field.versions == Versions::ALL {
            return put;
        }
        let refusal = refusal(field, &quote! { object });
        quote! { if object.in_versions(#first, #last) { #put } #refusal }
    });
    let takes = fields.iter().map(|field| {
        let Field { ident, name, versions: Versions { first, last }, .. } = field;
        let default = default_expr(field);
        let take = if field.tag.is_some() {
            quote! { take_tagged }
        } else {
            quote! { take }
        };
        quote! { #ident: object.#take(#name, #first, #last)?.unwrap_or_else(|| #default) }
    });
    quote! {
        #[automatically_derived]
        impl ::ottla_protocol::json::JsonStruct for #ident {
            const SCHEMA: &'static ::ottla_protocol::json::StructSchema = &::ottla_protocol::json::StructSchema {
                name: <Self as ::ottla_protocol::codec::Struct>::NAME,
                fields: &[#(#descriptions),*],
            };

            fn put_fields(
                &self,
                object: &mut ::ottla_protocol::json::ObjectWriter,
            ) -> ::core::result::Result<(), ::ottla_protocol::json::JsonError> {
                #(#puts)*
                Ok(())
            }

            fn take_fields(
                object: &::ottla_protocol::json::ObjectReader<'_>,
            ) -> ::core::result::Result<Self, ::ottla_protocol::json::JsonError> {
                Ok(Self { #(#takes),* })
            }
        }
    }
}

fn describe_field(field: &Field) -> TokenStream {
    let Field { name, ignorable, versions, .. } = field;
    let inner = field.inner_type();
    let ty = &field.ty;
    let range = |Versions { first, last }: Versions| quote! { ::ottla_protocol::codec::VersionRange::new(#first, #last) };
    let nullable = optional(field.nullable.map(range));
    let tag = optional(field.tag);
    let versions = range(*versions);
    let flexible = !field.inflexible;
    let default = default_expr(field);
    quote! {
        ::ottla_protocol::json::FieldSchema {
            name: #name,
            kind: <#inner as ::ottla_protocol::json::Json>::KIND,
            versions: #versions,
            nullable: #nullable,
            tag: #tag,
            ignorable: #ignorable,
            flexible: #flexible,
            default: |version| {
                let default: #ty = #default;
                ::ottla_protocol::json::Json::to_json(&default, version)
            },
        }
    }
}
