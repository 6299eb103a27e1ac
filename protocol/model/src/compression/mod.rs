//! Compression of a batch's records: which codecs there are, at which levels, in which framing Kafka writes and reads
//! them. Decompressing is always against a bound; both ways can be gone in steps. Batches are not known here.

mod gzip;
mod lz4;
mod snappy;
mod zstd;

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

/// How records are compressed; the numbers are those of the attributes' lowest three bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codec {
    /// Not at all.
    #[default]
    None,
    /// A gzip stream (RFC 1952).
    Gzip,
    /// Snappy blocks in the framing of xerial's library, or a single raw block.
    Snappy,
    /// An LZ4 frame with independent blocks.
    Lz4,
    /// A Zstandard stream (RFC 8878).
    Zstd,
}

impl Codec {
    /// All codecs, by ascending number.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The codec with this number, if there is one.
    #[must_use]
    pub const fn from_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::None),
            1 => Some(Self::Gzip),
            2 => Some(Self::Snappy),
            3 => Some(Self::Lz4),
            4 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The codec's number.
    #[must_use]
    pub const fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The codec's name in Kafka's properties of clients (`compression.type`), where none is `none`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The levels that the codec takes, both ends included; none where it has no levels. Gzip takes −1, its default,
    /// besides.
    #[must_use]
    pub const fn levels(self) -> Option<(i32, i32)> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some((1, 9)),
            Self::Lz4 => Some((1, 17)),
            Self::Zstd => Some((-131_072, 22)),
        }
    }

    /// The level that Kafka uses when none is given; 0 where there are no levels.
    #[must_use]
    pub const fn default_level(self) -> i32 {
        match self {
            Self::None | Self::Snappy => 0,
            Self::Gzip => GZIP_LEVEL_DEFAULT,
            Self::Lz4 => LZ4_LEVEL_DEFAULT,
            Self::Zstd => 3,
        }
    }
}

/// Kafka's number for "the library's own default".
const GZIP_LEVEL_DEFAULT: i32 = -1;
/// Kafka's default, which stands for the fast encoder rather than for a step between 8 and 10.
const LZ4_LEVEL_DEFAULT: i32 = 9;

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no codec has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is none of none, gzip, snappy, lz4, zstd")]
pub struct CodecNameError {
    name: String,
}

impl FromStr for Codec {
    type Err = CodecNameError;

    fn from_str(name: &str) -> Result<Self, CodecNameError> {
        let found = Self::ALL.into_iter().find(|codec| codec.name() == name);
        found.ok_or_else(|| CodecNameError { name: name.to_owned() })
    }
}

/// A level that a codec does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LevelError {
    /// Outside the codec's range.
    #[error("{codec} has levels from {min} to {max}, not {level}")]
    OutOfRange {
        /// The codec.
        codec: Codec,
        /// The level asked for.
        level: i32,
        /// The lowest level.
        min: i32,
        /// The highest level.
        max: i32,
    },
    /// The codec has none.
    #[error("{codec} has no levels")]
    None {
        /// The codec.
        codec: Codec,
    },
}

/// A codec together with the level to write at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Compression {
    codec: Codec,
    level: i32,
}

impl Compression {
    /// No compression.
    pub const NONE: Self = Self::of(Codec::None);

    /// The codec at its default level.
    #[must_use]
    pub const fn of(codec: Codec) -> Self {
        Self { codec, level: codec.default_level() }
    }

    /// The codec at this level.
    ///
    /// # Errors
    /// If the codec does not have the level.
    pub const fn with_level(codec: Codec, level: i32) -> Result<Self, LevelError> {
        let Some((min, max)) = codec.levels() else { return Err(LevelError::None { codec }) };
        let default_gzip = matches!(codec, Codec::Gzip) && level == GZIP_LEVEL_DEFAULT;
        if default_gzip || (min <= level && level <= max) {
            Ok(Self { codec, level })
        } else {
            Err(LevelError::OutOfRange { codec, level, min, max })
        }
    }

    /// The codec.
    #[must_use]
    pub const fn codec(self) -> Codec {
        self.codec
    }

