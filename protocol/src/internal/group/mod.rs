//! The records of `__consumer_offsets`: committed offsets and groups of all kinds, one file each with the key and the
//! value. Which key type goes with which of them is [`ConsumerOffsetsRecord`](super::ConsumerOffsetsRecord)'s to say.

pub mod consumer_group_current_member_assignment;
pub mod consumer_group_member_metadata;
pub mod consumer_group_metadata;
pub mod consumer_group_partition_metadata;
pub mod consumer_group_regular_expression;
pub mod consumer_group_target_assignment_member;
pub mod consumer_group_target_assignment_metadata;
pub mod group_metadata;
pub mod offset_commit;
pub mod share_group_current_member_assignment;
pub mod share_group_member_metadata;
pub mod share_group_metadata;
pub mod share_group_state_partition_metadata;
pub mod share_group_target_assignment_member;
pub mod share_group_target_assignment_metadata;
pub mod streams_group_current_member_assignment;
pub mod streams_group_member_metadata;
pub mod streams_group_metadata;
pub mod streams_group_target_assignment_member;
pub mod streams_group_target_assignment_metadata;
pub mod streams_group_topology;

pub use consumer_group_current_member_assignment::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
};
pub use consumer_group_member_metadata::{ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue};
pub use consumer_group_metadata::{ConsumerGroupMetadataKey, ConsumerGroupMetadataValue};
pub use consumer_group_partition_metadata::{
    ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue,
};
pub use consumer_group_regular_expression::{
    ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue,
};
pub use consumer_group_target_assignment_member::{
    ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue,
};
pub use consumer_group_target_assignment_metadata::{
    ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue,
};
pub use group_metadata::{GroupMetadataKey, GroupMetadataValue};
pub use offset_commit::{LegacyOffsetCommitKey, LegacyOffsetCommitValue, OffsetCommitKey, OffsetCommitValue};
pub use share_group_current_member_assignment::{
    ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue,
};
pub use share_group_member_metadata::{ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue};
pub use share_group_metadata::{ShareGroupMetadataKey, ShareGroupMetadataValue};
pub use share_group_state_partition_metadata::{
    ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue,
};
pub use share_group_target_assignment_member::{
    ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue,
};
pub use share_group_target_assignment_metadata::{
    ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue,
};
pub use streams_group_current_member_assignment::{
    StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue,
};
pub use streams_group_member_metadata::{StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue};
pub use streams_group_metadata::{StreamsGroupMetadataKey, StreamsGroupMetadataValue};
pub use streams_group_target_assignment_member::{
    StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue,
};
pub use streams_group_target_assignment_metadata::{
    StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue,
};
pub use streams_group_topology::{StreamsGroupTopologyKey, StreamsGroupTopologyValue};
