//! DescribeClientQuotas: the quotas whose entities a filter matches (KIP-546), in Kafka's words.

use std::collections::BTreeMap;

use compact_str::{CompactString, format_compact};
use ottla_cluster::KeptRecords;
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::describe_client_quotas::{
    ComponentData, DescribeClientQuotasRequest, DescribeClientQuotasResponse, EntityData, EntryData,
    ValueData,
};

use crate::dispatch::Call;

const EXACT: i8 = 0;
const DEFAULT: i8 = 1;
const SPECIFIED: i8 = 2;

/// An error code and the message that goes with it.
type Refusal = (ErrorCode, CompactString);
/// An entity by its parts; none stands for the default.
type Entity = Vec<(CompactString, Option<CompactString>)>;

pub(crate) fn handle(call: &mut Call<'_>, request: DescribeClientQuotasRequest) -> Outcome {
    let image = call.broker().image.load();
    let response = match check(&request.components) {
        Ok(()) => DescribeClientQuotasResponse {
            entries: Some(found(image.kept(), &request)),
            error_message: Some(CompactString::const_new("")),
            ..DescribeClientQuotasResponse::default()
        },
        Err((error_code, message)) => DescribeClientQuotasResponse {
            error_code,
            error_message: Some(message),
            entries: None,
            ..DescribeClientQuotasResponse::default()
        },
    };
    call.reply(&response)
}

fn check(components: &[ComponentData]) -> Result<(), Refusal> {
    let invalid = |message: CompactString| Err((ErrorCode::INVALID_REQUEST, message));
    for (place, component) in components.iter().enumerate() {
        let kind = &component.entity_type;
        if kind.is_empty() {
            return invalid("Invalid empty entity type.".into());
        }
        if components.iter().take(place).any(|earlier| earlier.entity_type == *kind) {
            return invalid(format_compact!(
                "Entity type {kind} cannot appear more than once in the filter."
            ));
        }
        match (component.match_type, &component.r#match) {
            (EXACT, None) => {
                return invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.".into());
            }
            (DEFAULT, Some(_)) => {
                return invalid(
                    "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.".into(),
                );
            }
            (SPECIFIED, Some(_)) => {
                return invalid(
                    "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.".into(),
                );
            }
            (EXACT | DEFAULT | SPECIFIED, _) => {}
            (other, _) => return invalid(format_compact!("Unknown match type {other}")),
        }
        if !["user", "client-id", "ip"].contains(&kind.as_str()) {
            return Err((ErrorCode::UNSUPPORTED_VERSION, format_compact!("Unsupported entity type {kind}")));
        }
    }
    if components.len() > 1 && components.iter().any(|component| component.entity_type == "ip") {
        return invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId \
             filter component."
                .into(),
        );
    }
    Ok(())
}

fn found(kept: &KeptRecords, request: &DescribeClientQuotasRequest) -> Vec<EntryData> {
    let mut entries: BTreeMap<&Entity, Vec<ValueData>> = BTreeMap::new();
    // A strict question for nothing asks for the entity without parts, which there is not.
    for (key, record) in kept.quotas.iter().filter(|(key, _)| matches(&key.entity, request)) {
        let value = ValueData { key: key.key.clone(), value: record.value };
        entries.entry(&key.entity).or_default().push(value);
    }
    let part = |(kind, name): &(CompactString, Option<CompactString>)| EntityData {
        entity_type: kind.clone(),
        entity_name: name.clone(),
    };
    entries
        .into_iter()
        .map(|(entity, values)| EntryData { entity: entity.iter().map(part).collect(), values })
        .collect()
}

fn matches(entity: &Entity, request: &DescribeClientQuotasRequest) -> bool {
    let matches_one = |component: &ComponentData| {
        let part = entity.iter().find(|(kind, _)| *kind == component.entity_type);
        part.is_some_and(|(_, name)| match component.match_type {
            EXACT => *name == component.r#match,
            DEFAULT => name.is_none(),
            _ => true,
        })
    };
    let is_whole = !request.strict || entity.len() == request.components.len();
    is_whole && request.components.iter().all(matches_one)
}
