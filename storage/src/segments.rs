//! The list of a log's segments as readers see it: a snapshot that never changes. Roll, truncation and deletion put
//! another list in its place.

use std::sync::Arc;

use ottla_model::Offset;

use crate::segment::Segment;

/// Segments in order of their bases. The last one is the active one.
///
/// Invariant: never empty, bases strictly ascending.
#[derive(Debug, Clone)]
pub(crate) struct Segments {
    list: Vec<Arc<Segment>>,
}

impl Segments {
    pub(crate) fn new(list: Vec<Arc<Segment>>) -> Self {
        assert!(!list.is_empty(), "a log has an active segment");
        assert!(list.is_sorted_by(|a, b| a.base() < b.base()), "segments are listed in order");
        Self { list }
    }

    pub(crate) fn active(&self) -> &Arc<Segment> {
        self.list.last().expect("a log has an active segment")
    }

    pub(crate) fn first(&self) -> &Arc<Segment> {
        self.list.first().expect("a log has an active segment")
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Segment>> {
        self.list.iter()
    }

    /// The segments from the one that may hold `offset` on: the last one whose base is not above it, or all.
    pub(crate) fn from(&self, offset: Offset) -> &[Arc<Segment>] {
        let floor = self.list.partition_point(|segment| segment.base() <= offset).saturating_sub(1);
        self.list.get(floor..).unwrap_or_default()
    }

    /// The segment after the one with this base.
    pub(crate) fn after(&self, base: Offset) -> Option<&Arc<Segment>> {
        self.list.get(self.list.partition_point(|segment| segment.base() <= base))
    }

    /// The list with one more segment.
    pub(crate) fn with(&self, segment: Arc<Segment>) -> Self {
        let mut list = self.list.clone();
        list.push(segment);
        Self::new(list)
    }
}
