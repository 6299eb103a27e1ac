//! What an orderly stop leaves for the next start: no log is opened before somebody needs it, and none is believed that
//! is not exactly as it was left.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ottla_model::batch::{BatchBuilder, CheckedBatch, EndTxnMarker, NewRecord, RecordBatch};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName, Uuid};
use ottla_storage::{
    LoadReport, Log, LogConfig, LogDir, ReadEnd, ReadMode, ReadOutcome, ReadRequest, TopicPartition,
};

use crate::support::{EPOCH, NOW_MS, batch, batch_of, batches, copy_folder, request};

const MEMORY: &str = ".ottla-clean-stop";
const MARKER: &str = ".kafka_cleanshutdown";
const TOPIC_ID: Uuid = Uuid::from_bytes([7; 16]);
const LOGS: i32 = 3;
/// Records of each log.
const END: i64 = 9;

fn named(partition: i32) -> TopicPartition {
    TopicPartition { topic: TopicName::from("t"), partition: PartitionIndex::new(partition) }
}

/// A directory with three logs of three segments each.
struct Stopped {
    folder: tempfile::TempDir,
}

impl Stopped {
    fn new() -> Self {
        let stopped = Self { folder: tempfile::tempdir().unwrap() };
        let (directory, _) = stopped.start();
        for partition in 0..LOGS {
            let log =
                directory.create_log(&named(partition), TOPIC_ID, LogConfig::default(), NOW_MS).unwrap();
            for number in 0..3 {
                log.roll(NOW_MS).unwrap();
                log.append_as_leader(batch(NOW_MS + number, 2, 100), EPOCH, NOW_MS).unwrap();
                log.append_as_leader(batch_of(7, 0, i32::try_from(number).unwrap(), 1), EPOCH, NOW_MS)
                    .unwrap();
            }
            assert_eq!(log.positions().log_end.offset.get(), END);
        }
        directory.close(1, NOW_MS).unwrap();
        stopped
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self) -> (LogDir, LoadReport) {
        let directory = LogDir::open(self.folder.path()).unwrap();
        let report = directory.load(1, NOW_MS, &|_| LogConfig::default()).unwrap();
        assert!(report.failed.is_empty(), "{:?}", report.failed);
        (directory, report)
    }

    /// Which logs the next start opens at once. All of them must have all records.
    fn opened(&self) -> Vec<i32> {
        let (directory, report) = self.start();
        let opened = report.logs.iter().filter(|loaded| !loaded.log.is_asleep());
        let opened = opened.map(|loaded| loaded.partition.partition.get()).collect();
        for loaded in &report.logs {
            assert_eq!(loaded.topic_id, Some(TOPIC_ID), "{}", loaded.partition);
            assert_eq!(records(&*loaded.log), END, "{}", loaded.partition);
        }
        directory.close(1, NOW_MS).unwrap();
        opened
    }
}

fn records(log: &dyn Log) -> i64 {
    records_from(log, log.positions().log_start.get())
}

fn records_from(log: &dyn Log, offset: i64) -> i64 {
    let found = batches(log, offset, ReadEnd::LogEnd, 1 << 20);
    let count =
        |batch: &RecordBatch| batch.header().next_offset().distance_from(batch.header().base_offset());
    found.iter().map(count).sum()
}

/// Changes bytes of a file in place, and lets it look as old as before.
fn change(path: &Path, position: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.seek(SeekFrom::Start(position)).unwrap();
    file.write_all(bytes).unwrap();
    file.set_modified(modified).unwrap();
}

