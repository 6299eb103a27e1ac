//! Joining a classic group: ids, the first round, the vote, who is refused.

use ottla_coordinator::AppendFailure;
use ottla_model::ErrorCode;

use crate::host::{Host, Join, defaults};

#[test]
fn a_new_member_is_given_an_id_and_joins_with_it() {
    let mut host = Host::new(defaults());
    let first = host.join(Join::new());
    let answer = host.joined(first);
    assert_eq!(answer.error_code, ErrorCode::MEMBER_ID_REQUIRED);
    assert!(answer.member_id.starts_with("c-") && answer.member_id.len() == 2 + 36, "{}", answer.member_id);
    assert_eq!(answer.generation_id, -1);
    let second = host.join(Join { member: answer.member_id.clone(), ..Join::new() });
    assert!(host.waits(second), "for the initial delay");
    host.advance(3_000);
    let joined = host.joined(second);
    assert_eq!((joined.error_code, joined.generation_id), (ErrorCode::NONE, 1));
    assert_eq!((joined.leader.as_str(), joined.members.len()), (answer.member_id.as_str(), 1));
    assert_eq!(joined.protocol_name.as_deref(), Some("range"));
}

#[test]
fn a_member_of_an_old_version_joins_at_once() {
    let mut host = Host::new(defaults());
    let token = host.join(Join { version: 3, ..Join::new() });
    host.advance(3_000);
    assert!(host.joined(token).error_code.is_none());
}

#[test]
fn the_first_round_waits_as_long_again_for_each_newcomer_up_to_the_rebalance_timeout() {
    let mut host = Host::new(defaults());
    let join = Join { rebalance_ms: 10_000, version: 3, ..Join::new() };
    // Delays of 3, 3, 3 and 1 s; the last one began after 9 s and nobody came in it.
    let mut tokens = Vec::new();
    for _ in 0..4 {
        tokens.push(host.join(join.clone()));
        host.advance(2_000);
    }
    tokens.push(host.join(join));
    host.advance(1_999);
    assert!(tokens.iter().all(|token| host.waits(*token)));
    host.advance(1);
    let joined: Vec<_> = tokens.iter().map(|token| host.joined(*token)).collect();
    assert!(joined.iter().all(|joined| joined.generation_id == 1));
    let leaders: Vec<_> = joined.iter().filter(|joined| !joined.members.is_empty()).collect();
    assert_eq!((leaders.len(), leaders[0].members.len()), (1, 5), "only the leader is told who is there");
}

#[test]
fn who_cannot_be_a_member_is_refused_and_changes_nothing() {
    let mut host = Host::new(defaults());
    let refusals = [
        (Join { session_ms: 5_999, ..Join::new() }, ErrorCode::INVALID_SESSION_TIMEOUT),
        (Join { session_ms: 1_800_001, ..Join::new() }, ErrorCode::INVALID_SESSION_TIMEOUT),
        (Join { member: "stranger".into(), ..Join::new() }, ErrorCode::UNKNOWN_MEMBER_ID),
        (Join { kind: "".into(), ..Join::new() }, ErrorCode::INCONSISTENT_GROUP_PROTOCOL),
        (Join { protocols: vec![], ..Join::new() }, ErrorCode::INCONSISTENT_GROUP_PROTOCOL),
    ];
    for (join, error) in refusals {
        let token = host.join(join.clone());
        assert_eq!(host.joined(token).error_code, error, "{join:?}");
    }
    assert!(host.log.is_empty(), "no group was made");
    let (ids, generation) = host.stable(1);
    let others = [
        Join { kind: "connect".into(), member: ids[0].clone(), ..Join::new() },
        Join { protocols: vec![("sticky", "")], ..Join::new() },
    ];
    for join in others {
        let token = host.join(join);
        assert_eq!(host.joined(token).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    }
    assert_eq!(host.heartbeat(&ids[0], None, generation), ErrorCode::NONE, "it keeps its place");
}

#[test]
fn the_protocol_is_the_one_that_most_like_best_of_those_that_all_speak() {
    let mut host = Host::new(defaults());
    let speak = |protocols| Join { version: 3, protocols, ..Join::new() };
    let tokens = [
        host.join(speak(vec![("sticky", "1"), ("range", "1"), ("only", "1")])),
        host.join(speak(vec![("range", "2"), ("sticky", "2")])),
        host.join(speak(vec![("sticky", "3"), ("range", "3")])),
    ];
    host.advance(20_000);
    for token in tokens {
        assert_eq!(host.joined(token).protocol_name.as_deref(), Some("sticky"));
    }
}

#[test]
fn a_full_group_takes_nobody_else() {
    let mut config = defaults();
    config.classic.members_max = 2;
    let mut host = Host::new(config);
    let (ids, generation) = host.stable(2);
    let token = host.join(Join::new());
    assert_eq!(host.joined(token).error_code, ErrorCode::GROUP_MAX_SIZE_REACHED);
    assert_eq!(host.heartbeat(&ids[0], None, generation), ErrorCode::NONE);
}

#[test]
fn a_group_that_could_not_be_written_is_not_there() {
    let mut host = Host::new(defaults());
    host.failure = Some(AppendFailure::Unavailable);
    let token = host.join(Join::new());
    assert_eq!(host.joined(token).error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    let token = host.join(Join { version: 1, ..Join::new() });
    assert_eq!(host.joined(token).error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(host.state(), "Dead");
    host.failure = None;
    host.stable(1);
}
