//! A group is of one of two kinds, and a running group can change its kind; everything that is asked of both goes
//! through [`Group`].

pub(crate) mod classic;
pub(crate) mod consumer;

use classic::ClassicGroup;
use consumer::ConsumerGroup;

/// A group of either kind.
#[derive(Debug)]
pub(crate) enum Group {
    /// Its members join and sync in rounds, and one of them assigns; also groups that only commit offsets.
    Classic(ClassicGroup),
    /// Its members heartbeat, and the coordinator assigns (KIP-848).
    Consumer(ConsumerGroup),
}
