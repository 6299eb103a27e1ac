//! Rounds of a classic group: sync, heartbeats, leaving, falling silent, static members, and what a restart changes.

use compact_str::CompactString;
use ottla_coordinator::{AppendFailure, Event, Reply};
use ottla_model::{ErrorCode, GroupId};

use crate::host::{GROUP, Host, Join, client, defaults};

fn quick() -> Host {
    let mut config = defaults();
    config.classic.initial_rebalance_delay = std::time::Duration::ZERO;
    Host::new(config)
}

fn again(member: &CompactString) -> Join {
    Join { member: member.clone(), ..Join::new() }
}

fn anew_static(instance: &str, version: i16) -> Join {
    Join { version, instance: Some(instance.into()), ..Join::new() }
}

#[test]
fn followers_wait_for_the_leaders_assignments_and_get_them_once_they_are_written() {
    let mut host = quick();
    let joins = [host.join_anew(), host.join_anew()];
    host.advance(0);
    let (first, second) = (host.joined(joins[0].1), host.joined(joins[1].1));
    let (leader, follower) = if first.members.is_empty() { (&second, &first) } else { (&first, &second) };
    let early = host.sync(&follower.member_id, 1, &[]);
    assert!(host.waits(early));
    assert_eq!(
        host.heartbeat(&follower.member_id, None, 1),
        ErrorCode::NONE,
        "completing is no reason to join anew"
    );
    let token = host.sync(&leader.member_id, 1, &[(&follower.member_id, "theirs")]);
    assert_eq!(host.synced(token).assignment, "", "who is left out has nothing");
    let answer = host.synced(early);
    assert_eq!(answer.assignment, "theirs");
    assert_eq!(
        (answer.protocol_type.as_deref(), answer.protocol_name.as_deref()),
        (Some("consumer"), Some("range"))
    );
    let late = host.sync(&follower.member_id, 1, &[]);
    assert_eq!(host.synced(late).assignment, "theirs", "a second time too");
}