    /// The level; 0 where the codec has none.
    #[must_use]
    pub const fn level(self) -> i32 {
        self.level
    }

    /// Appends the compressed form of `input` to `output`.
    ///
    /// # Errors
    /// If the codec's encoder fails, which takes a lack of memory.
    pub fn compress(self, input: &[u8], output: &mut Vec<u8>) -> Result<(), CompressionError> {
        let mut encoder = Encoder::new(self, output)?;
        encoder.write_all(input)?;
        encoder.finish()
    }
}

/// Compresses in steps.
pub(crate) struct Encoder<W: Write> {
    codec: Codec,
    stream: EncoderStream<W>,
}

enum EncoderStream<W: Write> {
    None(W),
    Gzip(gzip::Encoder<W>),
    Snappy(Box<snappy::Encoder<W>>),
    Lz4(lz4::Encoder<W>),
    Zstd(zstd::Encoder<W>),
}

impl<W: Write> Encoder<W> {
    pub(crate) fn new(compression: Compression, output: W) -> Result<Self, CompressionError> {
        let Compression { codec, level } = compression;
        let stream = match codec {
            Codec::None => Ok(EncoderStream::None(output)),
            Codec::Gzip => Ok(EncoderStream::Gzip(gzip::encoder(level, output))),
            Codec::Snappy => snappy::Encoder::new(output).map(Box::new).map(EncoderStream::Snappy),
            Codec::Lz4 => lz4::Encoder::new(level, output).map(EncoderStream::Lz4),
            Codec::Zstd => zstd::encoder(level, output).map(EncoderStream::Zstd),
        };
        let stream = stream.map_err(|source| CompressionError::Codec { codec, source })?;
        Ok(Self { codec, stream })
    }

    pub(crate) fn write_all(&mut self, input: &[u8]) -> Result<(), CompressionError> {
        let written = match &mut self.stream {
            EncoderStream::None(output) => output.write_all(input),
            EncoderStream::Gzip(encoder) => encoder.write_all(input),
            EncoderStream::Snappy(encoder) => encoder.write_all(input),
            EncoderStream::Lz4(encoder) => encoder.write_all(input),
            EncoderStream::Zstd(encoder) => encoder.write_all(input),
        };
        written.map_err(|source| CompressionError::Codec { codec: self.codec, source })
    }

    /// Writes what is still held back, and the end.
    pub(crate) fn finish(self) -> Result<(), CompressionError> {
        let finished = match self.stream {
            EncoderStream::None(_) => Ok(()),
            EncoderStream::Gzip(encoder) => encoder.finish().map(|_| ()),
            EncoderStream::Snappy(encoder) => encoder.finish(),
            EncoderStream::Lz4(encoder) => encoder.finish(),
            EncoderStream::Zstd(encoder) => encoder.finish().map(|_| ()),
        };
        finished.map_err(|source| CompressionError::Codec { codec: self.codec, source })
    }
}

/// Why data could not be compressed or decompressed.
#[derive(Debug, thiserror::Error)]
pub enum CompressionError {
    /// The codec says why.
    #[error("{codec}: {source}")]
    Codec {
        /// The codec.
        codec: Codec,
        /// Its own words.
        source: io::Error,
    },
    /// The data would grow beyond the bound.
    #[error("{compressed_bytes} bytes of {codec} hold more than the {limit_bytes} bytes allowed")]
    TooLarge {
        /// The codec.
        codec: Codec,
        /// The size before decompression.
        compressed_bytes: usize,
        /// The bound on the size after it.
        limit_bytes: usize,
    },
}

/// Decompresses all of `input`.
///
/// # Errors
/// If the data are not what the codec writes, or hold more than `limit_bytes`; no more than that is produced.
pub fn decompress(codec: Codec, input: &[u8], limit_bytes: usize) -> Result<Vec<u8>, CompressionError> {
    Decoder::new(codec, input, limit_bytes)?.read_all()
}

