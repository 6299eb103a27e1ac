//! Zstandard streams.

use std::io::{self, Write};

use ::zstd::stream::{read, write};

pub(super) type Decoder<'a> = read::Decoder<'static, &'a [u8]>;

/// The largest window, 128 MiB, as a power of two. Kafka's writers announce it at level 22, for ten bytes too, since they
/// do not know how many will come; so the bound on what is produced cannot make it smaller. The memory is taken from
/// the system at once, but only what is written to becomes real. Kafka's reader has the same bound.
const WINDOW_LOG_MAX: u32 = 27;

pub(super) fn decoder(input: &[u8]) -> io::Result<Decoder<'_>> {
    let mut decoder = read::Decoder::with_buffer(input)?;
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    Ok(decoder)
}

pub(super) type Encoder<W> = write::Encoder<'static, W>;

pub(super) fn encoder<W: Write>(level: i32, output: W) -> io::Result<Encoder<W>> {
    write::Encoder::new(output, level)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// "0123456789" as zstd-jni of Kafka 4.4.0 writes it at level 22.
    const LEVEL_22: &[u8] =
        b"\x28\xb5\x2f\xfd\x00\x88\x50\x00\x00\x30\x31\x32\x33\x34\x35\x36\x37\x38\x39\x01\x00\x00";
    const WINDOW_AT: usize = 5;

    fn decoded(input: &[u8]) -> io::Result<String> {
        let mut output = String::new();
        decoder(input)?.read_to_string(&mut output).map(|_| output)
    }

    #[test]
    fn the_window_of_kafkas_highest_level_is_accepted_and_a_larger_one_refused() {
        assert_eq!(LEVEL_22[WINDOW_AT] >> 3, 27 - 10, "the window that is announced");
        assert_eq!(decoded(LEVEL_22).expect("Kafka writes it"), "0123456789");
        for window in [28_u8, 31, 41] {
            let mut larger = LEVEL_22.to_vec();
            larger[WINDOW_AT] = (window - 10) << 3;
            let error = decoded(&larger).expect_err("too large a window");
            assert!(error.to_string().contains("too much memory"), "2^{window}: {error}");
        }
    }
}
