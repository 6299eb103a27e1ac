//! Topics that somebody asks for and that do not exist, created in the background: those that Metadata is asked for, where
//! both the broker and the client allow it, and those in which coordinators keep their state. The client is told that
//! they are unknown and asks again.

use std::collections::HashSet;
use std::sync::Arc;

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::TopicName;
use ottla_network::Repeats;
use ottla_protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use parking_lot::Mutex;

use crate::context::Broker;
use crate::internal_topics;

/// How long the controller may take, as the request says to it.
const TIMEOUT_MS: i32 = 30_000;

/// The topics that are being created, so that a client that asks again causes no second request.
#[derive(Debug, Default)]
pub(crate) struct AutoCreate {
    under_way: Mutex<HashSet<TopicName>>,
    /// Clients ask again and again.
    failures: Repeats,
}

impl AutoCreate {
    /// Takes those that nobody creates yet; the caller creates them.
    fn begin(&self, wanted: Vec<TopicName>) -> Vec<TopicName> {
        let mut under_way = self.under_way.lock();
        wanted.into_iter().filter(|name| under_way.insert(name.clone())).collect()
    }

    fn end(&self, names: &[TopicName]) {
        let mut under_way = self.under_way.lock();
        for name in names {
            under_way.remove(name);
        }
    }
}

/// Begins to create these topics, where nobody does already. To be called on a reactor.
pub(crate) fn begin(broker: &Arc<Broker>, names: Vec<TopicName>) {
    let names = broker.auto_create.begin(names);
    if !names.is_empty() {
        drop(tokio::task::spawn_local(create(Arc::clone(broker), names)));
    }
}

/// Creates topics with the broker's defaults, internal ones with theirs, and forgets that it does once they can be seen. Dropped before its end,
/// it leaves them counted as under way, so it runs as a task of its own.
async fn create(broker: Arc<Broker>, names: Vec<TopicName>) {
    let image = broker.image.load();
    let topics = names.iter().filter_map(|name| {
        if internal_topics::is_internal(name) {
            return internal_topics::creatable(&broker.config, &image, name);
        }
        Some(CreatableTopic {
            name: name.clone(),
            num_partitions: -1,
            replication_factor: -1,
            ..CreatableTopic::default()
        })
    });
    let topics = topics.collect();
    let request = CreateTopicsRequest { topics, timeout_ms: TIMEOUT_MS, ..CreateTopicsRequest::default() };
    match broker.controller.call(ControllerRequest::CreateTopics(request)).await {
        Ok(reply) => {
            broker.image.wait_for(reply.offset).await;
            if let ControllerResponse::CreateTopics(response) = reply.response {
                for topic in response.topics.iter().filter(|topic| !topic.error_code.is_none()) {
                    if let Some(left_out) = broker.auto_create.failures.due() {
                        let (topic, code) = (&topic.name, topic.error_code);
                        tracing::warn!(
                            %topic,
                            %code,
                            left_out,
                            "a topic that a client asked for was not auto-created"
                        );
                    }
                }
            }
        }
        Err(error) => {
            if let Some(left_out) = broker.auto_create.failures.due() {
                tracing::warn!(%error, left_out, "no topic was auto-created: there is no controller to ask");
            }
        }
    }
    broker.auto_create.end(&names);
}
