//! Reads the struct and its attributes, and refuses what makes no sense with an error that points at the place and
//! says what is allowed. Makes no code.

use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, ExprRange, Field as SynField, Fields,
    GenericArgument, Ident, Lit, PathArguments, RangeLimits, Result, Token, Type,
};

/// The number of tagged fields is written as one byte.
const TAGGED_FIELDS_MAX: usize = 127;

/// An inclusive range of versions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) first: i16,
    pub(crate) last: i16,
}

impl Versions {
    pub(crate) const ALL: Self = Self { first: 0, last: i16::MAX };

    const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// Whether all of these are among the others, open ends aside: where one has no bound, it is the others'.
    const fn stay_in(self, others: Self) -> bool {
        self.meets(others)
            && (self.first == Self::ALL.first || others.first <= self.first)
            && (self.last == Self::ALL.last || self.last <= others.last)
    }

    const fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A struct to implement the traits for.
pub(crate) struct Struct {
    pub(crate) ident: Ident,
    /// None for a part of a message.
    pub(crate) message: Option<MessageAttr>,
    pub(crate) fields: Vec<Field>,
}

/// What `#[message(...)]` says.
pub(crate) struct MessageAttr {
    pub(crate) key: Option<i16>,
    pub(crate) versions: Versions,
    pub(crate) flexible: Option<i16>,
    pub(crate) advertised: Option<i16>,
}

/// One field and what `#[field(...)]` says of it.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// The schema's name with a small first letter.
    pub(crate) name: String,
    pub(crate) versions: Versions,
    pub(crate) ignorable: bool,
    /// Where null is allowed.
    pub(crate) nullable: Option<Versions>,
    pub(crate) tag: Option<u32>,
    pub(crate) default: DefaultValue,
    pub(crate) inflexible: bool,
}

/// A field's default value.
pub(crate) enum DefaultValue {
    /// The type's own.
    OfType,
    /// An `Option` with the inner type's own default.
    Empty,
    /// A literal, to be turned into the field's type unless that is one of Rust's own.
    Literal(Expr),
    /// An expression of the field's type.
    Value(Expr),
}

impl Struct {
    pub(crate) fn parse(input: &DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new(input.ident.span(), "Message can be derived for structs only"));
        };
        let Fields::Named(named) = &data.fields else {
            return Err(Error::new(input.ident.span(), "a message's fields have names: struct Name { … }"));
        };
        if !input.generics.params.is_empty() {
            return Err(Error::new(input.generics.span(), "a message has no generic parameters"));
        }
        misplaced(&input.attrs, "field", "#[field(…)] stands on a field; a struct has #[message(…)]")?;
        let mut attrs = input.attrs.iter().filter(|attr| attr.path().is_ident("message"));
        let message = attrs.next().map(MessageAttr::parse).transpose()?;
        if let Some(second) = attrs.next() {
            return Err(Error::new(second.span(), "a struct has one #[message(…)], with all that it says"));
        }
        let fields = named
            .named
            .iter()
            .map(|field| Field::parse(field, message.as_ref()))
            .collect::<Result<Vec<_>>>()?;
        check_tags(&fields)?;
        check_names(&fields)?;
        Ok(Self { ident: input.ident.clone(), message, fields })
    }
}

