//! From a response to what the network sends: response header and body in one pass, record data as slices of files.
//! Knows no API.

use bytes::Bytes;
use ottla_network::{FileSlice, Piece, Reply};
use ottla_protocol::api::ApiKey;
use ottla_protocol::codec::{self, Encoded};
use ottla_protocol::header::{RequestFrame, ResponseHeader};
use ottla_protocol::{EncodeError, Message, Records, Writer};
use ottla_storage::{ReadSlice, SliceSource};

use crate::metrics::meter::Meter;

/// How a request wants to be answered.
#[derive(Debug, Clone)]
pub(crate) struct ReplyTo {
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    /// The version of the response header.
    pub(crate) header_version: i16,
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
            meter,
        }
    }

    /// A reply without record data.
    pub(crate) fn reply<M: Message>(&self, response: &M) -> Reply {
        self.reply_with(response, Slices::default())
    }

    /// A reply whose holes are filled by slices. A response that its version cannot carry is a fault of ours: it is
    /// logged, and the connection closed, since the client would wait for ever.
    pub(crate) fn reply_with<M: Message>(&self, response: &M, slices: Slices) -> Reply {
        match self.encode(response) {
            Ok(encoded) => reply(encoded, slices),
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

fn reply(encoded: Encoded, slices: Slices) -> Reply {
    let mut pieces = pieces(encoded, slices);
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
