//! LZ4 frames as Kafka writes them: blocks of 64 KiB that stand for themselves, no checksum but the header's. Read is
//! what Kafka reads: blocks that lean on their predecessors and reserved bits are refused, larger blocks and checksums
//! of blocks are not. A content checksum is stepped over, and so is whatever follows the frame.

use std::io::{self, Read, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use super::{LZ4_LEVEL_DEFAULT, corrupt};

const MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();

const VERSION: u8 = 0b1100_0000;
const VERSION_1: u8 = 0b0100_0000;
const INDEPENDENT_BLOCKS: u8 = 0b0010_0000;
const BLOCK_CHECKSUMS: u8 = 0b0001_0000;
const CONTENT_SIZE: u8 = 0b0000_1000;
const FLAGS_RESERVED: u8 = 0b0000_0011;
const BLOCK_SIZE: u8 = 0b0111_0000;
const DESCRIPTOR_RESERVED: u8 = 0b1000_1111;

const BLOCK_IS_PLAIN: u32 = 1 << 31;
/// A byte of a block stands for no more than this: it is the step in which match lengths are written.
const GROWTH_MAX: usize = 255;
/// The lowest level of liblz4 that searches; those below are its fast encoder.
const HARDER_LEVEL_MIN: u32 = 3;

/// The default level stands for the fast encoder, as in Kafka, where it is no step between 8 and 10 either. The other
/// levels search for longer matches; up to 3 and from 12 on they are all the same.
pub(super) enum Encoder<W: Write> {
    Fast(Box<FrameEncoder<W>>),
    Harder(lz4::Encoder<W>),
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(level: i32, output: W) -> io::Result<Self> {
        if level != LZ4_LEVEL_DEFAULT {
            return Self::harder(level.unsigned_abs().max(HARDER_LEVEL_MIN), output);
        }
        let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
        Ok(Self::Fast(Box::new(FrameEncoder::with_frame_info(info, output))))
    }

    fn harder(level: u32, output: W) -> io::Result<Self> {
        let encoder = lz4::EncoderBuilder::new()
            .block_mode(lz4::BlockMode::Independent)
            .block_size(lz4::BlockSize::Max64KB)
            .block_checksum(lz4::liblz4::BlockChecksum::NoBlockChecksum)
            .checksum(lz4::ContentChecksum::NoChecksum)
            .level(level)
            .build(output)?;
        Ok(Self::Harder(encoder))
    }

    pub(super) fn write_all(&mut self, input: &[u8]) -> io::Result<()> {
        match self {
            Self::Fast(encoder) => encoder.write_all(input),
            Self::Harder(encoder) => encoder.write_all(input),
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Fast(encoder) => encoder.finish().map(|_| ()).map_err(io::Error::other),
            Self::Harder(encoder) => encoder.finish().1,
        }
    }
}

/// Yields one block after the other.
pub(super) struct Decoder<'a> {
    rest: &'a [u8],
    block_bytes_max: usize,
    block_checksums: bool,
    ended: bool,
    block: Vec<u8>,
    taken: usize,
    filled: usize,
}

impl<'a> Decoder<'a> {
    /// Reads the frame's header. Its checksum is not compared with `checksum_is_odd`.
    pub(super) fn new(input: &'a [u8], checksum_is_odd: bool) -> io::Result<Self> {
        let cut = || corrupt("the data end inside the frame's header");
        let after_magic = input.strip_prefix(&MAGIC).ok_or_else(|| corrupt("no frame begins here"))?;
        let [flags, descriptor, ..] = *after_magic else { return Err(cut()) };
        if flags & VERSION != VERSION_1 {
            return Err(corrupt("the frame's version is not 1"));
        }
        if flags & INDEPENDENT_BLOCKS == 0 {
            return Err(corrupt("the frame's blocks depend on each other"));
        }
        if flags & FLAGS_RESERVED != 0 || descriptor & DESCRIPTOR_RESERVED != 0 {
            return Err(corrupt("a reserved bit of the frame's header is set"));
        }
        let block_bytes_max = match (descriptor & BLOCK_SIZE) >> 4 {
            4 => 64 << 10,
            5 => 256 << 10,
            6 => 1 << 20,
            7 => 4 << 20,
            _ => return Err(corrupt("the frame's block size is none that exists")),
        };
        let described = if flags & CONTENT_SIZE == 0 { 2 } else { 2 + 8 };
        let (described, rest) = after_magic.split_at_checked(described).ok_or_else(cut)?;
        let (checksum, rest) = rest.split_first().ok_or_else(cut)?;
        if !checksum_is_odd && *checksum != xxh32(described).to_le_bytes()[1] {
            return Err(corrupt("the frame's header does not match its checksum"));
        }
        let block_checksums = flags & BLOCK_CHECKSUMS != 0;
        Ok(Self {
            rest,
            block_bytes_max,
            block_checksums,
            ended: false,
            block: Vec::new(),
            taken: 0,
            filled: 0,
        })
    }

