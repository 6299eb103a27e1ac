//! Snappy as Kafka's clients write it. The Java clients use the framing of xerial's library: a header of 16 bytes, then
//! blocks, each behind its length as a big-endian `i32`. Librdkafka writes one raw block and nothing around it. Both are
//! read, the framing is written.

use std::io::{self, Read};

use super::corrupt;

/// The framing's magic, then its version and the oldest version that can read it, both 1.
const HEADER: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
/// The magic alone: a reader takes any version.
const MAGIC_BYTES: usize = 8;
/// What one block holds before compression, as Kafka's producer chooses it.
const BLOCK_BYTES: usize = 32 << 10;
/// A block's data grow by no more than this: the shortest copy element has 2 bytes and yields 64 at most.
const GROWTH_MAX: usize = 64;

pub(super) fn compress(input: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
    output.extend_from_slice(&HEADER);
    let mut encoder = snap::raw::Encoder::new();
    let mut block = vec![0; snap::raw::max_compress_len(BLOCK_BYTES.min(input.len()))];
    for part in input.chunks(BLOCK_BYTES) {
        let size = encoder.compress(part, &mut block)?;
        let length = i32::try_from(size).map_err(|_| corrupt("a block outgrows its length field"))?;
        output.extend_from_slice(&length.to_be_bytes());
        output.extend_from_slice(block.get(..size).unwrap_or_default());
    }
    Ok(())
}

/// Yields one block after the other; a raw block is held whole.
pub(super) struct Decoder<'a> {
    rest: &'a [u8],
    framed: bool,
    limit_bytes: usize,
    block: Vec<u8>,
    taken: usize,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(input: &'a [u8], limit_bytes: usize) -> Self {
        let (magic, _) = HEADER.split_at(MAGIC_BYTES);
        let framed = input.len() >= HEADER.len() && input.starts_with(magic);
        let rest = if framed { input.get(HEADER.len()..).unwrap_or_default() } else { input };
        Self { rest, framed, limit_bytes, block: Vec::new(), taken: 0 }
    }

    /// The compressed form of the next block.
    fn next_block(&mut self) -> io::Result<&'a [u8]> {
        if !self.framed {
            return Ok(std::mem::take(&mut self.rest));
        }
        let cut = || corrupt("the data end inside a block");
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let length = usize::try_from(i32::from_be_bytes(*length))
            .map_err(|_| corrupt("a block's length is negative"))?;
        let (block, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        self.rest = rest;
        Ok(block)
    }

    fn decompress_block(&mut self) -> io::Result<()> {
        let compressed = self.next_block()?;
        let size = snap::raw::decompress_len(compressed)?;
        if size > compressed.len().saturating_mul(GROWTH_MAX) {
            return Err(corrupt("a block claims to hold more than its bytes can yield"));
        }
        if size > self.limit_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.block.resize(size, 0);
        self.taken = 0;
        snap::raw::Decoder::new().decompress(compressed, &mut self.block)?;
        Ok(())
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.block.len() {
            if self.rest.is_empty() {
                return Ok(0);
            }
            self.decompress_block()?;
        }
        let read = self.block.get(self.taken..).unwrap_or_default().read(output)?;
        self.taken += read;
        Ok(read)
    }
}
