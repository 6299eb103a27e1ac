//! A disk in memory that forgets: what was not synced may be lost in a crash, in any mixture, and any call can be made
//! to fail. Deterministic: the same seed and calls give the same disk. It keeps no page cache, so nothing ever blocks.

mod node;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Create, Directory, DirectoryEntry, LogFile, Stamp};
use node::{Change, Dice, NameChange, Names, Node};

/// The error numbers of Linux that tests inject.
pub mod errno {
    /// Input/output error.
    pub const EIO: i32 = 5;
    /// No space left on device.
    pub const ENOSPC: i32 = 28;
}

/// What a call does instead of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this error number and changes nothing.
    Error(i32),
    /// A write stops after so many bytes and fails with this error number. Other calls fail.
    ShortWrite {
        /// Bytes that reach the file.
        bytes: usize,
        /// The error number.
        errno: i32,
    },
    /// A sync says that it succeeded and makes nothing durable. Other calls work.
    LieAboutSync,
    /// The power goes: this call and all after it fail.
    Crash,
}

/// The disk.
#[derive(Debug, Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

/// A call that the disk got.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// What was asked for.
    pub verb: &'static str,
    /// On what: a name without the number that it begins with, so that all segments' files of a kind are one.
    pub on: Arc<str>,
    /// How many bytes a read was to give at most; 0 of other calls.
    pub bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    nodes: Vec<Node>,
    /// Of the files whose time was set. The clock of this disk stands still at 0.
    modified_ms: BTreeMap<usize, i64>,
    /// Counts changes: each file and folder has the number of its last one, which stands for a time.
    changes: i128,
    changed: BTreeMap<usize, Changed>,
    calls: u64,
    /// Every call, where somebody wants to know.
    trace: Option<Vec<Call>>,
    faults: BTreeMap<u64, Fault>,
    is_down: bool,
}

/// The last change of a file or folder, and the last one that was made durable with it.
#[derive(Debug, Clone, Copy, Default)]
struct Changed {
    now: i128,
    durable: i128,
}

/// What a call is about to do.
enum Go {
    Work,
    Short { bytes: usize, errno: i32 },
    Lie,
}

const ROOT: usize = 0;

impl Default for SimDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        let state = State { nodes: vec![Node::folder()], ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The topmost folder.
    #[must_use]
    pub fn root(&self) -> Arc<dyn Directory> {
        Arc::new(SimDirectory { disk: self.clone(), path: Vec::new() })
    }

    /// How many calls were made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// Remembers every call from now on.
    pub fn record(&self) {
        self.state.lock().trace.get_or_insert_default();
    }

    /// The calls that were remembered.
    #[must_use]
    pub fn trace(&self) -> Vec<Call> {
        self.state.lock().trace.clone().unwrap_or_default()
    }

    /// Lets the call with this number, counted from 0 over the disk's life, do something else.
    pub fn plan(&self, call: u64, fault: Fault) {
        self.state.lock().faults.insert(call, fault);
    }

    /// Whether the power has gone.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.state.lock().is_down
    }

    /// The disk as it may be found after a loss of power now: all that was synced, and of the rest whatever the seed
    /// says. Names of one folder keep their order; everything else does not.
    #[must_use]
    pub fn after_crash(&self, seed: u64) -> Self {
        let mut dice = Dice(seed);
        let state = self.state.lock();
        let nodes = state.nodes.iter().map(|node| node.after_crash(&mut dice)).collect();
        // A time is no part of what a sync promises: it may be kept, or be an older one.
        let mut times = Dice(!seed);
        let mut left = |changed: &Changed| if times.below(2) == 0 { changed.now } else { changed.durable };
        let changed = state.changed.iter().map(|(id, changed)| {
            let now = left(changed);
            (*id, Changed { now, durable: now })
        });
        let changed = changed.collect();
        let state = State { nodes, changed, changes: state.changes, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }
}

