//! Idempotent producers that were silent for `producer.id.expiration.ms` take memory for nothing.

use crate::context::Broker;

/// Forgets them in every log.
pub(crate) fn expire_producers(broker: &Broker) {
    let now_ms = broker.clock.now_ms();
    let expired: usize =
        broker.partitions.all().iter().map(|partition| partition.log().expire_producers(now_ms)).sum();
    if expired > 0 {
        tracing::info!(expired, "silent producers forgotten");
    }
}
