//! ApiVersions and the version gate: what is answered, in which layout, and what closes the connection.

use ottla_model::ErrorCode;
use ottla_protocol::api::ApiKey;
use ottla_protocol::header::decode_response;
use ottla_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_testkit::{Connection, TestBroker, frame};

fn request(name: &str) -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: name.into(),
        client_software_version: "1.0".into(),
        ..ApiVersionsRequest::default()
    }
}

fn range(response: &ApiVersionsResponse, api: ApiKey) -> Option<(i16, i16)> {
    let found = response.api_keys.iter().find(|row| row.api_key == api.number())?;
    Some((found.min_version, found.max_version))
}

fn works(connection: &mut Connection) {
    assert_eq!(connection.call(&request("tests"), 3).error_code, ErrorCode::NONE);
}

#[test]
fn every_version_lists_the_same_ranges() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    for version in 0..=5 {
        let response = connection.call(&request("tests"), version);
        assert_eq!(response.error_code, ErrorCode::NONE);
        assert_eq!(range(&response, ApiKey::Produce), Some((0, 13)), "old librdkafka looks for Produce 0");
        assert_eq!(range(&response, ApiKey::Fetch), Some((4, 18)));
        assert_eq!(range(&response, ApiKey::Metadata), Some((0, 13)));
        assert_eq!(range(&response, ApiKey::InitProducerId), Some((0, 5)));
        assert_eq!(range(&response, ApiKey::BrokerRegistration), None, "a controller's API");
        assert!(response.api_keys.is_sorted_by_key(|row| row.api_key));
    }
}

#[test]
fn features_with_a_lowest_level_of_zero_are_shown_from_version_4() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let features = |response: &ApiVersionsResponse| -> Vec<String> {
        response.supported_features.iter().map(|feature| feature.name.to_string()).collect()
    };
    let third = connection.call(&request("tests"), 3);
    assert_eq!(features(&third), ["metadata.version"]);
    // The seven of a freshly formatted Apache Kafka 4.4.0.
    let mut finalized: Vec<_> =
        third.finalized_features.iter().map(|feature| (&*feature.name, feature.max_version_level)).collect();
    finalized.sort_unstable();
    let expected = [
        ("eligible.leader.replicas.version", 1),
        ("group.version", 1),
        ("kraft.version", 1),
        ("metadata.version", 33),
        ("share.version", 2),
        ("streams.version", 1),
        ("transaction.version", 2),
    ];
    assert_eq!(finalized, expected);
    assert_eq!(features(&connection.call(&request("tests"), 4)).len(), 7);
}

#[test]
fn the_answer_to_version_3_has_no_tags_in_its_header() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    connection.send_frame(&frame(&request("tests"), 3, 77));
    let answer = connection.receive_frame();
    assert_eq!(answer[..4], 77_i32.to_be_bytes());
    assert_eq!(answer[4..6], [0, 0], "the error code follows the number at once");
}

#[test]
fn a_version_from_the_future_is_answered_in_version_0_and_the_next_try_works() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    connection.send_frame(&[0, 18, 0, 99, 0, 0, 0, 7, 0xff, 0xff, 0, 0xde, 0xad]);
    let answer = decode_response::<ApiVersionsRequest>(connection.receive_frame(), 0).unwrap();
    assert_eq!(answer.error_code, ErrorCode::UNSUPPORTED_VERSION);
    assert_eq!(answer.api_keys.len(), 1);
    assert_eq!(range(&answer, ApiKey::ApiVersions), Some((0, 5)));
    works(&mut connection);
}

#[test]
fn a_malformed_software_name_is_refused_and_the_connection_stays() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    for bad in ["", "x y", "a_b", "-a", "a-"] {
        let answer = connection.call(&request(bad), 3);
        assert_eq!(answer.error_code, ErrorCode::INVALID_REQUEST, "{bad:?}");
        assert!(answer.api_keys.is_empty());
    }
    works(&mut connection);
}

