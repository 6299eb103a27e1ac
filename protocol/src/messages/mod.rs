//! Requests and responses, one file an API: both structs, their parts, and what each version changed. Which of them a
//! broker serves is [`api`](crate::api)'s table.

pub mod allocate_producer_ids;
pub mod api_versions;
pub mod broker_registration;
pub mod create_topics;
pub mod delete_topics;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_topic_partitions;
pub mod fetch;
pub mod init_producer_id;
pub mod list_offsets;
pub mod metadata;
pub mod offset_for_leader_epoch;
pub mod produce;
