//! A file mapped for reading: the one place of this workspace with `unsafe`. It maps sealed index files only, which
//! are never written, cut or extended again; a file that changes its size must not be mapped.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// The whole of a file, read-only; nothing is mapped for an empty one.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: Option<Mmap>,
}

impl Mapped {
    #[expect(unsafe_code, reason = "mapping a file is unsafe by nature; the condition stands beside it")]
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self { map: None });
        }
        // SAFETY: the bytes behind the slice must not change or go away while it lives. A sealed index file is never
        // written, and storage replaces it by rename where its content must differ, which leaves this inode alone.
        // Another process that changes it breaks the lock on the directory, and with it every promise of the log.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self { map: Some(map) })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}
