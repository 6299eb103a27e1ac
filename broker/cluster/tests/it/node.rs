//! An embedded controller on a folder of its own, asked without a broker.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ottla_cluster::{
    ControllerLink, ControllerReply, ControllerRequest, ControllerResponse, Embedded, EmbeddedConfig,
    EmbeddedController, EmbeddedError, Endpoint, FeedEvent, LinkError, METADATA_FOLDER, MetadataFeed,
    MetadataImage, MetadataRetention, NodeIdentity,
};
use ottla_model::{LeaderEpoch, ManualClock, NodeId, Offset};
use ottla_protocol::messages::broker_registration::BrokerRegistrationRequest;
use ottla_protocol::messages::create_topics::{CreatableTopic, CreatableTopicResult, CreateTopicsRequest};
use ottla_protocol::messages::delete_topics::DeleteTopicsRequest;
use ottla_storage::{LogConfig, LogDir};

use crate::support::{NODE, directory, settings};

/// The log's first segment.
pub(crate) const LOG: &str = "00000000000000000000.log";
/// As in Kafka, 20 MiB.
const SNAPSHOT_AFTER_BYTES: u64 = 20 << 20;

pub(crate) fn config() -> EmbeddedConfig {
    let count = AtomicU64::new(0);
    EmbeddedConfig {
        identity: NodeIdentity { node_id: NODE, directory_id: directory() },
        voter_endpoint: Endpoint {
            listener: "CONTROLLER".into(),
            host: "localhost".into(),
            port: 9093,
            security_protocol: 0,
        },
        controller: settings(),
        min_insync_replicas: 1,
        snapshot_after_bytes: SNAPSHOT_AFTER_BYTES,
        retention: MetadataRetention::default(),
        log: LogConfig::default(),
        clock: Arc::new(ManualClock::new(1_700_000_000_000)),
        entropy: Arc::new(move || {
            let mut bytes = [0x22; 16];
            bytes[8..].copy_from_slice(&count.fetch_add(1, Ordering::Relaxed).to_be_bytes());
            bytes
        }),
    }
}

/// A running controller and the newest image that its feed gave.
pub(crate) struct Node {
    pub(crate) controller: EmbeddedController,
    pub(crate) link: Arc<dyn ControllerLink>,
    pub(crate) feed: Box<dyn MetadataFeed>,
    pub(crate) image: Arc<MetadataImage>,
    pub(crate) leader: (NodeId, LeaderEpoch),
    pub(crate) caught_up: Offset,
}

impl Node {
    pub(crate) fn start(log_dir: &Path) -> Result<Self, EmbeddedError> {
        Self::start_with(config(), log_dir)
    }

    pub(crate) fn start_with(config: EmbeddedConfig, log_dir: &Path) -> Result<Self, EmbeddedError> {
        let directory = LogDir::open(log_dir).unwrap();
        EmbeddedController::start(config, &directory).map(Self::of)
    }

    pub(crate) fn of(Embedded { controller, link, mut feed }: Embedded) -> Self {
        let Ok(Some(FeedEvent::Leader { id, epoch })) = feed.try_next() else { panic!("no leader") };
        let Ok(Some(FeedEvent::Image(image))) = feed.try_next() else { panic!("no image") };
        let Ok(Some(FeedEvent::CaughtUp { end })) = feed.try_next() else { panic!("not caught up") };
        Self { controller, link, feed, image, leader: (id, epoch), caught_up: end }
    }

    pub(crate) fn call(&mut self, request: ControllerRequest) -> Result<ControllerReply, LinkError> {
        let reply = block_on(self.link.call(request));
        self.follow();
        if let Ok(reply) = &reply {
            assert!(self.image.position().offset >= reply.offset, "the image was there before the reply");
        }
        reply
    }

    /// Takes over what the feed has.
    pub(crate) fn follow(&mut self) {
        while let Ok(Some(event)) = self.feed.try_next() {
            if let FeedEvent::Image(image) = event {
                self.image = image;
            }
        }
    }

    pub(crate) fn register(&mut self, request: BrokerRegistrationRequest) -> i64 {
        match self.call(ControllerRequest::BrokerRegistration(request)).unwrap().response {
            ControllerResponse::BrokerRegistration(response) => response.broker_epoch,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn create(&mut self, topics: Vec<CreatableTopic>) -> Vec<CreatableTopicResult> {
        let request = CreateTopicsRequest { topics, ..CreateTopicsRequest::default() };
        match self.call(ControllerRequest::CreateTopics(request)).unwrap().response {
            ControllerResponse::CreateTopics(response) => response.topics,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn delete(&mut self, name: &str) {
        let request =
            DeleteTopicsRequest { topic_names: vec![name.into()], ..DeleteTopicsRequest::default() };
        self.call(ControllerRequest::DeleteTopics(request)).unwrap();
    }

    pub(crate) fn topics(&self) -> Vec<String> {
        let mut names: Vec<String> = self.image.topics().map(|topic| topic.name.to_string()).collect();
        names.sort();
        names
    }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// A copy of the metadata folder in a log directory of its own: what a crash leaves, as long as nothing was cut.
pub(crate) fn copy(log_dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join(METADATA_FOLDER)).unwrap();
    for (name, path) in files(log_dir) {
        std::fs::copy(path, copy.path().join(METADATA_FOLDER).join(name)).unwrap();
    }
    copy
}

/// The files of the metadata folder, by name.
pub(crate) fn files(log_dir: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(log_dir.join(METADATA_FOLDER)).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    files.sort();
    files
}

pub(crate) fn file(log_dir: &Path, name: &str) -> PathBuf {
    log_dir.join(METADATA_FOLDER).join(name)
}

pub(crate) fn snapshots(log_dir: &Path) -> Vec<String> {
    files(log_dir).into_iter().map(|(name, _)| name).filter(|name| name.ends_with(".checkpoint")).collect()
}
