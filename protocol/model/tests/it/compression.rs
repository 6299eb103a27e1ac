//! Codecs: foreign framings, bounds, damaged data.

use ottla_model::compression::{Codec, Compression, CompressionError, LevelError, decompress};

const CODECS: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

/// Text with repetitions, longer than any codec's block.
fn sample() -> Vec<u8> {
    (0..40_000_u32).flat_map(|n| format!("line {} of it; ", n % 977).into_bytes()).collect()
}

fn compressed(compression: Compression, data: &[u8]) -> Vec<u8> {
    let mut output = b"before".to_vec();
    compression.compress(data, &mut output).expect("an encoder works");
    output.strip_prefix(b"before").expect("output is appended to").to_vec()
}

#[test]
fn every_codec_gives_back_what_it_took() {
    for codec in Codec::ALL {
        for data in [&b""[..], b"x", &[0; 100_000], &sample()] {
            let packed = compressed(Compression::of(codec), data);
            assert_eq!(decompress(codec, &packed, data.len()).expect("it decompresses"), data, "{codec}");
        }
    }
}

#[test]
fn every_level_gives_back_what_it_took_and_others_are_refused() {
    let data = sample();
    for (codec, levels) in [(Codec::Gzip, -1..=9), (Codec::Lz4, 1..=17), (Codec::Zstd, -7..=22)] {
        for level in levels.step_by(3) {
            let Ok(compression) = Compression::with_level(codec, level) else {
                assert_eq!((codec, level), (Codec::Gzip, 0), "only gzip's level 0 is missing");
                continue;
            };
            let packed = compressed(compression, &data);
            assert_eq!(
                decompress(codec, &packed, data.len()).expect("it decompresses"),
                data,
                "{codec} {level}"
            );
        }
    }
    for (codec, level) in [(Codec::Gzip, 0), (Codec::Gzip, 10), (Codec::Gzip, -2), (Codec::Lz4, 0)] {
        let refused = Compression::with_level(codec, level);
        assert!(matches!(refused, Err(LevelError::OutOfRange { .. })), "{codec} {level}");
    }
    for (codec, level) in [(Codec::Lz4, 18), (Codec::Zstd, 23), (Codec::Zstd, -131_073)] {
        let refused = Compression::with_level(codec, level);
        assert!(matches!(refused, Err(LevelError::OutOfRange { .. })), "{codec} {level}");
    }
    let refused = Compression::with_level(Codec::Snappy, 1);
    assert_eq!(refused, Err(LevelError::None { codec: Codec::Snappy }));
    for bound in [-131_072, 22] {
        assert!(Compression::with_level(Codec::Zstd, bound).is_ok());
    }
}

#[test]
fn a_higher_level_of_lz4_makes_less_of_the_same_data() {
    let data = sample();
    let size = |level| {
        let compression = Compression::with_level(Codec::Lz4, level).expect("a level");
        compressed(compression, &data).len()
    };
    assert!(size(17) < size(3), "{} {}", size(17), size(3));
    assert!(size(3) < size(9), "9 is the fast encoder: {} {}", size(3), size(9));
    assert_eq!(compressed(Compression::of(Codec::Lz4), &data).len(), size(9));
}

#[test]
fn a_bomb_is_an_error_that_names_both_sizes() {
    let data = vec![0; 1 << 20];
    for codec in CODECS {
        let packed = compressed(Compression::of(codec), &data);
        assert!(decompress(codec, &packed, data.len()).is_ok(), "{codec}");
        match decompress(codec, &packed, data.len() - 1) {
            Err(CompressionError::TooLarge { codec: named, compressed_bytes, limit_bytes }) => {
                assert_eq!((named, compressed_bytes, limit_bytes), (codec, packed.len(), data.len() - 1));
            }
            other => panic!("{codec}: {other:?}"),
        }
        assert!(decompress(codec, &packed, 0).is_err(), "{codec}");
    }
}