#[test]
fn a_sync_that_does_not_belong_to_the_round_is_refused() {
    let mut host = quick();
    let token = host.sync("nobody", 1, &[]);
    assert_eq!(host.synced(token).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    let (ids, generation) = host.stable(1);
    for (member, generation, error) in [
        ("stranger", generation, ErrorCode::UNKNOWN_MEMBER_ID),
        (ids[0].as_str(), generation + 1, ErrorCode::ILLEGAL_GENERATION),
    ] {
        let token = host.sync(member, generation, &[]);
        assert_eq!(host.synced(token).error_code, error);
    }
}

#[test]
fn assignments_that_could_not_be_written_are_told_as_failed_and_the_round_is_repeated() {
    let mut host = quick();
    let joins = [host.join_anew(), host.join_anew()];
    host.advance(0);
    let joined = joins.map(|(_, token)| host.joined(token));
    let leader = joined[0].leader.clone();
    host.failure = Some(AppendFailure::NotLeader);
    let tokens: Vec<_> = joined
        .iter()
        .filter(|join| join.member_id != leader)
        .map(|join| host.sync(&join.member_id, 1, &[]))
        .collect();
    let led = host.sync(&leader, 1, &[(&leader, "x")]);
    assert_eq!(host.synced(led).error_code, ErrorCode::NOT_COORDINATOR);
    for token in tokens {
        assert_eq!(host.synced(token).error_code, ErrorCode::NOT_COORDINATOR);
    }
    assert_eq!(host.state(), "PreparingRebalance");
    assert_eq!(host.heartbeat(&leader, None, 1), ErrorCode::REBALANCE_IN_PROGRESS);
}

#[test]
fn a_newcomer_lets_everybody_join_anew_and_who_does_not_is_out() {
    let mut host = quick();
    let (ids, generation) = host.stable(2);
    let (newcomer, token) = host.join_anew();
    assert_eq!(host.heartbeat(&ids[0], None, generation), ErrorCode::REBALANCE_IN_PROGRESS);
    let rejoined = host.join(again(&ids[0]));
    assert!(host.waits(token) && host.waits(rejoined));
    for _ in 0..12 {
        host.advance(4_900);
        host.heartbeat(&ids[1], None, generation);
    }
    assert!(host.waits(token), "59 s have passed of 60");
    host.advance(2_000);
    let (old, new) = (host.joined(rejoined), host.joined(token));
    assert_eq!((old.generation_id, new.generation_id), (2, 2));
    assert_eq!(old.members.len() + new.members.len(), 2, "{newcomer}");
    assert_eq!(host.heartbeat(&ids[1], None, generation), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_follower_that_joins_again_unchanged_is_told_the_present_generation_and_a_leader_begins_a_round() {
    let mut host = quick();
    let (ids, generation) = host.stable(2);
    let token = host.join(again(&ids[0]));
    let (leader, follower) = match host.answer(token) {
        Some(Reply::JoinGroup(joined)) => {
            assert_eq!((joined.error_code, joined.generation_id), (ErrorCode::NONE, generation));
            (ids[1].clone(), ids[0].clone())
        }
        _ => return leader_began(host, &ids[1]),
    };
    assert_eq!(host.state(), "Stable");
    host.join(again(&leader));
    leader_began(host, &follower);
}

fn leader_began(mut host: Host, other: &str) {
    assert_eq!(host.state(), "PreparingRebalance");
    assert_eq!(host.heartbeat(other, None, 1), ErrorCode::REBALANCE_IN_PROGRESS);
}

#[test]
fn a_member_that_is_silent_for_its_session_is_out_and_a_heartbeat_gives_it_a_whole_one() {
    let mut host = quick();
    let (ids, generation) = host.stable(2);
    for _ in 0..5 {
        host.advance(9_999);
        assert_eq!(
            host.heartbeat(&ids[0], None, generation),
            if host.state() == "Stable" { ErrorCode::NONE } else { ErrorCode::REBALANCE_IN_PROGRESS }
        );
    }
    assert_eq!(host.heartbeat(&ids[1], None, generation), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(host.state(), "PreparingRebalance");
    let token = host.join(again(&ids[0]));
    assert_eq!(host.joined(token).generation_id, 2, "nobody else is waited for");
}

#[test]
fn an_id_that_is_never_used_holds_the_round_up_for_its_session_at_most() {
    let mut host = quick();
    let (ids, generation) = host.stable(1);
    let token = host.join(Join { session_ms: 6_000, ..Join::new() });
    let unused = host.joined(token).member_id;
    assert_eq!(
        host.heartbeat(&ids[0], None, generation),
        ErrorCode::NONE,
        "an id alone is no reason for a round"
    );
    let (_, newcomer) = host.join_anew();
    let rejoined = host.join(again(&ids[0]));
    host.advance(5_999);
    assert!(host.waits(newcomer), "for the one who may still come");
    host.advance(1);
    assert_eq!(host.joined(newcomer).generation_id, 2);
    assert_eq!(host.joined(rejoined).generation_id, 2);
    let token = host.join(Join { member: unused, ..Join::new() });
    assert_eq!(host.joined(token).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn an_id_that_is_given_back_is_not_waited_for() {
    let mut host = quick();
    let (ids, _) = host.stable(2);
    let token = host.join(Join::new());
    let unused = host.joined(token).member_id;
    let (_, newcomer) = host.join_anew();
    let tokens = [newcomer, host.join(again(&ids[0])), host.join(again(&ids[1]))];
    assert!(tokens.iter().all(|token| host.waits(*token)));
    assert!(host.leave(&[(&unused, None)]).members[0].error_code.is_none());
    assert!(tokens.iter().all(|token| !host.waits(*token)));
}

#[test]
fn clients_that_join_and_never_come_back_do_not_let_the_group_grow() {
    let mut host = quick();
    for _ in 0..100 {
        // Without an id first, each is a member at once.
        host.join(Join { version: 1, session_ms: 6_000, rebalance_ms: 6_000, ..Join::new() });
        host.advance(1_000);
        let group = host.machine.groups().next().expect("the group");
        assert!(group.members <= 18, "{} members", group.members);
    }
    host.advance(20_000);
    assert_eq!(host.state(), "Empty");
}

#[test]
fn leaving_answers_for_each_member_and_lets_the_others_go_on() {
    let mut host = quick();
    let absent = host.leave(&[("a", None)]);
    assert_eq!(
        (absent.error_code, absent.members[0].error_code),
        (ErrorCode::NONE, ErrorCode::UNKNOWN_MEMBER_ID)
    );
    let (ids, _) = host.stable(3);
    let tokens = [host.join(again(&ids[0])), host.join(again(&ids[1]))];
    let began = host.state() == "PreparingRebalance";
    let answer = host.leave(&[(&ids[2], None), ("stranger", None), ("", Some("nobody"))]);
    let codes: Vec<_> = answer.members.iter().map(|member| member.error_code).collect();
    assert_eq!(codes, [ErrorCode::NONE, ErrorCode::UNKNOWN_MEMBER_ID, ErrorCode::UNKNOWN_MEMBER_ID]);
    if began {
        assert_eq!(
            tokens.iter().filter(|token| !host.waits(**token)).count(),
            2,
            "the last one is not waited for"
        );
    }
}

#[test]
fn the_last_one_to_leave_lets_the_group_be_empty_in_a_generation_of_its_own() {
    let mut host = quick();
    let (ids, generation) = host.stable(1);
    host.leave(&[(&ids[0], None)]);
    assert_eq!(host.state(), "Empty");
    let (_, token) = host.join_anew();
    host.advance(0);
    assert_eq!(host.joined(token).generation_id, generation + 2);
}

#[test]
fn members_that_do_not_sync_are_out_when_the_rebalance_timeout_has_passed() {
    let mut host = quick();
    let joins = [host.join_anew(), host.join_anew()];
    host.advance(0);
    let joined = joins.map(|(_, token)| host.joined(token));
    let follower = joined.iter().find(|join| join.members.is_empty()).expect("one follows").member_id.clone();
    let waiting = host.sync(&follower, 1, &[]);
    // The leader only sends heartbeats.
    for _ in 0..12 {
        host.advance(5_000);
        host.heartbeat(&joined[0].leader, None, 1);
    }
    assert_eq!(host.synced(waiting).error_code, ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(host.heartbeat(&joined[0].leader, None, 1), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_static_member_that_comes_back_has_a_new_id_and_nobody_else_notices() {
    let mut host = quick();
    let token = host.join(anew_static("i", 9));
    host.advance(0);
    let first = host.joined(token);
    assert!(first.member_id.starts_with("i-"), "{}", first.member_id);
    host.sync_all(std::slice::from_ref(&first.member_id), &first.member_id, 1);
    let token = host.join(anew_static("i", 9));
    let second = host.joined(token);
    assert_eq!((second.error_code, second.generation_id, second.skip_assignment), (ErrorCode::NONE, 1, true));
    assert_eq!((second.leader.as_str(), second.members.len()), (second.member_id.as_str(), 1));
    assert_ne!(first.member_id, second.member_id);
    assert_eq!(host.state(), "Stable");
    let token = host.sync(&second.member_id, 1, &[]);
    assert_eq!(host.synced(token).assignment, "0", "what the one before had");
    assert_eq!(host.heartbeat(&first.member_id, Some("i"), 1), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(host.heartbeat(&second.member_id, Some("i"), 1), ErrorCode::NONE);

    // A client that knows nothing of skipping is not told that it leads.
    let token = host.join(anew_static("i", 8));
    let third = host.joined(token);
    assert_eq!((third.leader.as_str(), third.members.len()), (second.member_id.as_str(), 0));
    // After a restart it is still this one.
    host.restart();
    assert_eq!(host.heartbeat(&third.member_id, Some("i"), 1), ErrorCode::NONE);
}

#[test]
fn a_static_member_whose_new_id_could_not_be_written_keeps_the_old_one() {
    let mut host = quick();
    let token = host.join(anew_static("i", 9));
    host.advance(0);
    let first = host.joined(token).member_id;
    host.sync_all(std::slice::from_ref(&first), &first, 1);
    host.failure = Some(AppendFailure::Unavailable);
    let token = host.join(anew_static("i", 9));
    assert_eq!(host.joined(token).error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(host.heartbeat(&first, Some("i"), 1), ErrorCode::NONE);
    let token = host.sync(&first, 1, &[]);
    assert_eq!(host.synced(token).assignment, "0");
}

#[test]
fn a_static_member_is_not_expelled_by_a_round_and_leaves_by_its_instance_id() {
    let mut host = quick();
    let token = host.join(Join { session_ms: 100_000, ..anew_static("i", 9) });
    host.advance(0);
    let stays = host.joined(token).member_id;
    host.sync_all(std::slice::from_ref(&stays), &stays, 1);
    let (_, newcomer) = host.join_anew();
    host.advance(60_000);
    let joined = host.joined(newcomer);
    assert_eq!(
        (joined.generation_id, joined.members.len()),
        (2, 2),
        "the newcomer leads, the static one is there"
    );
    let answer = host.leave(&[("", Some("i"))]);
    assert!(answer.members[0].error_code.is_none());
    assert_eq!(host.heartbeat(&stays, Some("i"), 1), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn after_a_restart_members_have_a_whole_session_and_a_round_under_way_is_forgotten() {
    let mut host = quick();
    let (ids, generation) = host.stable(2);
    host.advance(9_000);
    host.restart();
    host.advance(9_999);
    for id in &ids {
        assert_eq!(host.heartbeat(id, None, generation), ErrorCode::NONE);
    }
    let joins = [host.join(again(&ids[0])), host.join(again(&ids[1]))];
    host.join_anew();
    host.restart();
    assert!(joins.iter().any(|token| host.waits(*token)) || host.state() == "Stable");
    assert_eq!(
        (host.state(), host.heartbeat(&ids[0], None, generation + 1)),
        ("Stable", ErrorCode::ILLEGAL_GENERATION)
    );
}

#[test]
fn whoever_waits_is_told_when_the_partition_moves() {
    let mut host = quick();
    let (ids, _) = host.stable(2);
    let (_, waiting) = host.join_anew();
    let told = host.unload();
    assert_eq!(told.len(), 1, "{ids:?}");
    let (token, Reply::JoinGroup(answer)) = &told[0] else { panic!("{told:?}") };
    assert_eq!((*token, answer.error_code), (waiting, ErrorCode::NOT_COORDINATOR));
}

#[test]
fn other_protocol_types_are_groups_too() {
    let mut host = quick();
    let connect =
        Join { kind: "connect".into(), protocols: vec![("sessioned", "x")], version: 3, ..Join::new() };
    let token = host.join(connect);
    host.advance(0);
    let joined = host.joined(token);
    assert_eq!(
        (joined.protocol_type.as_deref(), joined.protocol_name.as_deref()),
        (Some("connect"), Some("sessioned"))
    );
    let described = host.ask(Event::DescribeGroups { client: client(6), groups: vec![GroupId::from(GROUP)] });
    let Reply::DescribeGroups(described) = described else { panic!("{described:?}") };
    assert_eq!(
        (described[0].protocol_type.as_str(), described[0].group_state.as_str()),
        ("connect", "CompletingRebalance")
    );
    assert_eq!((described[0].members.len(), described[0].members[0].member_metadata.len()), (1, 0));
}