#[test]
fn a_log_is_opened_when_it_is_first_read_or_written_and_answers_before_all_the_same() {
    let stopped = Stopped::new();
    let (directory, report) = stopped.start();
    assert!(report.clean);
    let cached = ReadRequest { mode: ReadMode::Cached, ..request(0) };
    for loaded in &report.logs {
        let log = &loaded.log;
        let positions = log.positions();
        assert_eq!(positions.log_end.offset.get(), END);
        assert_eq!((positions.recovery_point, positions.log_start), (Offset::new(END), Offset::ZERO));
        assert_eq!((positions.log_end.segment_base.get(), log.first_segment_base().get()), (6, 0));
        assert_eq!(log.latest_epoch(), Some(EPOCH));
        assert_eq!(log.end_offset_for_epoch(EPOCH).unwrap().end_offset.get(), END);
        assert_eq!(log.expire_producers(NOW_MS), 0);
        assert_eq!(log.flush_up_to(Offset::MAX, NOW_MS).unwrap().get(), END);
        assert!(matches!(log.read(&cached).unwrap(), ReadOutcome::WouldBlock));
        assert!(matches!(log.read_committed(&cached).unwrap().outcome, ReadOutcome::WouldBlock));
        let told = (log.segments().unwrap(), log.size_bytes());
        assert!(log.is_asleep());
        assert_eq!(records(&**log), END);
        assert!(!log.is_asleep());
        assert_eq!((log.segments().unwrap(), log.size_bytes()), told, "what was told before was right");
        assert_eq!(log.producer(ProducerId::new(7)).unwrap().last_sequence, Some(2));
        assert_eq!(log.offset_for_time(NOW_MS + 2).unwrap().unwrap().offset.get(), 6);
        log.append_as_leader(batch_of(7, 0, 3, 1), EPOCH, NOW_MS).unwrap();
    }
    directory.close(1, NOW_MS).unwrap();
    drop((directory, report));
    let (_, report) = stopped.start();
    for loaded in &report.logs {
        assert!(loaded.log.is_asleep());
        assert_eq!(loaded.log.positions().log_end.offset.get(), END + 1);
        assert_eq!(loaded.log.producers().len(), 1);
        assert!(!loaded.log.is_asleep(), "the producers are in a file");
    }
}

#[test]
fn a_log_that_nobody_needed_is_remembered_again_with_what_was_noted_of_it() {
    let stopped = Stopped::new();
    for round in 1..4 {
        let (directory, report) = stopped.start();
        assert!(report.logs.iter().all(|loaded| loaded.log.is_asleep()), "round {round}");
        let epoch = LeaderEpoch::new(10 * round);
        report.logs[0].log.begin_epoch(epoch);
        assert_eq!(report.logs[0].log.latest_epoch(), Some(epoch));
        report.logs[1].log.raise_log_start(Offset::new(i64::from(round))).unwrap();
        directory.close(1, NOW_MS).unwrap();
        for loaded in &report.logs {
            let refused = loaded.log.append_as_leader(batch(NOW_MS, 1, 10), EPOCH, NOW_MS);
            assert_eq!(refused.unwrap_err().to_string(), "the log is closed");
        }
        drop((directory, report));
        let (directory, report) = stopped.start();
        assert_eq!(report.logs[0].log.latest_epoch(), Some(EPOCH), "that epoch got no record");
        assert_eq!(report.logs[1].log.epoch_for_offset(Offset::new(round.into())), Some(EPOCH));
        assert_eq!(report.logs[1].log.positions().log_start.get(), i64::from(round));
        assert!(report.logs.iter().all(|loaded| loaded.log.is_asleep()), "round {round}");
        directory.close(1, NOW_MS).unwrap();
    }
    let (_, report) = stopped.start();
    let left: Vec<_> = report.logs.iter().map(|loaded| records(&*loaded.log)).collect();
    assert_eq!(left, [END, END - 3, END]);
}

#[test]
fn only_what_was_touched_since_the_stop_is_opened() {
    let folder = |stopped: &Stopped| stopped.path("t-1");
    type Touch<'a> = (&'static str, &'a dyn Fn(&Stopped));
    let active = "00000000000000000006.log";
    let touches: [Touch<'_>; 9] = [
        ("nothing", &|_| {}),
        ("a file comes", &|stopped| drop(File::create(folder(stopped).join("README")).unwrap())),
        ("a file goes", &|stopped| {
            fs::remove_file(folder(stopped).join("00000000000000000003.timeindex")).unwrap();
        }),
        ("the active log is longer", &|stopped| {
            change(
                &folder(stopped).join(active),
                fs::metadata(folder(stopped).join(active)).unwrap().len(),
                &[0; 5],
            );
        }),
        ("the active log was written again", &|stopped| change(&folder(stopped).join(active), 0, &[0])),
        ("the topic's id was written again", &|stopped| {
            change(&folder(stopped).join("partition.metadata"), 0, b"version: 0");
        }),
        ("the epochs were written again", &|stopped| {
            change(&folder(stopped).join("leader-epoch-checkpoint"), 0, b"0\n");
        }),
        ("the folder was restored from a copy", &|stopped| {
            fs::rename(folder(stopped), stopped.path("copy")).unwrap();
            copy_folder(&stopped.path("copy"), &folder(stopped));
            fs::remove_dir_all(stopped.path("copy")).unwrap();
        }),
        ("the folder was away", &|stopped| {
            fs::rename(folder(stopped), stopped.path("away")).unwrap();
            fs::rename(stopped.path("away"), folder(stopped)).unwrap();
        }),
    ];
    for (name, touch) in touches {
        let stopped = Stopped::new();
        touch(&stopped);
        let expected: &[i32] = if name == "nothing" { &[] } else { &[1] };
        let (directory, report) = stopped.start();
        let opened = report.logs.iter().filter(|loaded| !loaded.log.is_asleep());
        let opened: Vec<_> = opened.map(|loaded| loaded.partition.partition.get()).collect();
        assert_eq!(opened, expected, "{name}");
        for loaded in &report.logs {
            assert_eq!(records(&*loaded.log), END, "{name}");
        }
        directory.close(1, NOW_MS).unwrap();
    }
}

