//! Files to sockets, without waiting for a disk: `sendfile` waits for one even on a non-blocking socket, so ranges are
//! probed first, and what lies cold is read once by the blocking pool. Keeps no state; write.rs drives it.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::sendfile;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Bytes sent from files in one turn of a connection, and the distance between two probes.
pub(crate) const FILE_STEP_BYTES: u64 = 256 * 1024;

/// Bytes that one job of the pool brings into the page cache: the step that is due and some of what follows.
pub(crate) const WARM_BYTES: u64 = 4 * FILE_STEP_BYTES;

/// Buffer through which the pool reads; what counts is the page cache behind it.
const WARM_BUFFER_BYTES: usize = 64 * 1024;

/// Where a range of a file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// In the page cache, as far as its two ends tell.
    Cached,
    /// On the disk.
    Cold,
    /// Partly behind the end of the file.
    Cut,
}

/// Looks at the first and the last byte of the range.
pub(crate) fn probe(file: &File, position: u64, length: u64) -> io::Result<Probe> {
    let first = probe_byte(file, position)?;
    if first != Probe::Cached || length <= 1 {
        return Ok(first);
    }
    probe_byte(file, position + length - 1)
}

fn probe_byte(file: &File, position: u64) -> io::Result<Probe> {
    match read_cached(file, &mut [0], position) {
        Ok(0) => Ok(Probe::Cut),
        Ok(_) => Ok(Probe::Cached),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Probe::Cold),
        Err(error) => Err(error),
    }
}

/// Reads what is in the page cache; `WouldBlock` if the first byte is not. A file system that cannot tell, such as
/// tmpfs, is in memory itself.
pub(crate) fn read_cached(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    match preadv2(file, &mut [IoSliceMut::new(buffer)], position, ReadWriteFlags::NOWAIT) {
        Ok(read) => Ok(read),
        Err(Errno::OPNOTSUPP) => file.read_at(buffer, position),
        Err(error) => Err(error.into()),
    }
}

/// Reads the range into the page cache; waits for the disk. Short of the end of the file, `UnexpectedEof`.
pub(crate) fn warm(file: &File, mut position: u64, length: u64) -> io::Result<()> {
    let end = position + length;
    let mut buffer = vec![0; WARM_BUFFER_BYTES];
    while position < end {
        let wanted = usize::try_from(end - position).unwrap_or(WARM_BUFFER_BYTES).min(WARM_BUFFER_BYTES);
        let (piece, _) = buffer.split_at_mut(wanted);
        match file.read_at(piece, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => position += read as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends up to so many bytes; 0 only at the end of the file.
pub(crate) fn send(socket: BorrowedFd<'_>, file: &File, position: u64, length: u64) -> io::Result<usize> {
    let mut offset = position;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    Ok(sendfile(socket, file, Some(&mut offset), length)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_range_behind_the_end_is_cut() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[7; 1000]).expect("written");
        assert_eq!(probe(&file, 0, 1000).expect("probed"), Probe::Cached);
        assert_eq!(probe(&file, 999, 1).expect("probed"), Probe::Cached);
        assert_eq!(probe(&file, 999, 2).expect("probed"), Probe::Cut);
        assert_eq!(probe(&file, 1000, 1).expect("probed"), Probe::Cut);
        assert!(warm(&file, 10, 990).is_ok());
        let error = warm(&file, 10, 991).expect_err("one byte too many");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
