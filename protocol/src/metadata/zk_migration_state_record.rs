//! Metadata record 21, version 0 (KIP-866). No cluster of 4.0 or later writes it.

use crate::Message;

/// Where a migration from ZooKeeper stands.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 21, versions = 0..=0, flexible = 0)]
pub struct ZkMigrationStateRecord {
    /// 0 none, 1 migrated and still writing to ZooKeeper, 2 being migrated, 3 done.
    pub zk_migration_state: i8,
}
