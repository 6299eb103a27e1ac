//! Whole frames: the header that goes with each version, and the exceptions.

use bytes::Bytes;
use ottla_protocol::api::{ApiKey, Request, RequestVisitor};
use ottla_protocol::codec::{Encoded, VersionRange};
use ottla_protocol::header::{
    RequestFrame, RequestFrameError, decode_response, encode_request, encode_response,
    response_correlation_id,
};
use ottla_protocol::messages::metadata::MetadataRequest;
use serde_json::Value;

use crate::data::{bytes, hex, lines, number, text};

#[test]
fn request_frames_are_those_of_kafka() {
    let lines = lines("vectors/frames-requests.jsonl.gz");
    assert_eq!(lines.len(), every_version());
    for line in lines {
        api_of(&line).visit(CheckRequest(&line));
    }
}

#[test]
fn response_frames_are_those_of_kafka() {
    let lines = lines("vectors/frames-responses.jsonl.gz");
    assert_eq!(lines.len(), every_version());
    for line in lines {
        api_of(&line).visit(CheckResponse(&line));
    }
}

#[test]
fn a_key_that_is_not_known_or_not_served_is_refused_by_its_number() {
    let frame = request(4711, 0, 1);
    let unknown = RequestFrameError::UnknownKey { key: 4711 };
    assert_eq!(RequestFrame::parse(frame, all_versions).unwrap_err(), unknown);

    let frame = request(ApiKey::Fetch.number(), 12, 1);
    assert_eq!(RequestFrame::parse(frame, |_| None).unwrap_err(), RequestFrameError::UnknownKey { key: 1 });
}

#[test]
fn an_api_versions_request_of_an_unknown_version_keeps_its_correlation_id() {
    let frame = request(ApiKey::ApiVersions.number(), 99, 0x0102_0304);
    let expected = RequestFrameError::UnsupportedVersion {
        api: ApiKey::ApiVersions,
        version: 99,
        served: VersionRange::new(0, 5),
        correlation_id: 0x0102_0304,
    };
    assert_eq!(RequestFrame::parse(frame, all_versions).unwrap_err(), expected);
}

#[test]
fn a_request_is_refused_in_a_version_that_exists_but_is_not_served() {
    let served = VersionRange::new(4, 12);
    let frame = request(ApiKey::Fetch.number(), 13, 7);
    let expected =
        RequestFrameError::UnsupportedVersion { api: ApiKey::Fetch, version: 13, served, correlation_id: 7 };
    assert_eq!(RequestFrame::parse(frame, |_| Some(served)).unwrap_err(), expected);
}

#[test]
fn a_header_cut_short_is_an_error() {
    let line = lines("vectors/frames-requests.jsonl.gz").remove(1);
    let frame = without_length(&line);
    let body =
        RequestFrame::parse(frame.clone(), all_versions).expect("the whole frame is a request").body_len();
    for length in 0..frame.len() - body {
        let error = RequestFrame::parse(frame.slice(..length), all_versions).unwrap_err();
        assert!(matches!(error, RequestFrameError::Header(_)), "cut at {length}: {error}");
    }
}

#[test]
fn bytes_behind_a_request_are_not_looked_at() {
    let request = MetadataRequest::default();
    let encoded =
        encode_request(&request, 12, 1, Some("me")).and_then(Encoded::into_bytes).expect("it encodes");
    let mut longer = encoded.to_vec();
    longer.extend_from_slice(b"more");
    let frame = RequestFrame::parse(longer.into(), all_versions).expect("the header is whole");
    assert_eq!(frame.decode::<MetadataRequest>(), Ok(request));
}

struct CheckRequest<'a>(&'a Value);

impl RequestVisitor for CheckRequest<'_> {
    type Output = ();

    fn visit<R: Request>(self) {
        let line = self.0;
        let version = number::<i16>(line, "version");
        let golden = without_length(line);
        let frame = RequestFrame::parse(golden.clone(), all_versions)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!((frame.api, frame.version), (R::API, version));
        let header_version = R::API.api().request_header_version(version);
        assert_eq!(header_version, number::<i16>(line, "headerVersion"), "{line}");
        assert_eq!(frame.correlation_id, number::<i32>(line, "correlationId"));
        assert_eq!(frame.client_id.as_deref(), line["clientId"].as_str());
        let request: R = frame.decode().unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(request == R::default(), "{line}");

        let encoded = encode_request(&request, version, frame.correlation_id, frame.client_id.as_deref());
        assert_eq!(whole(encoded.expect("it encodes")), hex(&golden), "{line}");
    }
}

struct CheckResponse<'a>(&'a Value);

impl RequestVisitor for CheckResponse<'_> {
    type Output = ();

    fn visit<R: Request>(self) {
        let line = self.0;
        let version = number::<i16>(line, "version");
        let golden = without_length(line);
        let correlation_id = number::<i32>(line, "correlationId");
        let header_version = R::API.api().response_header_version(version);
        assert_eq!(header_version, number::<i16>(line, "headerVersion"), "{line}");
        assert_eq!(response_correlation_id(&golden), Ok(correlation_id));
        let response =
            decode_response::<R>(golden.clone(), version).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(response == R::Response::default(), "{line}");

        let encoded = encode_response::<R>(&response, version, correlation_id).expect("it encodes");
        assert_eq!(whole(encoded), hex(&golden), "{line}");
    }
}

/// How many versions of APIs there are.
fn every_version() -> usize {
    ApiKey::ALL.iter().filter_map(|api| all_versions(*api)).map(|versions| versions.iter().count()).sum()
}

fn api_of(line: &Value) -> ApiKey {
    ApiKey::from_number(number(line, "key")).unwrap_or_else(|| panic!("{line} is not in the table"))
}

/// Everything, also what is unstable.
#[allow(clippy::unnecessary_wraps)]
fn all_versions(api: ApiKey) -> Option<VersionRange> {
    let VersionRange { first, last } = api.api().versions;
    Some(VersionRange::new(first, api.api().unstable.unwrap_or(last)))
}

fn without_length(line: &Value) -> Bytes {
    let mut frame = bytes(text(line, "hex"));
    let length = frame.split_to(4);
    assert_eq!(length, u32::try_from(frame.len()).expect("small").to_be_bytes().as_slice());
    frame
}

fn whole(encoded: Encoded) -> String {
    hex(&encoded.into_bytes().expect("there are no holes"))
}

/// A request with nothing but the fixed part of a header.
fn request(key: i16, version: i16, correlation_id: i32) -> Bytes {
    [&key.to_be_bytes()[..], &version.to_be_bytes(), &correlation_id.to_be_bytes()].concat().into()
}
