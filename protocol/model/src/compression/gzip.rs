//! Gzip streams, one member or several in a row.

use std::io::Write;

use flate2::Compression as Level;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::GZIP_LEVEL_DEFAULT;

pub(super) type Decoder<'a> = MultiGzDecoder<&'a [u8]>;

pub(super) type Encoder<W> = GzEncoder<W>;

pub(super) fn encoder<W: Write>(level: i32, output: W) -> Encoder<W> {
    let level = match u32::try_from(level) {
        Ok(level) => Level::new(level),
        Err(_) => {
            debug_assert_eq!(level, GZIP_LEVEL_DEFAULT);
            Level::default()
        }
    };
    GzEncoder::new(output, level)
}
