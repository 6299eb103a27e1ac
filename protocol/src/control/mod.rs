//! The values of control records: transaction markers, and what a quorum writes into a metadata log beside its records.
//! Their keys and batches are `ottla_model`'s.

pub mod control_record_type;
pub mod end_txn_marker;
pub mod kraft_version;
pub mod leader_change;
pub mod snapshot;
pub mod voters;

pub use control_record_type::ControlRecordTypeSchema;
pub use end_txn_marker::EndTxnMarker;
pub use kraft_version::KRaftVersionRecord;
pub use leader_change::LeaderChangeMessage;
pub use snapshot::{SnapshotFooterRecord, SnapshotHeaderRecord};
pub use voters::VotersRecord;
