//! `dump-log` beside Apache Kafka's own dump of the same files, and over damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use ottla_tools::Ending;
use ottla_tools::dump_log::{DumpOptions, dump_files};

const DATA: &str = "tests/data/";

fn files(partition: &str, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(Path::new(DATA).join(partition))
        .expect("the partition's directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn dump(files: &[PathBuf], options: DumpOptions) -> (String, String, Ending) {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let ending = dump_files(files, options, &mut out, &mut notes).expect("written to memory");
    (String::from_utf8(out).expect("UTF-8"), String::from_utf8(notes).expect("UTF-8"), ending)
}

const EVERYTHING: DumpOptions = DumpOptions { deep_iteration: true, print_data_log: true };

#[test]
fn the_dump_of_kafkas_files_is_kafkas_dump() {
    for partition in ["tx-mixed-0", "append-time-0"] {
        for extension in ["log", "index", "timeindex"] {
            let expected =
                fs::read_to_string(format!("{DATA}{partition}.{extension}.txt")).expect("Kafka's dump");
            let (out, notes, ending) = dump(&files(partition, extension), EVERYTHING);
            assert_eq!(out.replace(DATA, ""), expected, "{partition} {extension}");
            assert_eq!((notes.as_str(), ending), ("", Ending::Fine));
        }
    }
}

#[test]
fn a_cut_batch_is_counted_and_what_lies_before_it_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("00000000000000000000.log");
    let bytes = fs::read(files("tx-mixed-0", "log").remove(0)).expect("a log");
    let (whole, _, _) = dump(&files("tx-mixed-0", "log")[..1], DumpOptions::default());
    let (first, second) = (228, 397 - 228);
    for kept in [first, first + 1, first + 16, first + 60, first + second - 1] {
        fs::write(&path, &bytes[..kept]).expect("written");
        let (out, _, ending) = dump(std::slice::from_ref(&path), DumpOptions::default());
        let mut expected: Vec<_> = whole.lines().skip(1).take(2).map(str::to_owned).collect();
        if kept > first {
            expected
                .push(format!("Found {} invalid bytes at the end of 00000000000000000000.log", kept - first));
        }
        assert_eq!(out.lines().skip(1).collect::<Vec<_>>(), expected, "{kept} bytes");
        assert_eq!(ending, if kept > first { Ending::Findings } else { Ending::Fine });
    }
}

#[test]
fn a_flipped_byte_is_an_invalid_batch_and_the_rest_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("00000000000000000000.log");
    let mut bytes = fs::read(files("tx-mixed-0", "log").remove(0)).expect("a log");
    bytes[228 + 100] ^= 1;
    fs::write(&path, &bytes).expect("written");
    let (out, _, ending) = dump(&[path], DumpOptions::default());
    let verdicts: Vec<_> = out.lines().skip(2).map(|line| line.rsplit(' ').next().expect("a word")).collect();
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == "false").count(), 1);
    assert_eq!(verdicts[1], "false");
    assert_eq!(ending, Ending::Findings);
}

#[test]
fn zeros_behind_the_entries_of_an_index_are_room_and_no_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = files("tx-mixed-0", "index").remove(0);
    let path = folder.path().join(source.file_name().expect("a name"));
    let mut bytes = fs::read(&source).expect("an index");
    bytes.resize(4096, 0);
    fs::write(&path, &bytes).expect("written");
    let (sound, _, _) = dump(&[source], DumpOptions::default());
    let (out, _, ending) = dump(&[path], DumpOptions::default());
    assert!(out.lines().skip(1).eq(sound.lines().skip(1)));
    assert_eq!(ending, Ending::Fine);
}

#[test]
fn a_missing_file_fails_and_the_next_one_is_still_dumped() {
    let missing = PathBuf::from("tests/data/nowhere/00000000000000000000.log");
    let sound = files("append-time-0", "log").remove(0);
    let (out, notes, ending) = dump(&[missing, sound], DumpOptions::default());
    assert!(notes.starts_with("tests/data/nowhere/00000000000000000000.log: No such file"), "{notes}");
    assert!(out.contains("baseOffset: 0 "));
    assert_eq!(ending, Ending::Failed);
}