/// The same for messages of magic 0, in which the checksum of an LZ4 frame's header covers four bytes too many and
/// Kafka does not look at it.
pub(crate) fn decompress_magic_0(
    codec: Codec,
    input: &[u8],
    limit_bytes: usize,
) -> Result<Vec<u8>, CompressionError> {
    if codec != Codec::Lz4 {
        return decompress(codec, input, limit_bytes);
    }
    let decoder =
        lz4::Decoder::new(input, true).map_err(|source| CompressionError::Codec { codec, source })?;
    Decoder::with_stream(codec, input, limit_bytes, Stream::Lz4(decoder)).read_all()
}

/// The largest buffer that is taken before anything has been decompressed.
const GUESS_BYTES_MAX: usize = 1 << 20;
/// The least that a buffer grows by.
const STEP_BYTES: usize = 32 << 10;

/// Decompresses in steps, never more than a bound in total.
pub(crate) struct Decoder<'a> {
    codec: Codec,
    compressed_bytes: usize,
    limit_bytes: usize,
    left_bytes: usize,
    stream: Stream<'a>,
}

enum Stream<'a> {
    None(&'a [u8]),
    Gzip(Box<gzip::Decoder<'a>>),
    Snappy(snappy::Decoder<'a>),
    Lz4(lz4::Decoder<'a>),
    Zstd(zstd::Decoder<'a>),
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(codec: Codec, input: &'a [u8], limit_bytes: usize) -> Result<Self, CompressionError> {
        let stream = match codec {
            Codec::None => Ok(Stream::None(input)),
            Codec::Gzip => Ok(Stream::Gzip(Box::new(gzip::Decoder::new(input)))),
            Codec::Snappy => Ok(Stream::Snappy(snappy::Decoder::new(input, limit_bytes))),
            Codec::Lz4 => lz4::Decoder::new(input, false).map(Stream::Lz4),
            Codec::Zstd => zstd::decoder(input).map(Stream::Zstd),
        };
        let stream = stream.map_err(|source| CompressionError::Codec { codec, source })?;
        Ok(Self::with_stream(codec, input, limit_bytes, stream))
    }

    const fn with_stream(codec: Codec, input: &[u8], limit_bytes: usize, stream: Stream<'a>) -> Self {
        Self { codec, compressed_bytes: input.len(), limit_bytes, left_bytes: limit_bytes, stream }
    }

    /// Reads all there is.
    fn read_all(mut self) -> Result<Vec<u8>, CompressionError> {
        // What a batch of text usually grows by; a wrong guess costs a move.
        let mut output = Vec::with_capacity(
            self.compressed_bytes.saturating_mul(4).min(self.limit_bytes).min(GUESS_BYTES_MAX),
        );
        loop {
            let filled = output.len();
            if filled == output.capacity() {
                output.reserve(STEP_BYTES);
            }
            output.resize(output.capacity(), 0);
            let room = output.get_mut(filled..).unwrap_or_default();
            let read = self.read(room)?;
            output.truncate(filled + read);
            if read == 0 {
                output.shrink_to_fit();
                return Ok(output);
            }
        }
    }

    /// Fills the front of `output` and says how much of it; 0 means the end, if `output` has any room.
    pub(crate) fn read(&mut self, output: &mut [u8]) -> Result<usize, CompressionError> {
        let read = match &mut self.stream {
            Stream::None(input) => input.read(output),
            Stream::Gzip(decoder) => decoder.read(output),
            Stream::Snappy(decoder) => decoder.read(output),
            Stream::Lz4(decoder) => decoder.read(output),
            Stream::Zstd(decoder) => decoder.read(output),
        };
        match read {
            Ok(read) => {
                self.left_bytes = self.left_bytes.checked_sub(read).ok_or_else(|| self.too_large())?;
                Ok(read)
            }
            Err(source) if source.kind() == io::ErrorKind::FileTooLarge => Err(self.too_large()),
            Err(source) => Err(CompressionError::Codec { codec: self.codec, source }),
        }
    }

    /// How much has been read.
    pub(crate) const fn produced_bytes(&self) -> usize {
        self.limit_bytes - self.left_bytes
    }

    fn too_large(&self) -> CompressionError {
        CompressionError::TooLarge {
            codec: self.codec,
            compressed_bytes: self.compressed_bytes,
            limit_bytes: self.limit_bytes,
        }
    }
}

fn corrupt(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
