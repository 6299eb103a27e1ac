//! AlterClientQuotas: limits for users, client ids and addresses (KIP-546, KIP-599, KIP-612), in Kafka's words. Whether a name
//! leads to an address is not asked here: who asks the controller has looked it up.

use std::collections::HashMap;

use compact_str::{CompactString, format_compact};
use ottla_model::ErrorCode;
use ottla_protocol::messages::alter_client_quotas::{
    AlterClientQuotasRequest, AlterClientQuotasResponse, EntityData, OpData, RequestEntryData,
    ResponseEntryData,
};
use ottla_protocol::metadata as records;
use ottla_protocol::metadata::{ClientQuotaRecord, MetadataRecord};

use super::{Decision, RECORDS_PER_REQUEST_MAX, TEXT_BYTES_PER_REQUEST_MAX};
use crate::image::{MetadataImage, QuotaKey};
use crate::link::ControllerResponse;

const USER: &str = "user";
const CLIENT: &str = "client-id";
const IP: &str = "ip";

/// An entity by its parts, sorted; none stands for the default.
type Entity = Vec<(CompactString, Option<CompactString>)>;

/// What a key's value has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Whole,
    Any,
}

pub(super) fn decide(image: &MetadataImage, request: &AlterClientQuotasRequest) -> Decision {
    let mut times: HashMap<Entity, usize> = HashMap::new();
    for entry in &request.entries {
        *times.entry(entity(&entry.entity)).or_insert(0) += 1;
    }
    let mut records = Vec::new();
    let mut entries: Vec<ResponseEntryData> = Vec::with_capacity(times.len());
    let mut seen = std::collections::HashSet::new();
    for entry in &request.entries {
        let entity = entity(&entry.entity);
        if !seen.insert(entity.clone()) {
            continue;
        }
        let altered = match times.get(&entity) {
            Some(1) => alter(image, &entity, entry),
            _ => Err(duplicate(&entity)),
        };
        let (error_code, error_message) = match altered {
            Ok(altered) => {
                records.extend(altered);
                (ErrorCode::NONE, None)
            }
            Err(message) => (ErrorCode::INVALID_REQUEST, Some(message)),
        };
        entries.push(ResponseEntryData { error_code, error_message, entity: parts(&entity) });
    }
    let text: usize = records.iter().map(text_bytes).sum();
    if records.len() > RECORDS_PER_REQUEST_MAX || text > TEXT_BYTES_PER_REQUEST_MAX {
        records.clear();
        for entry in &mut entries {
            entry.error_code = ErrorCode::POLICY_VIOLATION;
            entry.error_message = Some("Unable to perform excessively large batch operation.".into());
        }
    }
    if request.validate_only {
        records.clear();
    }
    let response = AlterClientQuotasResponse { entries, ..AlterClientQuotasResponse::default() };
    Decision { records, response: ControllerResponse::AlterClientQuotas(response) }
}

fn entity(parts: &[EntityData]) -> Entity {
    let by_type: std::collections::BTreeMap<_, _> =
        parts.iter().map(|part| (part.entity_type.clone(), part.entity_name.clone())).collect();
    by_type.into_iter().collect()
}

fn parts(entity: &Entity) -> Vec<EntityData> {
    let part = |(entity_type, entity_name): &(CompactString, Option<CompactString>)| EntityData {
        entity_type: entity_type.clone(),
        entity_name: entity_name.clone(),
    };
    entity.iter().map(part).collect()
}

fn alter(
    image: &MetadataImage,
    entity: &Entity,
    entry: &RequestEntryData,
) -> Result<Vec<MetadataRecord>, CompactString> {
    check_entity(entity)?;
    let mut records = Vec::new();
    for (place, op) in entry.ops.iter().enumerate() {
        if entry.ops.iter().take(place).any(|earlier| earlier.key == op.key) {
            return Err(duplicate(entity));
        }
        let is_of_ip = entity.iter().any(|(kind, _)| kind == IP);
        if !op.remove {
            check_value(op, is_of_ip)?;
        }
        let key = QuotaKey { entity: entity.clone(), key: op.key.clone() };
        let known = image.kept().quotas.get(&key);
        let changes = match known {
            None => !op.remove,
            Some(known) => op.remove || known.value.to_bits() != op.value.to_bits(),
        };
        if changes {
            records.push(record(entity, op));
        }
    }
    Ok(records)
}

fn check_entity(entity: &Entity) -> Result<(), CompactString> {
    if entity.is_empty() {
        return Err("Invalid empty client quota entity".into());
    }
    for (kind, name) in entity {
        if ![USER, CLIENT, IP].contains(&kind.as_str()) {
            return Err(format_compact!("Unhandled client quota entity type: {kind}"));
        }
        if name.as_ref().is_some_and(|name| name.is_empty()) {
            return Err(format_compact!("Empty {kind} not supported"));
        }
    }
    if entity.len() > 1 && entity.iter().any(|(kind, _)| kind == IP) {
        return Err(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId".into(),
        );
    }
    Ok(())
}

fn check_value(op: &OpData, is_of_ip: bool) -> Result<(), CompactString> {
    let OpData { key, value, .. } = op;
    let number = match (key.as_str(), is_of_ip) {
        ("producer_byte_rate" | "consumer_byte_rate", false) | ("connection_creation_rate", true) => {
            Number::Whole
        }
        ("request_percentage" | "controller_mutation_rate", false) => Number::Any,
        _ => return Err(format_compact!("Invalid configuration key {key}")),
    };
    if !value.is_finite() {
        return Err(format_compact!("Quota {key} must be a finite number"));
    }
    if *value <= 0.0 {
        return Err(format_compact!("Quota {key} must be greater than 0"));
    }
    if number == Number::Whole {
        // Kafka forgives what adding up fractions leaves.
        if (value - value.round()).abs() > 1e-6 {
            return Err(format_compact!("{key} cannot be a fractional value."));
        }
        let (max, name) = if is_of_ip { (f64::from(i32::MAX), "INT") } else { (LONG_MAX, "LONG") };
        if *value > max {
            return Err(format_compact!("Proposed value for {key} is too large for a {name}."));
        }
    }
    Ok(())
}

/// The largest value of a LONG, as far as a double tells it.
#[allow(clippy::cast_precision_loss, reason = "Kafka compares in doubles")]
const LONG_MAX: f64 = i64::MAX as f64;

fn record(entity: &Entity, op: &OpData) -> MetadataRecord {
    let part = |(entity_type, entity_name): &(CompactString, Option<CompactString>)| records::EntityData {
        entity_type: entity_type.clone(),
        entity_name: entity_name.clone(),
    };
    MetadataRecord::ClientQuota(ClientQuotaRecord {
        entity: entity.iter().map(part).collect(),
        key: op.key.clone(),
        value: if op.remove { 0.0 } else { op.value },
        remove: op.remove,
    })
}

fn text_bytes(record: &MetadataRecord) -> usize {
    let MetadataRecord::ClientQuota(record) = record else { return 0 };
    let part = |part: &records::EntityData| {
        part.entity_type.len() + part.entity_name.as_ref().map_or(0, |name| name.len())
    };
    record.key.len() + record.entity.iter().map(part).sum::<usize>()
}

fn duplicate(entity: &Entity) -> CompactString {
    let parts: Vec<String> =
        entity.iter().map(|(kind, name)| format!("{kind}={}", name.as_deref().unwrap_or("null"))).collect();
    format_compact!("Ignoring duplicate entity ClientQuotaEntity(entries={{{}}})", parts.join(", "))
}