#[test]
fn a_folder_that_has_gone_or_come_does_not_keep_the_others() {
    let stopped = Stopped::new();
    copy_folder(&stopped.path("t-1"), &stopped.path("t-7"));
    fs::remove_dir_all(stopped.path("t-0")).unwrap();
    let (_, report) = stopped.start();
    let told: Vec<_> = report
        .logs
        .iter()
        .map(|it| (it.partition.partition.get(), it.log.is_asleep(), records(&*it.log)))
        .collect();
    assert_eq!(told, [(1, true, END), (2, true, END), (7, false, END)]);
}

#[test]
fn a_memory_of_another_stop_or_a_damaged_one_opens_every_log() {
    let all: Vec<i32> = (0..LOGS).collect();
    let stopped = Stopped::new();
    let older = fs::read(stopped.path(MEMORY)).unwrap();
    assert_eq!(stopped.opened(), Vec::<i32>::new());
    let whole = fs::read(stopped.path(MEMORY)).unwrap();
    fs::write(stopped.path(MEMORY), &older).unwrap();
    assert_eq!(stopped.opened(), all, "it is of the stop before");
    // Somebody else started and stopped: the marker says the same and is another file.
    let marker = fs::read(stopped.path(MARKER)).unwrap();
    fs::remove_file(stopped.path(MARKER)).unwrap();
    fs::write(stopped.path(MARKER), &marker).unwrap();
    assert_eq!(stopped.opened(), all);
    fs::remove_file(stopped.path(MEMORY)).unwrap();
    assert_eq!(stopped.opened(), all, "there is none");
    let sizes = (0..whole.len()).step_by(37).chain([whole.len() - 1]);
    for size in sizes {
        fs::write(stopped.path(MEMORY), &fs::read(stopped.path(MEMORY)).unwrap()[..size]).unwrap();
        assert_eq!(stopped.opened(), all, "{size} bytes are left");
    }
    for position in (0..whole.len()).step_by(41) {
        let mut bytes = fs::read(stopped.path(MEMORY)).unwrap();
        bytes[position] ^= 1;
        fs::write(stopped.path(MEMORY), &bytes).unwrap();
        assert_eq!(stopped.opened(), all, "byte {position} is changed");
    }
    assert_eq!(stopped.opened(), Vec::<i32>::new());
    // After a kill there is neither marker nor memory.
    drop(stopped.start());
    assert!(!stopped.path(MEMORY).exists() && !stopped.path(MARKER).exists());
    assert_eq!(stopped.opened(), all);
}

#[test]
fn a_log_with_something_to_do_in_its_folder_is_opened() {
    let stopped = Stopped::new();
    let (directory, report) = stopped.start();
    let removed = report.logs[2].log.remove_segments(Offset::new(3)).unwrap();
    directory.retire(removed, NOW_MS + 1000);
    directory.close(1, NOW_MS).unwrap();
    drop((directory, report));
    let (_, report) = stopped.start();
    let opened: Vec<_> = report.logs.iter().map(|loaded| !loaded.log.is_asleep()).collect();
    assert_eq!(opened, [false, false, true]);
    assert!(
        !fs::read_dir(stopped.path("t-2"))
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().ends_with(".deleted") })
    );
}

