//! Snappy as Kafka's clients write it. The Java clients use the framing of xerial's library: a header of 16 bytes, then
//! blocks, each behind its length as a big-endian `i32`. Librdkafka writes one raw block and nothing around it. Both are
//! read, the framing is written.

use std::io::{self, Read, Write};

use super::corrupt;

/// The framing's magic, then its version and the oldest version that can read it, both 1.
const HEADER: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
/// The magic alone: a reader takes any version.
const MAGIC_BYTES: usize = 8;
/// What one block holds before compression, as Kafka's producer chooses it.
const BLOCK_BYTES: usize = 32 << 10;
/// A block's data grow by no more than this: the shortest copy element has 2 bytes and yields 64 at most.
const GROWTH_MAX: usize = 64;

/// Gathers a block at a time; input that has a whole block's size already is compressed where it lies.
pub(super) struct Encoder<W: Write> {
    output: W,
    raw: snap::raw::Encoder,
    /// Input that is no whole block yet.
    gathered: Vec<u8>,
    block: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(mut output: W) -> io::Result<Self> {
        output.write_all(&HEADER)?;
        Ok(Self { output, raw: snap::raw::Encoder::new(), gathered: Vec::new(), block: Vec::new() })
    }

    pub(super) fn write_all(&mut self, mut input: &[u8]) -> io::Result<()> {
        if !self.gathered.is_empty() {
            let (first, rest) = input.split_at(input.len().min(BLOCK_BYTES - self.gathered.len()));
            self.gathered.extend_from_slice(first);
            input = rest;
            if self.gathered.len() < BLOCK_BYTES {
                return Ok(());
            }
            self.write_gathered()?;
        }
        let (blocks, rest) = input.as_chunks::<BLOCK_BYTES>();
        for block in blocks {
            self.write_block(block)?;
        }
        self.gathered.extend_from_slice(rest);
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.gathered.is_empty() { Ok(()) } else { self.write_gathered() }
    }

    fn write_gathered(&mut self) -> io::Result<()> {
        let mut gathered = std::mem::take(&mut self.gathered);
        self.write_block(&gathered)?;
        gathered.clear();
        self.gathered = gathered;
        Ok(())
    }

    fn write_block(&mut self, input: &[u8]) -> io::Result<()> {
        let size_max = snap::raw::max_compress_len(input.len());
        if self.block.len() < size_max {
            self.block.resize(size_max, 0);
        }
        let size = self.raw.compress(input, &mut self.block)?;
        let length = i32::try_from(size).map_err(|_| corrupt("a block outgrows its length field"))?;
        self.output.write_all(&length.to_be_bytes())?;
        self.output.write_all(self.block.get(..size).unwrap_or_default())
    }
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
