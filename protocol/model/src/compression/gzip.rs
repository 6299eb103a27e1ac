//! Gzip streams, one member or several in a row.

use std::io::{self, Write};

use flate2::Compression as Level;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::GZIP_LEVEL_DEFAULT;

pub(super) type Decoder<'a> = MultiGzDecoder<&'a [u8]>;

pub(super) fn compress(input: &[u8], level: i32, output: &mut Vec<u8>) -> io::Result<()> {
    let level = match u32::try_from(level) {
        Ok(level) => Level::new(level),
        Err(_) => {
            debug_assert_eq!(level, GZIP_LEVEL_DEFAULT);
            Level::default()
        }
    };
    let mut encoder = GzEncoder::new(output, level);
    encoder.write_all(input)?;
    encoder.finish().map(|_| ())
}