#[test]
fn sealed_indexes_of_another_length_are_made_anew_when_the_log_is_opened() {
    let stopped = Stopped::new();
    let path = stopped.path("t-1").join("00000000000000000003.timeindex");
    let right = fs::read(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(5).unwrap();
    let (_, report) = stopped.start();
    let log = &report.logs[1].log;
    assert!(log.is_asleep());
    assert_eq!(log.offset_for_time(NOW_MS + 1).unwrap().unwrap().offset.get(), 3);
    assert_eq!(fs::read(&path).unwrap(), right);
}

#[test]
fn a_list_of_aborted_transactions_that_rotted_is_made_anew_when_the_log_is_opened() {
    let stopped = Stopped::new();
    let (directory, report) = stopped.start();
    let log = &report.logs[1].log;
    for sequence in 0..3 {
        log.append_as_leader(transactional(sequence), EPOCH, NOW_MS).unwrap();
        let marker = EndTxnMarker { committed: false, coordinator_epoch: 0 };
        let marker = marker.to_batch(ProducerId::new(9), ProducerEpoch::new(0), NOW_MS).unwrap();
        log.append_as_leader(marker, EPOCH, NOW_MS).unwrap();
    }
    log.roll(NOW_MS).unwrap();
    log.append_as_leader(batch(NOW_MS, 1, 10), EPOCH, NOW_MS).unwrap();
    let listed = log.aborted_transactions(Offset::ZERO, Offset::MAX).unwrap();
    assert_eq!(listed.len(), 3);
    directory.close(1, NOW_MS).unwrap();
    drop((directory, report));
    let path = stopped.path("t-1").join("00000000000000000006.txnindex");
    let right = fs::read(&path).unwrap();
    for place in 0..right.len() {
        change(&path, place as u64, &[right[place] ^ 1]);
        let (directory, report) = stopped.start();
        let log = &report.logs[1].log;
        assert!(log.is_asleep());
        assert_eq!(log.aborted_transactions(Offset::ZERO, Offset::MAX).unwrap(), listed, "byte {place}");
        assert_eq!(fs::read(&path).unwrap(), right, "byte {place}");
        directory.close(1, NOW_MS).unwrap();
    }
}

fn transactional(sequence: i32) -> CheckedBatch {
    let builder = BatchBuilder::new(Compression::NONE);
    let builder = builder.with_producer(ProducerId::new(9), ProducerEpoch::new(0), sequence);
    let mut builder = builder.with_transactional(true);
    builder.append(&NewRecord { timestamp_ms: NOW_MS, ..NewRecord::default() }).unwrap();
    builder.finish().unwrap()
}

#[test]
fn a_sealed_segment_that_was_changed_in_its_place_costs_no_more_than_its_own_records() {
    for change in [-10, 1] {
        let stopped = Stopped::new();
        let path = stopped.path("t-1").join("00000000000000000003.log");
        let bytes = i64::try_from(fs::metadata(&path).unwrap().len()).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(u64::try_from(bytes + change).unwrap()).unwrap();
        let (directory, report) = stopped.start();
        let log = &report.logs[1].log;
        assert!(log.is_asleep());
        log.append_as_leader(batch(NOW_MS, 1, 10), EPOCH, NOW_MS).unwrap();
        assert!(records_from(&**log, 6) == END - 6 + 1 && records_from(&**log, 0) >= 3);
        directory.close(1, NOW_MS).unwrap();
    }
}

#[test]
fn a_wrong_index_of_the_active_segment_is_made_anew_when_the_log_is_opened() {
    let base = "00000000000000000006";
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 5] = [
        ("index", |content| content.push(1)),
        ("timeindex", |content| content.push(1)),
        ("index", |content| content.extend([0xff; 8])),
        ("timeindex", |content| *content.last_mut().unwrap() ^= 0x40),
        ("timeindex", Vec::clear),
    ];
    for (kind, damage) in damages {
        let stopped = Stopped::new();
        let path = stopped.path("t-2").join(format!("{base}.{kind}"));
        let mut content = fs::read(&path).unwrap();
        damage(&mut content);
        File::create(&path).unwrap().write_all(&content).unwrap();
        let (directory, report) = stopped.start();
        let log = &report.logs[2].log;
        assert!(log.is_asleep(), "{kind}: an index proves nothing");
        assert_eq!(records(&**log), END, "{kind}");
        log.append_as_leader(batch(NOW_MS, 1, 10), EPOCH, NOW_MS).unwrap();
        directory.close(1, NOW_MS).unwrap();
        drop((directory, report));
        let (_, report) = stopped.start();
        assert_eq!(records(&*report.logs[2].log), END + 1, "{kind}");
    }
}

#[test]
fn many_ask_at_once_and_one_opens_the_log() {
    let stopped = Stopped::new();
    let (_, report) = stopped.start();
    let log = &report.logs[0].log;
    let before = SystemTime::now();
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                if number % 2 == 0 {
                    log.append_as_leader(batch(NOW_MS, 1, 10), EPOCH, NOW_MS).unwrap();
                } else {
                    assert!(records(&**log) >= END);
                }
            });
        }
    });
    assert_eq!(records(&**log), END + 4);
    assert!(before.elapsed().is_ok());
}
