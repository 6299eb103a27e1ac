//! The file `quorum-state`: the epoch and leader that this node knows of, as Kafka keeps them beside its metadata log.
//! The log itself knows its epochs; the file is what a Kafka that takes the directory over looks at first.

use ottla_model::{LeaderEpoch, NodeId, Uuid};
use serde_json::Value;

/// The file's name.
pub(crate) const FILE_NAME: &str = "quorum-state";

/// Why the file says nothing.
#[derive(Debug, thiserror::Error)]
pub enum QuorumStateError {
    /// It is no JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is missing or holds something else.
    #[error("the field {field} is missing or has another type")]
    Field {
        /// The field's name.
        field: &'static str,
    },
    /// It is of a later version than this one knows.
    #[error("data_version {version} is neither 0 nor 1")]
    Version {
        /// The version.
        version: i64,
    },
}

/// What the file holds, as far as one node alone has use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuorumState {
    pub(crate) leader_id: NodeId,
    pub(crate) leader_epoch: LeaderEpoch,
}

impl QuorumState {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, QuorumStateError> {
        let value: Value = serde_json::from_slice(text)?;
        let number = |field: &'static str| {
            value.get(field).and_then(Value::as_i64).ok_or(QuorumStateError::Field { field })
        };
        let version = number("data_version")?;
        if !(0..=1).contains(&version) {
            return Err(QuorumStateError::Version { version });
        }
        let narrow = |field: &'static str| {
            i32::try_from(number(field)?).map_err(|_| QuorumStateError::Field { field })
        };
        Ok(Self {
            leader_id: NodeId::new(narrow("leaderId")?),
            leader_epoch: LeaderEpoch::new(narrow("leaderEpoch")?),
        })
    }

    /// In data version 1, which goes with `kraft.version` 1, or 0, with which voters are no record of the log.
    pub(crate) fn to_text(self, kraft_version: i16) -> String {
        let Self { leader_id, leader_epoch } = self;
        if kraft_version == 0 {
            return format!(
                "{{\"clusterId\":\"\",\"leaderId\":{leader_id},\"leaderEpoch\":{leader_epoch},\"votedId\":-1,\
                 \"appliedOffset\":0,\"currentVoters\":[{{\"voterId\":{leader_id}}}],\"data_version\":0}}"
            );
        }
        let nobody = Uuid::ZERO;
        format!(
            "{{\"leaderId\":{leader_id},\"leaderEpoch\":{leader_epoch},\"votedId\":-1,\
             \"votedDirectoryId\":\"{nobody}\",\"data_version\":1}}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_one_that_kafka_writes() {
        let state = QuorumState { leader_id: NodeId::new(1), leader_epoch: LeaderEpoch::new(3) };
        let kafkas = "{\"leaderId\":1,\"leaderEpoch\":3,\"votedId\":-1,\
                      \"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}";
        assert_eq!(state.to_text(1), kafkas);
        assert_eq!(QuorumState::parse(kafkas.as_bytes()).unwrap(), state);
        assert_eq!(QuorumState::parse(state.to_text(0).as_bytes()).unwrap(), state);
    }

    #[test]
    fn a_later_version_or_another_text_is_an_error() {
        for (text, expected) in [
            ("", "not JSON"),
            ("{}", "data_version is missing"),
            ("{\"data_version\":2}", "data_version 2"),
            ("{\"data_version\":1,\"leaderId\":1}", "leaderEpoch"),
            ("{\"data_version\":1,\"leaderId\":\"x\",\"leaderEpoch\":1}", "leaderId"),
            ("{\"data_version\":1,\"leaderId\":1,\"leaderEpoch\":4294967296}", "leaderEpoch"),
        ] {
            let error = QuorumState::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
