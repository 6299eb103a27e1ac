//! A consumer of the classic protocol as its client keeps it (cooperative: it keeps what it has while it joins anew), and
//! what it sends.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_coordinator::{Client, Event, Reply, Token};
use ottla_model::{ErrorCode, PartitionIndex, TopicName, Uuid};
use ottla_protocol::internal::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition,
};
use ottla_protocol::internal::{decode_versioned, encode_versioned};
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};

use super::world::{GROUP, Has, World};

/// The version of subscriptions that it writes: with what it has.
const SUBSCRIPTION_VERSION: i16 = 1;

#[derive(Debug, Clone)]
pub(crate) struct ClassicConsumer {
    pub(crate) id: CompactString,
    pub(crate) instance: Option<CompactString>,
    pub(crate) generation: i32,
    pub(crate) topics: Vec<TopicName>,
    pub(crate) has: Has,
    pub(crate) protocols: Vec<CompactString>,
}

impl ClassicConsumer {
    pub(crate) fn new(topics: &[&str]) -> Self {
        Self {
            id: CompactString::default(),
            instance: None,
            generation: -1,
            topics: topics.iter().map(|name| TopicName::from(*name)).collect(),
            has: Has::new(),
            protocols: vec!["range".into()],
        }
    }

    fn client() -> Client {
        Client { id: "classic".into(), host: "/127.0.0.1".into(), version: 9 }
    }

    pub(crate) fn send_join(&self, world: &mut World) -> Token {
        let name = |topic: &Uuid| world.topics_by_id(topic);
        let owned = self.has.iter().filter_map(|(topic, numbers)| {
            let partitions = numbers.iter().copied().map(PartitionIndex::new).collect();
            Some(TopicPartition { topic: name(topic)?, partitions })
        });
        let subscription = ConsumerProtocolSubscription {
            topics: self.topics.clone(),
            user_data: None,
            owned_partitions: owned.collect(),
            generation_id: -1,
            rack_id: None,
        };
        let metadata = encode_versioned(&subscription, SUBSCRIPTION_VERSION).expect("a subscription");
        let protocols = self
            .protocols
            .iter()
            .map(|name| JoinGroupRequestProtocol { name: name.clone(), metadata: metadata.clone() });
        let request = JoinGroupRequest {
            group_id: GROUP.into(),
            session_timeout_ms: 45_000,
            rebalance_timeout_ms: 60_000,
            member_id: self.id.clone(),
            group_instance_id: self.instance.clone(),
            protocol_type: "consumer".into(),
            protocols: protocols.collect(),
            reason: None,
        };
        let random = world.random();
        world.event(Event::JoinGroup { client: Self::client(), request, random })
    }

    /// Joins, and again with its id where it has none; the answer.
    pub(crate) fn join(&mut self, world: &mut World) -> JoinGroupResponse {
        let token = self.send_join(world);
        let mut answer = joined(world, token);
        if answer.error_code == ErrorCode::MEMBER_ID_REQUIRED {
            self.id = answer.member_id.clone();
            let token = self.send_join(world);
            // An empty group waits for its delay, which is 0.
            world.pass(0);
            answer = joined(world, token);
        }
        if answer.error_code == ErrorCode::NONE {
            self.id = answer.member_id.clone();
            self.generation = answer.generation_id;
        }
        answer
    }

    pub(crate) fn send_sync(&self, world: &mut World, given: &[(CompactString, Bytes)]) -> Token {
        let assignments = given.iter().map(|(member_id, assignment)| SyncGroupRequestAssignment {
            member_id: member_id.clone(),
            assignment: assignment.clone(),
        });
        let request = SyncGroupRequest {
            group_id: GROUP.into(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            group_instance_id: self.instance.clone(),
            protocol_type: Some("consumer".into()),
            protocol_name: self.protocols.first().cloned(),
            assignments: assignments.collect(),
        };
        world.event(Event::SyncGroup { client: Client { version: 5, ..Self::client() }, request })
    }

    pub(crate) fn sync(&mut self, world: &mut World, given: &[(CompactString, Bytes)]) -> SyncGroupResponse {
        let token = self.send_sync(world, given);
        let answer = match world.answers.get(&token) {
            Some((Reply::SyncGroup(response), _)) => response.clone(),
            other => panic!("{other:?}"),
        };
        if answer.error_code == ErrorCode::NONE && !answer.assignment.is_empty() {
            let (assignment, _): (ConsumerProtocolAssignment, i16) =
                decode_versioned(answer.assignment.clone()).expect("an assignment");
            let topics = assignment.assigned_partitions.into_iter().map(|topic| {
                let id = world.topic_id(&topic.topic).expect("a topic that exists");
                (id, topic.partitions.iter().map(|partition| partition.get()).collect())
            });
            self.has = topics.collect();
        }
        answer
    }

    pub(crate) fn heartbeat(&self, world: &mut World) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: GROUP.into(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            group_instance_id: self.instance.clone(),
        };
        let token =
            world.event(Event::Heartbeat { client: Client { version: 4, ..Self::client() }, request });
        match world.answers.get(&token) {
            Some((Reply::Heartbeat(response), _)) => response.error_code,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn leave(&self, world: &mut World) -> LeaveGroupResponse {
        let member = MemberIdentity {
            member_id: self.id.clone(),
            group_instance_id: self.instance.clone(),
            reason: None,
        };
        let request = LeaveGroupRequest {
            group_id: GROUP.into(),
            member_id: CompactString::default(),
            members: vec![member],
        };
        let token =
            world.event(Event::LeaveGroup { client: Client { version: 5, ..Self::client() }, request });
        match world.answers.get(&token) {
            Some((Reply::LeaveGroup(response), _)) => response.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// What a client does in a while: heartbeats, and joins and syncs anew if it is told to. Whether anything changed.
    pub(crate) fn live(&mut self, world: &mut World) -> bool {
        let before = (self.generation, self.has.clone());
        let must_join = self.generation < 0
            || match self.heartbeat(world) {
                ErrorCode::NONE => false,
                ErrorCode::REBALANCE_IN_PROGRESS => true,
                _ => {
                    *self = Self {
                        instance: self.instance.clone(),
                        ..Self { topics: self.topics.clone(), ..Self::new(&[]) }
                    };
                    true
                }
            };
        if must_join && self.join(world).error_code == ErrorCode::NONE {
            let code = self.sync(world, &[]).error_code;
            return code != ErrorCode::NONE || before != (self.generation, self.has.clone());
        }
        must_join
    }

    pub(crate) fn numbers(&self, topic: Uuid) -> Vec<i32> {
        self.has.get(&topic).into_iter().flatten().copied().collect()
    }
}

pub(crate) fn joined(world: &World, token: Token) -> JoinGroupResponse {
    match world.answers.get(&token) {
        Some((Reply::JoinGroup(response), _)) => response.clone(),
        other => panic!("{other:?}"),
    }
}

/// An assignment as a leader writes it.
pub(crate) fn assignment(topic: &str, numbers: &[i32], user_data: Option<&'static [u8]>) -> Bytes {
    let partitions = numbers.iter().copied().map(PartitionIndex::new).collect();
    let assignment = ConsumerProtocolAssignment {
        assigned_partitions: vec![TopicPartition { topic: topic.into(), partitions }],
        user_data: user_data.map(Bytes::from_static),
    };
    encode_versioned(&assignment, SUBSCRIPTION_VERSION).expect("an assignment")
}