impl MessageAttr {
    fn parse(attr: &Attribute) -> Result<Self> {
        let (mut key, mut versions, mut flexible, mut advertised) = (None, None, None, None);
        attr.parse_nested_meta(|meta| match name_of(&meta).as_str() {
            "key" => set(&mut key, &meta, |meta| parse_i16(&meta.value()?.parse()?)),
            "versions" => set(&mut versions, &meta, parse_versions),
            "flexible" => set(&mut flexible, &meta, |meta| {
                let value: Expr = meta.value()?.parse()?;
                Ok((value.span(), if is_word(&value, "none") { None } else { Some(parse_i16(&value)?) }))
            }),
            "advertised" => set(&mut advertised, &meta, |meta| {
                let value: Expr = meta.value()?.parse()?;
                Ok((value.span(), parse_i16(&value)?))
            }),
            _ => Err(meta.error("expected one of key, versions, flexible, advertised")),
        })?;
        let Some(versions) = versions else {
            return Err(Error::new(attr.span(), "versions are missing: #[message(versions = 0..=3)]"));
        };
        if versions.last == i16::MAX {
            return Err(Error::new(attr.span(), "a message's versions have an end: versions = 0..=3"));
        }
        if let Some((span, Some(first))) = flexible
            && first > versions.last
        {
            let text = format!("no version up to {} is flexible then; write flexible = none", versions.last);
            return Err(Error::new(span, text));
        }
        if let Some((span, oldest)) = advertised
            && oldest > versions.first
        {
            let text =
                format!("the oldest version there is, {}, is advertised, or an older one", versions.first);
            return Err(Error::new(span, text));
        }
        let flexible = flexible.and_then(|(_, first)| first);
        Ok(Self { key, versions, flexible, advertised: advertised.map(|(_, oldest)| oldest) })
    }
}

impl Field {
    fn parse(field: &SynField, message: Option<&MessageAttr>) -> Result<Self> {
        let Some(ident) = field.ident.clone() else {
            return Err(Error::new(field.span(), "a message's fields have names"));
        };
        misplaced(&field.attrs, "message", "#[message(…)] stands on the struct; a field has #[field(…)]")?;
        let mut parsed = FieldAttr::default();
        for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("field")) {
            attr.parse_nested_meta(|meta| parsed.parse(&meta))?;
        }
        let FieldAttr { versions, ignorable, nullable, tag, default, flexible, name } = parsed;
        let at = |span: Option<proc_macro2::Span>| span.unwrap_or_else(|| ident.span());
        let (versions_span, versions_given) = versions.unzip();
        let versions_given = versions_given.unwrap_or(Versions::ALL);
        let (nullable_span, nullable) = nullable.unzip();

        match (option_inner(&field.ty), nullable) {
            (Some(_), None) => return Err(Error::new(field.ty.span(), "an Option needs #[field(nullable)]")),
            (None, Some(_)) => {
                return Err(Error::new(field.ty.span(), "a nullable field's type is an Option"));
            }
            _ => {}
        }
        let whole = message.map_or(Versions::ALL, |message| message.versions);
        if !versions_given.stay_in(whole) {
            let text = format!("the message has only the versions {} to {}", whole.first, whole.last);
            return Err(Error::new(at(versions_span), text));
        }
        if nullable.is_some_and(|nullable| !nullable.stay_in(versions_given) || !nullable.stay_in(whole)) {
            let text = "null is allowed in versions that the field has, or in all of them: nullable";
            return Err(Error::new(at(nullable_span), text));
        }
        if let Some((span, _)) = tag {
            if let Some(flexible) = &flexible {
                return Err(Error::new(
                    flexible.span(),
                    "a tagged field exists in flexible versions only, and has their form",
                ));
            }
            check_tagged(span, message, versions_given, nullable)?;
        }
        let name = name.unwrap_or_else(|| camel_case(&ident));
        Ok(Self {
            ty: field.ty.clone(),
            name,
            versions: versions_given,
            ignorable: ignorable.is_some(),
            nullable,
            tag: tag.map(|(_, tag)| tag),
            default: default_value(default, &field.ty)?,
            inflexible: inflexible(flexible.as_ref(), nullable)?,
            ident,
        })
    }

    /// What stands in the `Option`, of a field that may be null.
    pub(crate) fn inner_type(&self) -> &Type {
        option_inner(&self.ty).unwrap_or(&self.ty)
    }
}

#[derive(Default)]
struct FieldAttr {
    versions: Option<(proc_macro2::Span, Versions)>,
    ignorable: Option<()>,
    nullable: Option<(proc_macro2::Span, Versions)>,
    tag: Option<(proc_macro2::Span, u32)>,
    default: Option<Expr>,
    flexible: Option<Expr>,
    name: Option<String>,
}

