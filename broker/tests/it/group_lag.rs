//! How far groups are behind, as the broker tells those who show it: in records and in time.

use ottla_broker::GroupLag;
use ottla_model::ErrorCode;
use ottla_model::compression::Compression;
use ottla_testkit::TestBroker;

use crate::group_requests::{commit, ready};
use crate::requests::{append, batch_at, create_topic, now_ms};

/// The lags of all groups, in the order of their names.
fn lags(broker: &TestBroker) -> Vec<GroupLag> {
    let mut lags = Vec::new();
    broker.running().broker().for_each_group_lag(&mut |lag| lags.push(lag));
    lags.sort_by(|a, b| (&a.group, a.partition).cmp(&(&b.group, b.partition)));
    lags
}

#[test]
fn a_group_is_behind_by_the_records_that_it_has_not_consumed_and_by_the_age_of_the_first_of_them() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let hour_ms = 3_600_000;
    // Three batches of two records: three hours old, two hours, and of now.
    let begin = now_ms();
    for hours in [3, 2, 0] {
        append(&mut connection, "t", 0, batch_at(2, begin - hours * hour_ms, Compression::NONE));
    }
    for (group, offset) in [("at-start", 0), ("in-a-batch", 3), ("at-end", 6), ("beyond", 9)] {
        ready(&mut connection, group);
        assert_eq!(commit(&mut connection, group, "", -1, "t", offset), ErrorCode::NONE);
    }
    // Twice: the second time the times of the records are known.
    for _ in 0..2 {
        let lags = lags(&broker);
        let told: Vec<_> = lags
            .iter()
            .map(|lag| {
                let ends = lag.ends.unwrap();
                assert_eq!((ends.end.get(), ends.last_stable.get()), (6, 6));
                let hours = i64::try_from(ends.behind_ms.unwrap()).unwrap() / hour_ms;
                (lag.group.as_str(), lag.committed.get(), ends.records, hours)
            })
            .collect();
        assert_eq!(
            told,
            [("at-end", 6, 0, 0), ("at-start", 0, 6, 3), ("beyond", 9, 0, 0), ("in-a-batch", 3, 3, 2)]
        );
    }
    assert_eq!(commit(&mut connection, "at-start", "", -1, "t", 4), ErrorCode::NONE);
    let moved = lags(&broker).into_iter().find(|lag| lag.group.as_str() == "at-start").unwrap();
    let ends = moved.ends.unwrap();
    assert_eq!(ends.records, 2);
    assert!(ends.behind_ms.unwrap() <= u64::try_from(now_ms() - begin).unwrap());
}