impl State {
    fn enter(&mut self, verb: &'static str, on: &str) -> io::Result<Go> {
        if let Some(trace) = &mut self.trace {
            trace.push(Call {
                verb,
                on: on.trim_start_matches(|first: char| first.is_ascii_digit()).into(),
                bytes: 0,
            });
        }
        let fault = self.faults.remove(&self.calls);
        self.calls += 1;
        if fault == Some(Fault::Crash) {
            self.is_down = true;
        }
        if self.is_down {
            return Err(io::Error::from_raw_os_error(errno::EIO));
        }
        match fault {
            None | Some(Fault::Crash) => Ok(Go::Work),
            Some(Fault::Error(errno)) => Err(io::Error::from_raw_os_error(errno)),
            Some(Fault::ShortWrite { bytes, errno }) => Ok(Go::Short { bytes, errno }),
            Some(Fault::LieAboutSync) => Ok(Go::Lie),
        }
    }

    /// For calls that neither write bytes nor sync.
    fn enter_plain(&mut self, verb: &'static str, on: &str) -> io::Result<()> {
        match self.enter(verb, on)? {
            Go::Work | Go::Lie => Ok(()),
            Go::Short { errno, .. } => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// For syncs: whether to do it.
    fn enter_sync(&mut self, on: &str) -> io::Result<bool> {
        match self.enter("sync", on)? {
            Go::Work => Ok(true),
            Go::Lie => Ok(false),
            Go::Short { errno, .. } => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    fn find(&self, path: &[String]) -> io::Result<usize> {
        let mut at = ROOT;
        for name in path {
            let Some(Node::Folder { names, .. }) = self.nodes.get(at) else { return Err(not_found()) };
            at = *names.get(name).ok_or_else(not_found)?;
        }
        Ok(at)
    }

    fn names(&self, path: &[String]) -> io::Result<&Names> {
        match self.nodes.get(self.find(path)?) {
            Some(Node::Folder { names, .. }) => Ok(names),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn change_names(&mut self, path: &[String], change: NameChange) -> io::Result<()> {
        let at = self.find(path)?;
        let Some(Node::Folder { names, unsynced, .. }) = self.nodes.get_mut(at) else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        let renamed = match &change {
            NameChange::Rename(from, _) => names.get(from).copied(),
            _ => None,
        };
        change.apply(names);
        unsynced.push(change);
        self.note_change(at);
        if let Some(id) = renamed {
            self.note_change(id);
        }
        Ok(())
    }

    fn note_change(&mut self, id: usize) {
        self.changes += 1;
        self.changed.entry(id).or_default().now = self.changes;
    }

    fn make(&mut self, path: &[String], name: &str, node: Node) -> io::Result<usize> {
        let id = self.nodes.len();
        self.nodes.push(node);
        self.note_change(id);
        self.change_names(path, NameChange::Put(name.to_owned(), id))?;
        Ok(id)
    }

    fn file(&mut self, id: usize) -> io::Result<(&mut Vec<u8>, &mut Vec<u8>, &mut Vec<Change>)> {
        match self.nodes.get_mut(id) {
            Some(Node::File { content, durable, unsynced }) => Ok((content, durable, unsynced)),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn change_file(&mut self, id: usize, change: Change) -> io::Result<()> {
        let (content, _, unsynced) = self.file(id)?;
        change.apply(content);
        unsynced.push(change);
        self.note_change(id);
        Ok(())
    }

    fn note_sync(&mut self, id: usize) {
        if let Some(changed) = self.changed.get_mut(&id) {
            changed.durable = changed.now;
        }
    }

    fn stamp(&self, id: usize) -> Stamp {
        let bytes = match self.nodes.get(id) {
            Some(Node::File { content, .. }) => content.len() as u64,
            _ => 0,
        };
        let modified_ms = self.modified_ms.get(&id).copied().unwrap_or_default();
        let changed_ns = self.changed.get(&id).map_or(0, |changed| changed.now);
        Stamp { inode: id as u64, bytes, modified_ns: i128::from(modified_ms) * 1_000_000, changed_ns }
    }
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

#[derive(Debug)]
struct SimDirectory {
    disk: SimDisk,
    path: Vec<String>,
}

impl SimDirectory {
    /// Its own name, for the record of calls.
    fn name(&self) -> &str {
        self.path.last().map_or("/", String::as_str)
    }
}

impl Directory for SimDirectory {
    fn path(&self) -> PathBuf {
        let mut path = PathBuf::from("/sim");
        path.extend(&self.path);
        path
    }

    fn folder(&self, name: &str) -> Arc<dyn Directory> {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Arc::new(Self { disk: self.disk.clone(), path })
    }

    fn create(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.enter_plain("create", self.name())?;
        for depth in 0..self.path.len() {
            let (above, rest) = self.path.split_at(depth);
            let Some(name) = rest.first() else { break };
            if !state.names(above)?.contains_key(name) {
                state.make(above, name, Node::folder())?;
            }
        }
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<DirectoryEntry>> {
        let mut state = self.disk.state.lock();
        state.enter_plain("list", self.name())?;
        let names = match state.names(&self.path) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let entry = |(name, id): (&String, &usize)| match state.nodes.get(*id) {
            Some(Node::File { content, .. }) => {
                DirectoryEntry { name: name.clone(), is_folder: false, bytes: content.len() as u64 }
            }
            _ => DirectoryEntry { name: name.clone(), is_folder: true, bytes: 0 },
        };
        Ok(names.iter().map(entry).collect())
    }

    fn open(&self, name: &str, create: Create) -> io::Result<Arc<dyn LogFile>> {
        let mut state = self.disk.state.lock();
        state.enter_plain("open", name)?;
        let found = state.names(&self.path)?.get(name).copied();
        let id = match (found, create) {
            (Some(id), _) => id,
            (None, Create::No) => return Err(not_found()),
            (None, _) => {
                let file = Node::File { content: Vec::new(), durable: Vec::new(), unsynced: Vec::new() };
                state.make(&self.path, name, file)?
            }
        };
        if create == Create::Empty && !state.file(id)?.0.is_empty() {
            state.change_file(id, Change::Size(0))?;
        }
        Ok(Arc::new(SimFile { disk: self.disk.clone(), id, name: name.into() }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.enter_plain("rename", from)?;
        if !state.names(&self.path)?.contains_key(from) {
            return Err(not_found());
        }
        state.change_names(&self.path, NameChange::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.enter_plain("remove", name)?;
        if !state.names(&self.path)?.contains_key(name) {
            return Err(not_found());
        }
        state.change_names(&self.path, NameChange::Remove(name.to_owned()))
    }

    fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.remove(name)
    }

    fn stamp(&self, name: &str) -> io::Result<Option<Stamp>> {
        let mut state = self.disk.state.lock();
        state.enter_plain("look at", if name.is_empty() { self.name() } else { name })?;
        let mut path = self.path.clone();
        path.extend(Some(name).filter(|name| !name.is_empty()).map(str::to_owned));
        match state.find(&path) {
            Ok(id) => Ok(Some(state.stamp(id))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        let is_honest = state.enter_sync(self.name())?;
        let at = state.find(&self.path)?;
        if is_honest {
            state.note_sync(at);
        }
        if let (true, Some(Node::Folder { names, durable, unsynced })) = (is_honest, state.nodes.get_mut(at))
        {
            durable.clone_from(names);
            unsynced.clear();
        }
        Ok(())
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    id: usize,
    /// As it was when the file was opened.
    name: Arc<str>,
}

impl LogFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let mut state = self.disk.state.lock();
        state.enter_plain("read", &self.name)?;
        if let Some(call) = state.trace.as_mut().and_then(|trace| trace.last_mut()) {
            call.bytes = buffer.len();
        }
        let (content, ..) = state.file(self.id)?;
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        let rest = content.get(position..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(into), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            into.copy_from_slice(from);
        }
        Ok(count)
    }

    fn read_cached_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>> {
        self.read_at(buffer, position).map(Some)
    }

    fn write_at(&self, pieces: &[&[u8]], position: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        let position = usize::try_from(position).map_err(io::Error::other)?;
        let mut bytes = pieces.concat();
        let result = match state.enter("write", &self.name)? {
            Go::Work | Go::Lie => Ok(()),
            Go::Short { bytes: kept, errno } => {
                bytes.truncate(kept);
                Err(io::Error::from_raw_os_error(errno))
            }
        };
        state.change_file(self.id, Change::Write { position, bytes })?;
        result
    }

    fn bytes(&self) -> io::Result<u64> {
        let mut state = self.disk.state.lock();
        state.enter_plain("size", &self.name)?;
        Ok(state.file(self.id)?.0.len() as u64)
    }

    fn modified_ms(&self) -> io::Result<i64> {
        let mut state = self.disk.state.lock();
        state.enter_plain("look at", &self.name)?;
        Ok(state.modified_ms.get(&self.id).copied().unwrap_or_default())
    }

    fn set_modified_ms(&self, modified_ms: i64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.enter_plain("set time", &self.name)?;
        state.modified_ms.insert(self.id, modified_ms);
        state.note_change(self.id);
        Ok(())
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.enter_plain("resize", &self.name)?;
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        state.change_file(self.id, Change::Size(bytes))
    }

    fn reserve(&self, _position: u64, _bytes: u64) -> io::Result<()> {
        self.disk.state.lock().enter_plain("reserve", &self.name)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        let is_honest = state.enter_sync(&self.name)?;
        if is_honest {
            state.note_sync(self.id);
        }
        let (content, durable, unsynced) = state.file(self.id)?;
        if is_honest {
            durable.clone_from(content);
            unsynced.clear();
        }
        Ok(())
    }

    fn system_file(&self) -> Option<Arc<File>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(disk: &SimDisk, name: &str) -> Arc<dyn LogFile> {
        let file = disk.root().open(name, Create::IfMissing).unwrap();
        file.write_at(&[&[7; 2000]], 0).unwrap();
        file
    }

    fn content(disk: &SimDisk, name: &str) -> Option<Vec<u8>> {
        super::super::read_named(&*disk.root(), name).unwrap()
    }

    #[test]
    fn what_was_synced_with_its_name_survives_every_crash() {
        for seed in 0..50 {
            let disk = SimDisk::new();
            written(&disk, "kept").sync().unwrap();
            disk.root().sync().unwrap();
            assert_eq!(content(&disk.after_crash(seed), "kept"), Some(vec![7; 2000]));
        }
    }

    #[test]
    fn what_was_not_synced_is_lost_in_whole_or_in_part_or_not_at_all() {
        let images: Vec<_> = (0..200)
            .map(|seed| {
                let disk = SimDisk::new();
                written(&disk, "a");
                content(&disk.after_crash(seed), "a")
            })
            .collect();
        assert!(images.contains(&None), "the name was lost");
        assert!(images.contains(&Some(Vec::new())), "the bytes were lost");
        assert!(images.contains(&Some(vec![7; 2000])), "nothing was lost");
        let is_torn = |bytes: &Vec<u8>| bytes.contains(&0) && bytes.contains(&7);
        assert!(images.iter().flatten().any(is_torn), "a sector in the middle was lost");
    }

    #[test]
    fn a_planned_fault_strikes_once_at_its_call() {
        let disk = SimDisk::new();
        let file = written(&disk, "a");
        disk.plan(disk.calls(), Fault::ShortWrite { bytes: 3, errno: errno::ENOSPC });
        let error = file.write_at(&[&[1; 10]], 2000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(errno::ENOSPC));
        assert_eq!(file.bytes().unwrap(), 2003);
        disk.plan(disk.calls(), Fault::LieAboutSync);
        file.sync().unwrap();
        assert!(
            (0..20).any(|seed| content(&disk.after_crash(seed), "a").is_none_or(|bytes| bytes.len() != 2003))
        );
        disk.plan(disk.calls(), Fault::Crash);
        assert!(file.sync().is_err() && file.sync().is_err() && disk.is_down());
    }

    #[test]
    fn a_rename_takes_the_place_of_a_file() {
        let disk = SimDisk::new();
        written(&disk, "a");
        disk.root().open("b", Create::IfMissing).unwrap();
        disk.root().rename("a", "b").unwrap();
        let names: Vec<_> = disk.root().list().unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["b"]);
        assert_eq!(content(&disk, "b"), Some(vec![7; 2000]));
        let folder = disk.root().folder("x").folder("y");
        folder.create().unwrap();
        written(&disk, "z");
        assert_eq!(folder.list().unwrap(), []);
        assert!(folder.remove("none").is_err());
    }
}
