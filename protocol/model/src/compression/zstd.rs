//! Zstandard streams.

use std::io::{self, Write};

use ::zstd::stream::{read, write};

pub(super) type Decoder<'a> = read::Decoder<'static, &'a [u8]>;

pub(super) fn decoder(input: &[u8]) -> io::Result<Decoder<'_>> {
    read::Decoder::with_buffer(input)
}

pub(super) type Encoder<W> = write::Encoder<'static, W>;

pub(super) fn encoder<W: Write>(level: i32, output: W) -> io::Result<Encoder<W>> {
    write::Encoder::new(output, level)
}