impl FieldAttr {
    fn parse(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match name_of(meta).as_str() {
            "versions" => set(&mut self.versions, meta, |meta| Ok((meta.path.span(), parse_versions(meta)?))),
            "ignorable" if meta.input.peek(Token![=]) => {
                Err(meta.error("ignorable stands alone, without a value"))
            }
            "ignorable" => set(&mut self.ignorable, meta, |_| Ok(())),
            "nullable" => set(&mut self.nullable, meta, |meta| {
                let versions = if meta.input.peek(Token![=]) { parse_versions(meta)? } else { Versions::ALL };
                Ok((meta.path.span(), versions))
            }),
            "tag" => set(&mut self.tag, meta, |meta| parse_tag(&meta.value()?.parse()?)),
            "default" if !meta.input.peek(Token![=]) => {
                Err(meta.error("expected a value: default = -1, or default = empty for an Option"))
            }
            "default" => set(&mut self.default, meta, |meta| meta.value()?.parse()),
            "flexible" => set(&mut self.flexible, meta, |meta| meta.value()?.parse()),
            "name" => set(&mut self.name, meta, |meta| {
                let name: Expr = meta.value()?.parse()?;
                match &name {
                    Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if !text.value().is_empty() => {
                        Ok(text.value())
                    }
                    _ => Err(Error::new(
                        name.span(),
                        "expected the schema's name as text: name = \"ISRNodes\"",
                    )),
                }
            }),
            _ => Err(meta
                .error("expected one of versions, ignorable, nullable, tag, default, flexible = none, name")),
        }
    }
}

fn check_tagged(
    span: proc_macro2::Span,
    message: Option<&MessageAttr>,
    versions: Versions,
    nullable: Option<Versions>,
) -> Result<()> {
    if let Some(message) = message {
        let Some(flexible) = message.flexible else {
            return Err(Error::new(
                span,
                "a tagged field needs a flexible version: #[message(flexible = 2)]",
            ));
        };
        if versions.first.max(message.versions.first) < flexible {
            let text =
                format!("tagged fields exist from version {flexible} on; write versions = {flexible}..");
            return Err(Error::new(span, text));
        }
    }
    if nullable.is_some_and(|nullable| !nullable.contains(versions)) {
        return Err(Error::new(span, "a tagged field is nullable in all of its versions or in none"));
    }
    Ok(())
}

fn check_tags(fields: &[Field]) -> Result<()> {
    let mut seen = Vec::new();
    for field in fields {
        let Some(tag) = field.tag else { continue };
        if seen.contains(&tag) {
            return Err(Error::new(field.ident.span(), format!("another field has the tag {tag} already")));
        }
        if seen.len() == TAGGED_FIELDS_MAX {
            let text = format!("a struct has no more than {TAGGED_FIELDS_MAX} tagged fields");
            return Err(Error::new(field.ident.span(), text));
        }
        seen.push(tag);
    }
    Ok(())
}

fn check_names(fields: &[Field]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match fields.iter().find(|field| !seen.insert(&field.name)) {
        None => Ok(()),
        Some(field) => {
            let text = format!("another field has the name \"{}\" already", field.name);
            Err(Error::new(field.ident.span(), text))
        }
    }
}

/// An attribute that stands where nobody would look at it.
fn misplaced(attrs: &[Attribute], name: &str, text: &str) -> Result<()> {
    match attrs.iter().find(|attr| attr.path().is_ident(name)) {
        None => Ok(()),
        Some(attr) => Err(Error::new(attr.span(), text)),
    }
}