    fn read_block(&mut self) -> io::Result<()> {
        let length = u32::from_le_bytes(self.take_4()?);
        if length == 0 {
            self.ended = true;
            return Ok(());
        }
        let size = usize::try_from(length & !BLOCK_IS_PLAIN).unwrap_or(usize::MAX);
        if size > self.block_bytes_max {
            return Err(corrupt("a block is larger than the frame's header says"));
        }
        let (data, rest) = self.rest.split_at_checked(size).ok_or_else(cut_in_block)?;
        self.rest = rest;
        if self.block_checksums && self.take_4()? != xxh32(data).to_le_bytes() {
            return Err(corrupt("a block does not match its checksum"));
        }
        self.taken = 0;
        if length & BLOCK_IS_PLAIN != 0 {
            self.block.clear();
            self.block.extend_from_slice(data);
            self.filled = size;
            return Ok(());
        }
        let room = size.saturating_mul(GROWTH_MAX).min(self.block_bytes_max);
        if self.block.len() < room {
            self.block.resize(room, 0);
        }
        self.filled = lz4_flex::block::decompress_into(data, &mut self.block)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(())
    }

    fn take_4(&mut self) -> io::Result<[u8; 4]> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>().ok_or_else(cut_in_block)?;
        self.rest = rest;
        Ok(*bytes)
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.filled {
            if self.ended {
                return Ok(0);
            }
            self.read_block()?;
        }
        let read = self.block.get(self.taken..self.filled).unwrap_or_default().read(output)?;
        self.taken += read;
        Ok(read)
    }
}

fn cut_in_block() -> io::Error {
    corrupt("the data end before the frame does")
}

/// The xxHash of 32 bits with seed 0, which the frame format uses for its checksums.
fn xxh32(data: &[u8]) -> u32 {
    const PRIMES: [u32; 5] = [2_654_435_761, 2_246_822_519, 3_266_489_917, 668_265_263, 374_761_393];
    let [p1, p2, p3, p4, p5] = PRIMES;
    let (stripes, tail) = data.as_chunks::<16>();
    let mut hash = if stripes.is_empty() {
        p5
    } else {
        let mut lanes = [p1.wrapping_add(p2), p2, 0, 0_u32.wrapping_sub(p1)];
        for stripe in stripes {
            let (words, _) = stripe.as_chunks::<4>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                let mixed = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(p2));
                *lane = mixed.rotate_left(13).wrapping_mul(p1);
            }
        }
        let turns = [1, 7, 12, 18];
        lanes.iter().zip(turns).fold(0, |sum: u32, (lane, by)| sum.wrapping_add(lane.rotate_left(by)))
    };
    // The length enters modulo 2³² by the format's definition.
    #[expect(clippy::cast_possible_truncation)]
    let length = data.len() as u32;
    hash = hash.wrapping_add(length);
    let (words, bytes) = tail.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(p3)).rotate_left(17).wrapping_mul(p4);
    }
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(*byte).wrapping_mul(p5)).rotate_left(11).wrapping_mul(p1);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(p2);
    hash = (hash ^ (hash >> 13)).wrapping_mul(p3);
    hash ^ (hash >> 16)
}
