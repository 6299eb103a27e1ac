//! Damage to the metadata log between two starts: a torn end is cut, anything that would cost answered changes is
//! refused, and a refusal leaves every byte as it was.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use ottla_cluster::EmbeddedError;
use ottla_model::Offset;
use ottla_model::batch::RecordBatch;
use ottla_storage::Damage;

use crate::node::{LOG, Node, copy, file, files};
use crate::support::{registration, topic};

/// A closed log of several batches, one topic in each of the later ones.
fn written() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    node.register(registration(-1));
    ["a", "b", "c"].iter().for_each(|name| drop(node.create(vec![topic(name, 1, 1)])));
    node.controller.shutdown().unwrap();
    dir
}

/// Where each batch begins, and its first offset.
fn places(bytes: &[u8]) -> Vec<(usize, Offset)> {
    let mut rest = Bytes::copy_from_slice(bytes);
    let mut places = Vec::new();
    while let Some(batch) = RecordBatch::split_first(&mut rest).unwrap() {
        places.push((bytes.len() - rest.len() - batch.bytes().len(), batch.header().base_offset()));
    }
    places
}

fn contents(log_dir: &Path) -> BTreeMap<String, Vec<u8>> {
    files(log_dir).into_iter().map(|(name, path)| (name, std::fs::read(path).unwrap())).collect()
}

fn refusal(log_dir: &Path) -> EmbeddedError {
    let before = contents(log_dir);
    let error = Node::start(log_dir).err().expect("the start is refused");
    assert!(contents(log_dir) == before, "nothing was changed: {error}");
    error
}

#[test]
fn damage_before_the_last_batch_is_refused_with_its_place_and_the_last_batch_may_be_torn() {
    let dir = written();
    let bytes = std::fs::read(file(dir.path(), LOG)).unwrap();
    let places = places(&bytes);
    assert!(places.len() >= 6);
    for (number, (start, _)) in places.iter().enumerate() {
        for at in [start + 9, start + 16, start + 70] {
            let damaged = copy(dir.path());
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            std::fs::write(file(damaged.path(), LOG), &flipped).unwrap();
            let Some((_, next)) = places.get(number + 1) else {
                assert!(Node::start(damaged.path()).unwrap().topics().starts_with(&["a".into(), "b".into()]));
                continue;
            };
            match refusal(damaged.path()) {
                EmbeddedError::Damaged { file: named, position, next_sound, .. } => {
                    assert_eq!(named, file(damaged.path(), LOG));
                    assert_eq!((position, next_sound), (*start as u64, *next), "byte {at}");
                }
                other => panic!("byte {at}: {other}"),
            }
        }
    }
}

#[test]
fn zeros_within_the_log_are_damage_and_zeros_behind_it_are_cut() {
    let dir = written();
    let bytes = std::fs::read(file(dir.path(), LOG)).unwrap();
    let places = places(&bytes);
    let damaged = copy(dir.path());
    let mut zeroed = bytes.clone();
    zeroed[places[2].0..places[4].0].fill(0);
    std::fs::write(file(damaged.path(), LOG), &zeroed).unwrap();
    let error = refusal(damaged.path());
    assert!(matches!(error, EmbeddedError::Damaged { damage: Damage::Length { length: 0 }, .. }), "{error}");
    assert!(error.to_string().contains(&format!("at byte {}", places[2].0)), "{error}");

    let mut longer = bytes;
    longer.resize(longer.len() + 1000, 0);
    std::fs::write(file(dir.path(), LOG), &longer).unwrap();
    assert_eq!(Node::start(dir.path()).unwrap().topics(), ["a", "b", "c"]);
}

#[test]
fn an_empty_log_is_refused_where_anything_says_that_there_was_one() {
    let dir = written();
    let size = std::fs::metadata(file(dir.path(), LOG)).unwrap().len();
    for content in [None, Some(0), Some(size)] {
        let lost = copy(dir.path());
        let log = file(lost.path(), LOG);
        match content {
            None => std::fs::remove_file(&log).unwrap(),
            Some(zeros) => std::fs::write(&log, vec![0; usize::try_from(zeros).unwrap()]).unwrap(),
        }
        let error = refusal(lost.path());
        assert!(error.to_string().contains("the file quorum-state shows"), "{error}");

        std::fs::remove_file(file(lost.path(), "quorum-state")).unwrap();
        std::fs::create_dir(lost.path().join("a-0")).unwrap();
        let error = refusal(lost.path());
        assert!(error.to_string().contains("a partition's folder"), "{error}");

        std::fs::remove_dir(lost.path().join("a-0")).unwrap();
        assert!(
            Node::start(lost.path()).unwrap().topics().is_empty(),
            "what nothing speaks of may begin anew"
        );
    }
}

#[test]
fn a_first_start_that_was_torn_before_it_was_durable_begins_again() {
    let dir = tempfile::tempdir().unwrap();
    drop(Node::start(dir.path()).unwrap());
    // The file comes after the flush, so a crash before it leaves none.
    std::fs::remove_file(file(dir.path(), "quorum-state")).unwrap();
    let bytes = std::fs::read(file(dir.path(), LOG)).unwrap();
    for cut in 0..bytes.len() {
        let torn = copy(dir.path());
        std::fs::write(file(torn.path(), LOG), &bytes[..cut]).unwrap();
        if let Err(error) = Node::start(torn.path()) {
            panic!("torn at {cut}: {error}");
        }
    }
}
