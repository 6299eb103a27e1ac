//! Altering configs, beside what Apache Kafka answered to the same requests in the same order
//! (`tests/data/alter-configs`). With `OTTLA_RECORD_FROM=host:port` the requests go to the broker there, which must be
//! fresh, and its answers are written into the file.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use ottla_protocol::api::Request;
use ottla_protocol::messages::alter_configs::{self, AlterConfigsRequest};
use ottla_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ottla_protocol::messages::list_config_resources::ListConfigResourcesRequest;
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{create_request, create_topic};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/alter-configs");
/// Apache Kafka applies a change to a broker some time after it has answered.
const KAFKA_APPLIES_AFTER: Duration = Duration::from_millis(250);

/// A logger that Kafka has, and one that stands for it here.
const KAFKAS_LOGGER: &str = "kafka.server.KafkaApis";
const OUR_LOGGER: &str = "ottla_broker::handlers";

/// What stands for an answer where the broker closed the connection instead.
const CLOSED: &str = "closed";

/// A connection that is made anew when the broker closes it.
struct Client {
    address: SocketAddr,
    connection: Connection,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        Self { address, connection: Connection::open(address) }
    }

    fn call<R: Request>(&mut self, request: &R, version: i16) -> Option<R::Response> {
        let number = self.connection.send(request, version);
        let answer = self.connection.try_receive::<R>(version, number);
        if answer.is_none() {
            self.connection = Connection::open(self.address);
        }
        answer
    }
}

/// Runs one line of the file and returns the lines of its answer.
fn run(client: &mut Client, line: &str) -> Vec<String> {
    let mut fields = line.split('\t');
    let command = fields.next().unwrap_or_default();
    let rest: Vec<&str> = fields.collect();
    match command {
        "alter" | "validate" => incremental(client, &rest, command == "validate"),
        "legacy" | "legacy-validate" => legacy(client, &rest, command == "legacy-validate"),
        "describe" => describe(client, rest[0], &[], |source| source != 5),
        "describe-dynamic" => describe(client, rest[0], &[], |source| source < 4),
        "describe-all" => describe(client, rest[0], &[], |_| true),
        "describe-one" => describe(client, rest[0], &rest[1..], |_| true),
        "list" | "list0" => list(client, &rest, i16::from(command == "list")),
        other => panic!("no such command: {other}"),
    }
}

fn resource(text: &str) -> (i8, &str) {
    let (kind, name) = text.split_once(':').unwrap();
    (kind.parse().unwrap(), name)
}

fn incremental(client: &mut Client, fields: &[&str], validate_only: bool) -> Vec<String> {
    let resources = fields.split(|field| *field == ";").filter(|part| !part.is_empty());
    let resources = resources.map(|part| {
        let (resource_type, name) = resource(part[0]);
        let configs = part[1..].iter().map(|operation| operation_of(operation)).collect();
        AlterConfigsResource { resource_type, resource_name: name.into(), configs }
    });
    let request = IncrementalAlterConfigsRequest { resources: resources.collect(), validate_only };
    let Some(answer) = client.call(&request, 1) else { return vec![CLOSED.to_owned()] };
    let lines = answer.responses.iter().map(|one| {
        row(one.resource_type, &one.resource_name, one.error_code.get(), one.error_message.as_deref())
    });
    sorted(lines)
}

fn operation_of(text: &str) -> AlterableConfig {
    let (word, rest) = text.split_once(' ').unwrap();
    let (name, value) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
    let config_operation = match word {
        "set" | "null" => 0,
        "del" | "null-del" => 1,
        "app" | "null-app" => 2,
        "sub" => 3,
        other => panic!("no such operation: {other}"),
    };
    let value = if word == "del" { Some("") } else { value };
    AlterableConfig { name: name.into(), config_operation, value: value.map(Into::into) }
}

fn legacy(client: &mut Client, fields: &[&str], validate_only: bool) -> Vec<String> {
    let resources = fields.split(|field| *field == ";").filter(|part| !part.is_empty());
    let resources = resources.map(|part| {
        let (resource_type, name) = resource(part[0]);
        let config = |text: &&str| {
            let AlterableConfig { name, value, .. } = operation_of(text);
            alter_configs::AlterableConfig { name, value }
        };
        let configs = part[1..].iter().map(config).collect();
        alter_configs::AlterConfigsResource { resource_type, resource_name: name.into(), configs }
    });
    let request = AlterConfigsRequest { resources: resources.collect(), validate_only };
    let Some(answer) = client.call(&request, 2) else { return vec![CLOSED.to_owned()] };
    let lines = answer.responses.iter().map(|one| {
        row(one.resource_type, &one.resource_name, one.error_code.get(), one.error_message.as_deref())
    });
    sorted(lines)
}

fn row(kind: i8, name: &str, code: i16, message: Option<&str>) -> String {
    format!("{kind}:{name} E{code} {}", message.unwrap_or("-"))
}

