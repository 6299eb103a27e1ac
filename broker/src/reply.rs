//! From a response to what the network sends: response header and body in one pass, record data as slices of files.
//! Knows no API.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ottla_network::{FileSlice, Piece, Reply, Then};
use ottla_protocol::api::ApiKey;
use ottla_protocol::codec::{self, Encoded};
use ottla_protocol::header::{RequestFrame, ResponseHeader};
use ottla_protocol::{EncodeError, Message, Records, Writer};
use ottla_storage::{ReadSlice, SliceSource};

use crate::metrics::meter::Meter;
use crate::throttle;

/// How a request wants to be answered.
#[derive(Debug, Clone)]
pub(crate) struct ReplyTo {
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    /// The version of the response header.
    pub(crate) header_version: i16,
    /// The answer says so, and its connection is not read for so long after it.
    throttle: Duration,
    /// Counts the error codes.
    pub(crate) meter: Meter,
}

/// Slices that a response leaves holes for, each under the number that the hole bears.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    slices: Vec<ReadSlice>,
}

impl Slices {
    /// The records field for a slice; without one an empty field, never a null one.
    pub(crate) fn records(&mut self, slice: Option<ReadSlice>) -> Option<Records> {
        let Some(slice) = slice else { return Some(Records::default()) };
        let len = u32::try_from(slice.length).expect("a read is limited to less than 2^31 bytes");
        let id = u32::try_from(self.slices.len()).expect("a request names fewer than 2^32 partitions");
        self.slices.push(slice);
        Some(Records::Hole { len, id })
    }
}

impl ReplyTo {
    /// As this request wants it.
    pub(crate) fn request(frame: &RequestFrame, meter: Meter) -> Self {
        Self {
            api: frame.api,
            version: frame.version,
            correlation_id: frame.correlation_id,
            header_version: frame.api.api().response_header_version(frame.version),
            throttle: Duration::ZERO,
            meter,
        }
    }

    /// The answer to a version that is not served: in version 0.
    pub(crate) fn in_version_0(api: ApiKey, correlation_id: i32, meter: Meter) -> Self {
        Self { api, version: 0, correlation_id, header_version: 0, throttle: Duration::ZERO, meter }
    }

    /// The same, for a client that is held back for so long at least.
    pub(crate) fn throttled(self, time: Duration) -> Self {
        Self { throttle: self.throttle.max(time), ..self }
    }

    /// For how long the client is held back, as answers tell it.
    pub(crate) fn throttle_ms(&self) -> i32 {
        i32::try_from(self.throttle.as_millis()).unwrap_or(i32::MAX)
    }

    /// No answer, to a client that is held back like any other.
    pub(crate) fn silence(&self) -> Reply {
        self.then(Reply::nothing())
    }

    fn then(&self, reply: Reply) -> Reply {
        if self.throttle.is_zero() { reply } else { reply.then(Then::Mute(self.throttle)) }
    }

    /// Says in a response that was built already for how long its client is held back.
    fn tell(&self, mut pieces: Vec<Piece>) -> Vec<Piece> {
        let tags = usize::from(self.header_version >= 1);
        let field = size_of::<i32>() + tags..size_of::<i32>() * 2 + tags;
        let is_there = throttle::first_in(self.api).is_some_and(|first| first <= self.version);
        if let Some(Piece::Bytes(bytes)) = pieces.first_mut()
            && is_there
        {
            let mut told = BytesMut::from(&bytes[..]);
            if let Some(slot) = told.get_mut(field) {
                slot.copy_from_slice(&self.throttle_ms().to_be_bytes());
            }
            *bytes = told.freeze();
        }
        pieces
    }

    /// A reply without record data.
    pub(crate) fn reply<M: Message>(&self, response: &M) -> Reply {
        self.reply_with(response, Slices::default())
    }

    /// A reply whose holes are filled by slices. A response that its version cannot carry is a fault of ours: it is
    /// logged, and the connection closed, since the client would wait for ever.
    pub(crate) fn reply_with<M: Message>(&self, response: &M, slices: Slices) -> Reply {
        match self.encode(response) {
            Ok(encoded) if self.throttle.is_zero() => reply(pieces(encoded, slices)),
            Ok(encoded) => self.then(reply(self.tell(pieces(encoded, slices)))),
            Err(error) => {
                tracing::error!(response = M::NAME, version = self.version, %error, "a response cannot be encoded");
                Reply::close()
            }
        }
    }

    fn encode<M: Message>(&self, response: &M) -> Result<Encoded, EncodeError> {
        let mut writer = Writer::new();
        ResponseHeader { correlation_id: self.correlation_id }
            .encode_into(&mut writer, self.header_version)?;
        response.encode_into(&mut writer, self.version)?;
        self.meter.codes(self.api, writer.codes());
        Ok(writer.finish())
    }
}

fn reply(mut pieces: Vec<Piece>) -> Reply {
    match pieces.pop() {
        Some(Piece::Bytes(only)) if pieces.is_empty() => Reply::bytes(only),
        Some(last) => {
            pieces.push(last);
            Reply::pieces(pieces)
        }
        None => Reply::nothing(),
    }
}

fn pieces(encoded: Encoded, slices: Slices) -> Vec<Piece> {
    let mut slices: Vec<_> = slices.slices.into_iter().map(Some).collect();
    let fill = |piece| match piece {
        codec::Piece::Bytes(bytes) => Piece::Bytes(bytes),
        codec::Piece::Hole { id, .. } => {
            let slice = slices.get_mut(id as usize).and_then(Option::take);
            piece_of(slice.expect("each hole was left for one slice"))
        }
    };
    encoded.into_pieces().into_iter().map(fill).collect()
}

fn piece_of(slice: ReadSlice) -> Piece {
    let ReadSlice { source, position, length } = slice;
    match source {
        SliceSource::File(file) => Piece::File(FileSlice { file, position, length }),
        SliceSource::Memory(bytes) => Piece::Bytes(part(&bytes, position, length)),
    }
}

fn part(bytes: &Bytes, position: u64, length: u64) -> Bytes {
    let start = usize::try_from(position).expect("a slice lies within its bytes");
    let length = usize::try_from(length).expect("a slice lies within its bytes");
    bytes.slice(start..start + length)
}
