//! Which of Kafka's error codes says which cause. The one place: storage, partitions and batches say what happened.

use ottla_model::ErrorCode;
use ottla_model::batch::BatchRejection;
use ottla_network::PoolError;
use ottla_storage::LogError;

use crate::partition::PartitionError;

/// The code for what a partition could not do.
pub(crate) fn of_partition(error: &PartitionError) -> ErrorCode {
    match error {
        PartitionError::NotLeader { .. } => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        PartitionError::EpochFenced { .. } => ErrorCode::FENCED_LEADER_EPOCH,
        PartitionError::EpochUnknown { .. } => ErrorCode::UNKNOWN_LEADER_EPOCH,
        PartitionError::NotEnoughReplicas { .. } => ErrorCode::NOT_ENOUGH_REPLICAS,
        PartitionError::NotInTransaction { .. } => ErrorCode::INVALID_TXN_STATE,
        PartitionError::Removed => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        PartitionError::Log(error) => of_log(error),
    }
}

/// The code for what a log could not do.
pub(crate) fn of_log(error: &LogError) -> ErrorCode {
    match error {
        LogError::OffsetOutOfRange { .. } => ErrorCode::OFFSET_OUT_OF_RANGE,
        LogError::BatchTooLarge { .. } => ErrorCode::RECORD_LIST_TOO_LARGE,
        LogError::SequenceOutOfOrder { .. } => ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        LogError::ProducerEpochFenced { .. } => ErrorCode::INVALID_PRODUCER_EPOCH,
        LogError::TransactionOpen { .. } => ErrorCode::INVALID_TXN_STATE,
        LogError::CoordinatorFenced { .. } => ErrorCode::TRANSACTION_COORDINATOR_FENCED,
        // A log that is closed has another one, or none: the client finds out by asking for metadata.
        LogError::Closed => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        LogError::DirectoryFailed(_) | LogError::Io { .. } | LogError::Malformed { .. } => {
            ErrorCode::KAFKA_STORAGE_ERROR
        }
        LogError::Damaged { .. } => ErrorCode::CORRUPT_MESSAGE,
        _ => ErrorCode::UNKNOWN_SERVER_ERROR,
    }
}

/// The code for a batch that may not be appended.
pub(crate) fn of_batch(rejection: &BatchRejection) -> ErrorCode {
    match rejection {
        BatchRejection::UnknownMagic { .. }
        | BatchRejection::Length { .. }
        | BatchRejection::ShorterThanHeader { .. }
        | BatchRejection::Crc(_) => ErrorCode::CORRUPT_MESSAGE,
        BatchRejection::TooLarge { .. } => ErrorCode::MESSAGE_TOO_LARGE,
        BatchRejection::LengthOverflow { .. }
        | BatchRejection::UnknownCodec { .. }
        | BatchRejection::Compression(_) => ErrorCode::UNKNOWN_SERVER_ERROR,
        BatchRejection::Timestamps { .. } => ErrorCode::INVALID_TIMESTAMP,
        BatchRejection::NoBatch { .. }
        | BatchRejection::SeveralBatches
        | BatchRejection::OldMagic { .. }
        | BatchRejection::BaseOffset { .. }
        | BatchRejection::OffsetRange { .. }
        | BatchRejection::RecordCount { .. }
        | BatchRejection::OffsetsAndCount { .. }
        | BatchRejection::ControlBatch
        | BatchRejection::Sequence { .. }
        | BatchRejection::Malformed { .. }
        | BatchRejection::RecordTooLarge { .. }
        | BatchRejection::MissingKeys { .. }
        | BatchRejection::Rebuild { .. } => ErrorCode::INVALID_RECORD,
    }
}

/// The code for work that the blocking pool did not do.
pub(crate) fn of_pool(error: PoolError) -> ErrorCode {
    match error {
        // The broker is about to stop; another one, or a later one, answers.
        PoolError::Stopped => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        PoolError::Panicked | PoolError::NoThread => ErrorCode::UNKNOWN_SERVER_ERROR,
    }
}