/// The values whose source is as wanted, each in a line, with all that is told of it.
fn describe(client: &mut Client, text: &str, keys: &[&str], wanted: impl Fn(i8) -> bool) -> Vec<String> {
    let (resource_type, name) = resource(text);
    let keys: Vec<_> = keys.iter().map(|key| (*key).into()).collect();
    let request = DescribeConfigsRequest {
        resources: vec![DescribeConfigsResource {
            resource_type,
            resource_name: name.into(),
            configuration_keys: (!keys.is_empty()).then_some(keys),
        }],
        include_synonyms: true,
        include_documentation: false,
    };
    let Some(answer) = client.call(&request, 4) else { return vec![CLOSED.to_owned()] };
    let result = &answer.results[0];
    if !result.error_code.is_none() {
        return vec![row(
            result.resource_type,
            &result.resource_name,
            result.error_code.get(),
            result.error_message.as_deref(),
        )];
    }
    let lines = result.configs.iter().filter(|config| wanted(config.config_source)).map(|config| {
        let shown = |value: &Option<_>| value.as_ref().map_or("null".to_owned(), ToString::to_string);
        let mut line = format!(
            "{}={} source={} type={} read_only={} sensitive={} <",
            config.name,
            shown(&config.value),
            config.config_source,
            config.config_type,
            config.read_only,
            config.is_sensitive
        );
        for synonym in &config.synonyms {
            write!(line, " {}:{}={}", synonym.source, synonym.name, shown(&synonym.value)).unwrap();
        }
        line
    });
    sorted(lines)
}

fn list(client: &mut Client, types: &[&str], version: i16) -> Vec<String> {
    let types = types.iter().filter(|text| !text.is_empty());
    let request =
        ListConfigResourcesRequest { resource_types: types.map(|text| text.parse().unwrap()).collect() };
    let Some(answer) = client.call(&request, version) else { return vec![CLOSED.to_owned()] };
    let mut lines = vec![format!("E{}", answer.error_code.get())];
    let rows = answer.config_resources.iter();
    lines.extend(sorted(rows.map(|row| format!("{}:{}", row.resource_type, row.resource_name))));
    lines
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}

/// The file with the answers that the broker behind this connection gives.
fn answered(client: &mut Client, script: &str, pause: Duration) -> String {
    let mut text = String::new();
    for line in script.lines().filter(|line| !line.starts_with("> ")) {
        writeln!(text, "{line}").unwrap();
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        if line.starts_with("describe") || line.starts_with("list") {
            std::thread::sleep(pause);
        }
        for answer in run(client, line) {
            writeln!(text, "> {answer}").unwrap();
        }
    }
    text
}

/// What Kafka says, without the traces of the languages that it is written in.
fn without_java(line: &str) -> String {
    const EXCEPTION: &str = "Invalid value org.apache.kafka.common.config.ConfigException: ";
    let line = line.replace("requirement failed: ", "").replace(EXCEPTION, "");
    line.replace(" for configuration Invalid dynamic configuration", "")
}

/// Whether an answer differs from Kafka's because nothing here would act on the change; docs/config.md has the keys.
fn is_meant(line: &str) -> bool {
    let of_restart = ["listener.security.protocol.map", "listeners", "num.network.threads"];
    line.ends_with("this version does not act on it yet.")
        || line.ends_with("[ssl.engine.factory.class]")
        || of_restart
            .iter()
            .any(|key| line.ends_with(&format!("Cannot update these configs dynamically: [{key}]")))
}

/// Runs a file of requests against a fresh broker, or records what another one answers.
fn compare(file: &str) {
    let path = Path::new(FOLDER).join(file);
    let script = std::fs::read_to_string(&path).unwrap();
    let with_our_logger = script.replace(KAFKAS_LOGGER, OUR_LOGGER);
    if let Ok(address) = std::env::var("OTTLA_RECORD_FROM") {
        let mut client = Client::new(address.parse().unwrap());
        drop(client.call(&create_request("t", 1, &[]), 7));
        let text = answered(&mut client, &script, KAFKA_APPLIES_AFTER);
        return std::fs::write(path, text).unwrap();
    }
    let broker = TestBroker::builder().set("node.id", "1").start();
    let mut client = Client::new(broker.address());
    create_topic(&mut client.connection, "t", 1);
    let script = with_our_logger;
    let ours = answered(&mut client, &script, Duration::ZERO);
    let wrong: Vec<_> = (1..)
        .zip(ours.lines().zip(script.lines()))
        .filter(|(_, (our, their))| *our != without_java(their) && !is_meant(our))
        .map(|(line, (our, their))| format!("{file}, line {line}:\n  Kafka {their}\n  here  {our}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(ours.lines().count(), script.lines().count());
}

#[test]
fn every_change_is_answered_as_by_kafka() {
    compare("cases.txt");
}

#[test]
fn what_can_be_changed_while_it_runs_is_what_kafka_changes() {
    compare("scopes.txt");
}
