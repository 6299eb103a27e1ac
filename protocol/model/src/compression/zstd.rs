//! Zstandard streams.

use std::io::{self, Write};

use ::zstd::stream::{read, write};

pub(super) type Decoder<'a> = read::Decoder<'static, &'a [u8]>;

pub(super) fn decoder(input: &[u8]) -> io::Result<Decoder<'_>> {
    read::Decoder::with_buffer(input)
}

pub(super) fn compress(input: &[u8], level: i32, output: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = write::Encoder::new(output, level)?;
    encoder.write_all(input)?;
    encoder.finish().map(|_| ())
}
