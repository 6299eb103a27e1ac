//! Altering configs as the controller decides it: which records a change leads to, and which requests are refused whole.

use ottla_cluster::controller::CONFIGS_PER_RESOURCE_MAX;
use ottla_cluster::{ConfigResource, ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ottla_protocol::metadata::MetadataRecord;

use crate::support::Machine;

const GROUP: i8 = ConfigResource::GROUP;

fn operation(name: &str, config_operation: i8, value: &str) -> AlterableConfig {
    AlterableConfig { name: name.into(), config_operation, value: Some(value.into()) }
}

fn request(resources: &[(&str, Vec<AlterableConfig>)]) -> IncrementalAlterConfigsRequest {
    let resource = |(name, configs): &(&str, Vec<AlterableConfig>)| AlterConfigsResource {
        resource_type: GROUP,
        resource_name: (*name).into(),
        configs: configs.clone(),
    };
    IncrementalAlterConfigsRequest {
        resources: resources.iter().map(resource).collect(),
        validate_only: false,
    }
}

/// The answers, and how many records were written.
fn alter(
    machine: &mut Machine,
    request: IncrementalAlterConfigsRequest,
) -> (Vec<AlterConfigsResourceResponse>, usize) {
    let before = machine.batches.len();
    let response = machine.call(&ControllerRequest::IncrementalAlterConfigs(request));
    let ControllerResponse::IncrementalAlterConfigs(response) = response else { panic!("{response:?}") };
    let records = machine.batches[before..].iter().map(|(_, records)| records.len()).sum();
    (response.responses, records)
}

fn value(machine: &Machine, group: &str, key: &str) -> Option<String> {
    let resource = ConfigResource { kind: GROUP, name: group.into() };
    machine.builder.current().configs(&resource)?.get(key).map(ToString::to_string)
}

#[test]
fn only_what_differs_is_written() {
    let mut machine = Machine::new();
    let set = || request(&[("g", vec![operation("retention.ms", 0, "5")])]);
    assert_eq!(alter(&mut machine, set()).1, 1);
    assert_eq!(alter(&mut machine, set()).1, 0, "it is so already");
    assert_eq!(alter(&mut machine, request(&[("g", vec![operation("cleanup.policy", 1, "")])])).1, 0);
    assert_eq!(alter(&mut machine, request(&[("g", vec![operation("retention.ms", 1, "")])])).1, 1);
    assert_eq!(value(&machine, "g", "retention.ms"), None);
}

#[test]
fn validating_writes_nothing() {
    let mut machine = Machine::new();
    let asked = request(&[("g", vec![operation("retention.ms", 0, "5")])]);
    let (answers, records) =
        alter(&mut machine, IncrementalAlterConfigsRequest { validate_only: true, ..asked });
    assert_eq!((answers[0].error_code, records), (ErrorCode::NONE, 0));
}

#[test]
fn a_list_grows_from_what_it_inherits_and_shrinks_to_nothing() {
    let mut machine = Machine::new();
    let mut list = |operation_number, words| {
        let asked = request(&[("g", vec![operation("cleanup.policy", operation_number, words)])]);
        assert_eq!(alter(&mut machine, asked).0[0].error_code, ErrorCode::NONE);
        value(&machine, "g", "cleanup.policy").unwrap()
    };
    assert_eq!(list(2, "compact, delete"), "delete,compact");
    assert_eq!(list(3, "delete"), "compact");
    assert_eq!(list(3, "compact,other"), "");
}

#[test]
fn resources_stand_and_fall_alone_and_one_named_twice_falls() {
    let mut machine = Machine::new();
    let set = |value| vec![operation("retention.ms", 0, value)];
    let asked = request(&[("a", set("5")), ("b", set("x")), ("c", set("6")), ("c", set("7"))]);
    let (answers, records) = alter(&mut machine, asked);
    let codes: Vec<_> = answers.iter().map(|answer| answer.error_code).collect();
    let twice = ErrorCode::INVALID_REQUEST;
    assert_eq!(codes, [ErrorCode::NONE, ErrorCode::INVALID_CONFIG, twice, twice]);
    assert_eq!((records, value(&machine, "c", "retention.ms")), (1, None));
}

#[test]
fn an_unknown_operation_is_refused_and_changes_nothing() {
    let mut machine = Machine::new();
    for number in [-1, 4, 127] {
        let (answers, records) =
            alter(&mut machine, request(&[("g", vec![operation("retention.ms", number, "5")])]));
        assert_eq!((answers[0].error_code, records), (ErrorCode::INVALID_REQUEST, 0));
    }
}

#[test]
fn a_request_and_a_resource_have_their_limits() {
    let mut machine = Machine::new();
    let many: Vec<_> =
        (0..=CONFIGS_PER_RESOURCE_MAX).map(|number| operation(&format!("key-{number}"), 0, "1")).collect();
    let (answers, records) = alter(&mut machine, request(&[("g", many)]));
    assert_eq!((answers[0].error_code, records), (ErrorCode::POLICY_VIOLATION, 0));
    let long = "x".repeat(5 << 20);
    let (answers, records) = alter(
        &mut machine,
        request(&[
            ("g", vec![operation("cleanup.policy", 0, &long)]),
            ("h", vec![operation("retention.ms", 0, "1")]),
        ]),
    );
    assert!(
        answers.iter().all(|answer| answer.error_code == ErrorCode::POLICY_VIOLATION),
        "{}",
        answers.len()
    );
    assert_eq!(records, 0);
    assert!(machine.batches.iter().all(|(_, records)| {
        !records
            .iter()
            .any(|record| matches!(record, MetadataRecord::Config(config) if config.name.starts_with("key-")))
    }));
}
