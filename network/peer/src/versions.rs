//! Which versions the other side serves, and which is the newest that both know. Asks nobody.

use ottla_protocol::messages::api_versions::ApiVersion;
use ottla_protocol::{ApiKey, VersionRange};

/// What a server said of the requests that it serves.
#[derive(Debug, Clone, Default)]
pub struct ServedVersions {
    ranges: Vec<(i16, VersionRange)>,
}

impl ServedVersions {
    /// Takes over an ApiVersions answer, keys that we do not know included.
    #[must_use]
    pub fn new(keys: &[ApiVersion]) -> Self {
        Self {
            ranges: keys
                .iter()
                .map(|key| (key.api_key, VersionRange::new(key.min_version, key.max_version)))
                .collect(),
        }
    }

    /// What the server named for this key.
    #[must_use]
    pub fn range(&self, key: i16) -> Option<VersionRange> {
        self.ranges.iter().find(|(found, _)| *found == key).map(|(_, range)| *range)
    }

    /// The newest stable version that both sides know.
    #[must_use]
    pub fn newest_of(&self, api: ApiKey) -> Option<i16> {
        let served = self.range(api.number())?;
        let ours = api.api().versions;
        let newest = served.last.min(ours.last);
        (newest >= served.first.max(ours.first)).then_some(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(first: i16, last: i16) -> ServedVersions {
        ServedVersions::new(&[ApiVersion { api_key: 0, min_version: first, max_version: last }])
    }

    #[test]
    fn the_newest_version_of_both_sides_is_taken_and_none_where_they_do_not_meet() {
        let ours = ApiKey::Produce.api().versions;
        assert_eq!(serving(0, ours.last + 5).newest_of(ApiKey::Produce), Some(ours.last));
        assert_eq!(serving(0, ours.last - 1).newest_of(ApiKey::Produce), Some(ours.last - 1));
        assert_eq!(serving(0, ours.first - 1).newest_of(ApiKey::Produce), None);
        assert_eq!(serving(ours.last + 1, ours.last + 5).newest_of(ApiKey::Produce), None);
        assert_eq!(serving(0, 9).newest_of(ApiKey::Fetch), None);
    }
}