fn default_value(default: Option<Expr>, ty: &Type) -> Result<DefaultValue> {
    let Some(value) = default else { return Ok(DefaultValue::OfType) };
    if is_word(&value, "empty") {
        return match option_inner(ty) {
            Some(_) => Ok(DefaultValue::Empty),
            None => Err(Error::new(
                value.span(),
                "default = empty is for an Option; other types are empty anyway",
            )),
        };
    }
    let is_literal = match &value {
        Expr::Lit(_) => true,
        Expr::Unary(unary) => matches!(&*unary.expr, Expr::Lit(_)),
        _ => false,
    };
    if !is_literal && is_list(ty) {
        return Err(Error::new(value.span(), "a list's default is an empty one, or null: leave it out"));
    }
    if !is_literal {
        return Ok(DefaultValue::Value(value));
    }
    match option_inner(ty) {
        Some(_) => Err(Error::new(value.span(), "an Option's default is Some(…), or empty")),
        None => Ok(DefaultValue::Literal(value)),
    }
}

fn inflexible(flexible: Option<&Expr>, nullable: Option<Versions>) -> Result<bool> {
    let Some(value) = flexible else { return Ok(false) };
    if !is_word(value, "none") {
        return Err(Error::new(value.span(), "a field has only flexible = none"));
    }
    if nullable != Some(Versions::ALL) {
        return Err(Error::new(
            value.span(),
            "flexible = none is for fields that are nullable in all versions",
        ));
    }
    Ok(true)
}

fn set<T>(
    slot: &mut Option<T>,
    meta: &ParseNestedMeta<'_>,
    parse: impl FnOnce(&ParseNestedMeta<'_>) -> Result<T>,
) -> Result<()> {
    if slot.is_some() {
        return Err(meta.error("given twice"));
    }
    *slot = Some(parse(meta)?);
    Ok(())
}

fn name_of(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(ToString::to_string).unwrap_or_default()
}

fn is_word(value: &Expr, word: &str) -> bool {
    matches!(value, Expr::Path(path) if path.path.is_ident(word))
}

fn parse_i16(value: &Expr) -> Result<i16> {
    let number = match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| Error::new(value.span(), "expected a number from 0 to 32767"))
}

fn parse_tag(value: &Expr) -> Result<(proc_macro2::Span, u32)> {
    let number = match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    };
    match number {
        Some(tag) => Ok((value.span(), tag)),
        None => Err(Error::new(value.span(), "expected a tag: a number from 0 to 4294967295")),
    }
}

fn parse_versions(meta: &ParseNestedMeta<'_>) -> Result<Versions> {
    let value: Expr = meta.value()?.parse()?;
    let allowed = "expected versions: 3, 3.., ..=5 or 3..=5";
    let versions = match &value {
        Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) => {
            let only = parse_i16(&value)?;
            Versions { first: only, last: only }
        }
        Expr::Range(ExprRange { start, limits, end, .. }) => {
            if end.is_some() && matches!(limits, RangeLimits::HalfOpen(_)) {
                return Err(Error::new(value.span(), "versions include their last: write 3..=5"));
            }
            let first = start.as_deref().map_or(Ok(0), parse_i16)?;
            let last = end.as_deref().map_or(Ok(i16::MAX), parse_i16)?;
            Versions { first, last }
        }
        _ => return Err(Error::new(value.span(), allowed)),
    };
    if versions.first > versions.last {
        return Err(Error::new(value.span(), "the first version is above the last"));
    }
    Ok(versions)
}

/// Whether the type is one that is read over an empty value, which is not dropped.
fn is_list(ty: &Type) -> bool {
    let Type::Path(path) = option_inner(ty).unwrap_or(ty) else { return false };
    path.path
        .segments
        .last()
        .is_some_and(|last| ["Vec", "Few", "Records"].iter().any(|list| last.ident == list))
}

/// What stands in `Option<…>`.
fn option_inner(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != "Option" {
        return None;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    }
}

fn camel_case(ident: &Ident) -> String {
    let snake = ident.to_string();
    let mut name = String::with_capacity(snake.len());
    for (index, word) in snake.trim_start_matches("r#").split('_').enumerate() {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if index > 0 => name.push(first.to_ascii_uppercase()),
            Some(first) => name.push(first),
            None => {}
        }
        name.push_str(letters.as_str());
    }
    name
}