#[test]
fn a_raw_snappy_block_is_read_as_well_as_framed_ones() {
    let data = sample();
    let raw = snap::raw::Encoder::new().compress_vec(&data).expect("it compresses");
    assert_eq!(decompress(Codec::Snappy, &raw, data.len()).expect("it decompresses"), data);
    let framed = compressed(Compression::of(Codec::Snappy), &data);
    assert!(framed.starts_with(b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"));
}

#[test]
fn a_raw_snappy_block_cannot_claim_more_than_its_bytes_can_yield() {
    // The length, 2³²−1, then a literal of one byte.
    let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, b'x'];
    let refused = decompress(Codec::Snappy, &claim, usize::MAX);
    assert!(matches!(refused, Err(CompressionError::Codec { codec: Codec::Snappy, .. })), "{refused:?}");
}

#[test]
fn an_lz4_frame_is_written_as_kafka_writes_it() {
    for level in [1, 3, 9, 17] {
        let compression = Compression::with_level(Codec::Lz4, level).expect("a level");
        let packed = compressed(compression, &sample());
        // Version 1, independent blocks of 64 KiB, no checksum but the header's.
        assert!(packed.starts_with(&[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]), "level {level}");
        assert!(packed.ends_with(&[0; 4]), "level {level}");
    }
}

#[test]
fn lz4_frames_that_kafka_refuses_are_refused() {
    let packed = compressed(Compression::of(Codec::Lz4), b"some data, some data, some data");
    let with = |at: usize, byte: u8| {
        let mut changed = packed.clone();
        changed[at] = byte;
        changed
    };
    let linked = with(4, 0x40);
    let reserved_flag = with(4, 0x62);
    let reserved_descriptor = with(5, 0x41);
    let version_2 = with(4, 0xa0);
    let small_blocks = with(5, 0x30);
    let wrong_checksum = with(6, 0x83);
    let legacy_magic = with(0, 0x02);
    let variants =
        [linked, reserved_flag, reserved_descriptor, version_2, small_blocks, wrong_checksum, legacy_magic];
    for bytes in variants {
        let refused = decompress(Codec::Lz4, &bytes, 1000);
        assert!(matches!(refused, Err(CompressionError::Codec { .. })), "{bytes:02x?}: {refused:?}");
    }
}

#[test]
fn lz4_frames_with_larger_blocks_and_checksums_are_read() {
    use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
    use std::io::Write;

    let data = sample();
    for block_size in [BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB] {
        let info = FrameInfo::new()
            .block_size(block_size)
            .block_checksums(true)
            .content_checksum(true)
            .content_size(Some(data.len() as u64));
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(&data).expect("it compresses");
        let mut packed = encoder.finish().expect("it ends");
        assert_eq!(decompress(Codec::Lz4, &packed, data.len()).expect("it decompresses"), data);
        packed[40] ^= 1;
        assert!(decompress(Codec::Lz4, &packed, data.len()).is_err(), "a damaged block has another checksum");
    }
}

#[test]
fn data_cut_anywhere_never_decompress_to_the_whole() {
    let data = b"some data, some more data, and so on, and so on, and so on".repeat(3);
    for codec in CODECS {
        let packed = compressed(Compression::of(codec), &data);
        for cut in 0..packed.len() {
            // Snappy's framing has no end: cut between two blocks it is a shorter stream.
            let found = decompress(codec, &packed[..cut], 1000).unwrap_or_default();
            assert_ne!(found, data, "{codec} cut at {cut}");
        }
    }
}

#[test]
fn a_flipped_byte_never_panics_or_outgrows_the_bound() {
    let data = b"some data, some more data, and so on, and so on, and so on".repeat(3);
    for codec in CODECS {
        let packed = compressed(Compression::of(codec), &data);
        for at in 0..packed.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = packed.clone();
                damaged[at] ^= flip;
                if let Ok(found) = decompress(codec, &damaged, 1000) {
                    assert!(found.len() <= 1000, "{codec}");
                }
            }
        }
    }
}
