//! What stands before the body of a request or an answer, and the frames made of both. A frame here has no length in
//! front: that is the network's. Says which request it is; does not answer.

use bytes::Bytes;
use compact_str::CompactString;

use crate::Message;
use crate::api::{ApiKey, Request};
use crate::codec::{DecodeError, EncodeError, Encoded, Reader, VersionRange, Writer};

/// What stands before each request. Version 2 adds tagged fields and goes with the flexible versions of the request.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 1..=2, flexible = 2)]
pub struct RequestHeader {
    /// The API key.
    pub request_api_key: i16,
    /// The version of the request, and so of its answer.
    pub request_api_version: i16,
    /// The client's number for the request, which comes back with the answer.
    pub correlation_id: i32,
    /// What the client calls itself. Its length has 16 bits in version 2, too.
    #[field(nullable, default = empty, flexible = none)]
    pub client_id: Option<CompactString>,
}

/// What stands before each answer. Version 1 adds tagged fields and goes with the flexible versions of the answer,
/// those of ApiVersions aside.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=1, flexible = 1)]
pub struct ResponseHeader {
    /// The number of the request that is answered.
    pub correlation_id: i32,
}

/// Why a frame is not a request that can be served. Kafka closes the connection for all of them, save an ApiVersions
/// request of an unknown version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestFrameError {
    /// A key that is not known, or not served here.
    #[error("API key {key} is not served")]
    UnknownKey {
        /// The key found.
        key: i16,
    },
    /// A version that is not served. The rest of the frame was not looked at.
    #[error("{api} has the versions {served}, not {version}")]
    UnsupportedVersion {
        /// Which request it is.
        api: ApiKey,
        /// The version found.
        version: i16,
        /// The versions served.
        served: VersionRange,
        /// The client's number for the request.
        correlation_id: i32,
    },
    /// A header that cannot be read.
    #[error("the header of a request: {0}")]
    Header(#[from] DecodeError),
}

/// A request whose header was read.
#[derive(Debug, Clone)]
pub struct RequestFrame {
    /// Which request it is.
    pub api: ApiKey,
    /// The version of the request, and so of its answer.
    pub version: i16,
    /// The client's number for the request.
    pub correlation_id: i32,
    /// What the client calls itself.
    pub client_id: Option<CompactString>,
    body: Reader,
}

impl RequestFrame {
    /// Reads a frame's header. `served` says which versions of a request are served here, if any.
    ///
    /// # Errors
    /// When the request is not served or its header is damaged.
    pub fn parse(
        frame: Bytes,
        served: impl FnOnce(ApiKey) -> Option<VersionRange>,
    ) -> Result<Self, RequestFrameError> {
        let mut reader = Reader::new(frame.clone());
        let key = reader.field("requestApiKey")?;
        let version = reader.field("requestApiVersion")?;
        let correlation_id = reader.field("correlationId")?;

        let api = ApiKey::from_number(key);
        let Some((api, served)) = api.and_then(|api| Some((api, served(api)?))) else {
            return Err(RequestFrameError::UnknownKey { key });
        };
        if !served.contains(version) {
            return Err(RequestFrameError::UnsupportedVersion { api, version, served, correlation_id });
        }
        let mut body = Reader::new(frame);
        let header = RequestHeader::decode_from(&mut body, api.api().request_header_version(version))?;
        Ok(Self { api, version, correlation_id, client_id: header.client_id, body })
    }

    /// Reads the body. Bytes that follow it are not looked at, as in Kafka.
    ///
    /// # Errors
    /// When the body is not the message.
    ///
    /// # Panics
    /// If it is another request's.
    pub fn decode<R: Request>(&self) -> Result<R, DecodeError> {
        assert_eq!(self.api, R::API, "a request is decoded as what its header says");
        R::decode_from(&mut self.body.clone(), self.version)
    }

    /// How many bytes the body has, and what follows it.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.body.remaining()
    }
}

/// Makes the frame of a request, in a version that its receiver serves.
///
/// # Errors
/// When the version does not exist or cannot carry the value.
pub fn encode_request<R: Request>(
    request: &R,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
) -> Result<Encoded, EncodeError> {
    let header = RequestHeader {
        request_api_key: R::API.number(),
        request_api_version: version,
        correlation_id,
        client_id: client_id.map(CompactString::from),
    };
    let mut writer = Writer::new();
    header.encode_into(&mut writer, R::API.api().request_header_version(version))?;
    request.encode_into(&mut writer, version)?;
    Ok(writer.finish())
}

/// Makes the frame of an answer, in the version of its request.
///
/// # Errors
/// When the version does not exist or cannot carry the value.
pub fn encode_response<R: Request>(
    response: &R::Response,
    version: i16,
    correlation_id: i32,
) -> Result<Encoded, EncodeError> {
    let mut writer = Writer::new();
    let header = ResponseHeader { correlation_id };
    header.encode_into(&mut writer, R::API.api().response_header_version(version))?;
    response.encode_into(&mut writer, version)?;
    Ok(writer.finish())
}

/// The number of the request that a frame answers; it stands first in every version.
///
/// # Errors
/// When the frame is too short.
pub fn response_correlation_id(frame: &Bytes) -> Result<i32, DecodeError> {
    Reader::new(frame.clone()).field("correlationId")
}

/// Reads an answer, in the version of its request. (ApiVersions answers an unknown version in version 0.)
///
/// # Errors
/// When the frame is not the message.
pub fn decode_response<R: Request>(frame: Bytes, version: i16) -> Result<R::Response, DecodeError> {
    let mut reader = Reader::new(frame);
    ResponseHeader::decode_from(&mut reader, R::API.api().response_header_version(version))?;
    R::Response::decode_from(&mut reader, version)
}
