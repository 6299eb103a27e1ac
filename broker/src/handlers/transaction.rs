//! What the handlers of transactional requests share: how the coordinator is asked, how partitions join a transaction or
//! are found in one, and what older clients are told.

use std::time::Instant;

use ottla_coordinator::{Identity, Partitions, TransactionEvent, TransactionMachine, TransactionReply};
use ottla_model::{ErrorCode, PartitionIndex, TopicName};

use super::group;
use crate::dispatch::Call;

/// The client version of those who know that each end of a transaction raises the epoch (KIP-890).
pub(super) const RAISES_EPOCH: i16 = 2;
/// That of all others.
pub(super) const KEEPS_EPOCH: i16 = 0;

/// How a partition comes to be in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joining {
    /// By the request that writes to it.
    Added,
    /// The client has added it before.
    Verified,
}

/// What became of each partition.
pub(super) type Joined = Vec<(TopicName, PartitionIndex, ErrorCode)>;

/// Asks the coordinator of a transactional id, and waits until its answer may leave; none where it never comes, since the
/// broker stops. Dropping the future leaves whatever was written as it is.
pub(super) async fn ask(call: &Call<'_>, id: &str, event: TransactionEvent) -> Option<TransactionReply> {
    let transactions = &call.broker().transactions;
    let asked = transactions.ask(id, event);
    group::resolved::<TransactionMachine>(asked, call.waits(), transactions.commit_timeout()).await
}

/// Has partitions join a transaction, or verifies that they have. One that joins while the transaction before is still
/// ending waits for that a little, since its producer did nothing wrong. Dropping the future leaves what has joined.
pub(super) async fn join(
    call: &Call<'_>,
    by: &Identity,
    partitions: Partitions,
    joining: Joining,
) -> Option<Joined> {
    let config = &call.broker().config.transactions;
    let begin = Instant::now();
    loop {
        let (by, partitions) = (by.clone(), partitions.clone());
        let id = by.id.clone();
        let event = match joining {
            Joining::Added => TransactionEvent::AddPartitions {
                by,
                partitions: partitions.clone(),
                client_version: RAISES_EPOCH,
            },
            Joining::Verified => TransactionEvent::Verify { by, partitions: partitions.clone() },
        };
        match ask(call, id.as_str(), event).await? {
            TransactionReply::Verified(verified) => return Some(verified),
            TransactionReply::Added(ErrorCode::CONCURRENT_TRANSACTIONS)
                if begin.elapsed() + config.retry_after <= config.retry_time_max =>
            {
                tokio::time::sleep(config.retry_after).await;
            }
            TransactionReply::Added(code) => return Some(all(&partitions, code)),
            other => mismatched(&other),
        }
    }
}

/// One code for every partition.
pub(super) fn all(partitions: &Partitions, code: ErrorCode) -> Joined {
    let each =
        partitions.iter().flat_map(|(topic, indexes)| indexes.iter().map(move |index| (topic, *index)));
    each.map(|(topic, index)| (topic.clone(), index, code)).collect()
}

/// What a client is told that does not know the code of a fenced producer yet (KIP-588).
pub(super) fn fenced_since(first_version: i16, version: i16, code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::PRODUCER_FENCED if version < first_version => ErrorCode::INVALID_PRODUCER_EPOCH,
        code => code,
    }
}

/// What a client is told that does not know the code of a transaction that must be aborted yet (KIP-890).
pub(super) fn abortable_since(first_version: i16, version: i16, code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::TRANSACTION_ABORTABLE if version < first_version => ErrorCode::INVALID_TXN_STATE,
        code => code,
    }
}

/// The coordinator answers each event in kind.
pub(super) fn mismatched(reply: &TransactionReply) -> ! {
    unreachable!("the coordinator answers in kind, not with {reply:?}")
}