#[test]
fn a_client_that_expects_another_cluster_is_told_to_bootstrap_again() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let expecting = |cluster: Option<&str>, node: i32| ApiVersionsRequest {
        cluster_id: cluster.map(Into::into),
        node_id: node.into(),
        ..request("tests")
    };
    let own = broker.running().cluster_id().to_owned();
    let node = connection.call(&MetadataRequest::default(), 9).controller_id.get();
    let code =
        |connection: &mut Connection, cluster, node| connection.call(&expecting(cluster, node), 5).error_code;
    assert_eq!(code(&mut connection, Some(&own), node), ErrorCode::NONE);
    assert_eq!(code(&mut connection, Some(&own), -1), ErrorCode::INVALID_REQUEST);
    assert_eq!(code(&mut connection, None, node), ErrorCode::INVALID_REQUEST);
    assert_eq!(code(&mut connection, Some("another"), node), ErrorCode::REBOOTSTRAP_REQUIRED);
    assert_eq!(code(&mut connection, Some(&own), node + 1), ErrorCode::REBOOTSTRAP_REQUIRED);
    works(&mut connection);
}

#[test]
fn authentication_on_an_open_listener_is_refused_and_the_connection_stays() {
    use ottla_protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
    use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;

    let broker = TestBroker::start();
    let mut connection = broker.connect();
    for version in 0..=1 {
        let answer = connection.call(&SaslHandshakeRequest { mechanism: "PLAIN".into() }, version);
        assert_eq!(answer.error_code, ErrorCode::ILLEGAL_SASL_STATE);
        assert!(answer.mechanisms.is_empty());
    }
    for version in 0..=2 {
        let answer = connection.call(&SaslAuthenticateRequest::default(), version);
        assert_eq!(answer.error_code, ErrorCode::ILLEGAL_SASL_STATE);
    }
    works(&mut connection);
}

#[test]
fn what_is_not_served_closes_without_an_answer() {
    let broker = TestBroker::start();
    // An unknown key, a version too new, one too old, a controller's key, half a header, a body cut short.
    let frames: [&[u8]; 6] = [
        &[0x03, 0xe7, 0, 0, 0, 0, 0, 1, 0xff, 0xff],
        &[0, 3, 0, 99, 0, 0, 0, 1, 0xff, 0xff],
        &[0, 0, 0, 2, 0, 0, 0, 1, 0xff, 0xff],
        &[0, 62, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0],
        &[0, 3],
        &[0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 5],
    ];
    for frame in frames {
        let mut connection = broker.connect();
        connection.send_frame(frame);
        connection.expect_end();
    }
}

#[test]
fn bytes_after_a_request_are_ignored() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let mut bytes =
        frame(&MetadataRequest { topics: Some(vec![]), ..MetadataRequest::default() }, 1, 5).to_vec();
    bytes.extend_from_slice(&[9, 9, 9, 9]);
    connection.send_frame(&bytes);
    let answer = decode_response::<MetadataRequest>(connection.receive_frame(), 1).unwrap();
    assert_eq!(answer.brokers.len(), 1);
}

#[test]
fn every_advertised_version_of_every_api_decodes_a_minimal_request() {
    use ottla_protocol::api::Request;
    use ottla_protocol::messages as m;

    let broker = TestBroker::start();
    fn all_versions<R: Request>(broker: &TestBroker, request: &R) {
        for version in R::API.api().versions.iter() {
            // The answer decodes in its version, or this panics.
            let _ = broker.connect().call(request, version);
        }
    }
    all_versions(&broker, &m::produce::ProduceRequest { acks: 1, ..Default::default() });
    all_versions(&broker, &m::fetch::FetchRequest::default());
    all_versions(&broker, &m::list_offsets::ListOffsetsRequest::default());
    all_versions(&broker, &MetadataRequest::default());
    all_versions(&broker, &request("tests"));
    all_versions(&broker, &m::create_topics::CreateTopicsRequest::default());
    all_versions(&broker, &m::delete_topics::DeleteTopicsRequest::default());
    all_versions(
        &broker,
        &m::init_producer_id::InitProducerIdRequest { transactional_id: None, ..Default::default() },
    );
    all_versions(&broker, &m::offset_for_leader_epoch::OffsetForLeaderEpochRequest::default());
    all_versions(&broker, &m::describe_configs::DescribeConfigsRequest::default());
    all_versions(&broker, &m::describe_cluster::DescribeClusterRequest::default());
    all_versions(&broker, &m::describe_topic_partitions::DescribeTopicPartitionsRequest::default());
}
