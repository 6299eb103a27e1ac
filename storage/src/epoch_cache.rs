//! Where each leader epoch of a log began (KIP-101): in memory, with the file `leader-epoch-checkpoint` behind it. An
//! append only changes the memory; whoever moves the recovery point writes the file first.

use ottla_model::{LeaderEpoch, Offset};

use crate::log::EpochEnd;

/// Epochs and their first offsets.
///
/// Invariant: both strictly ascending, no epoch negative.
#[derive(Debug, Clone, Default)]
pub(crate) struct EpochCache {
    starts: Vec<(LeaderEpoch, Offset)>,
    /// The file says something else.
    is_dirty: bool,
}

impl EpochCache {
    /// What the file says. Lines out of order, which nobody writes, are put in order by the rule of [`Self::begin`].
    pub(crate) fn from_file(entries: &[(LeaderEpoch, Offset)]) -> Self {
        let mut cache = Self::default();
        for (epoch, start) in entries {
            cache.begin(*epoch, *start);
        }
        cache.is_dirty = cache.starts != entries;
        cache
    }

    /// Of a file that says nothing: to be filled, and written over it.
    pub(crate) fn lost() -> Self {
        Self { starts: Vec::new(), is_dirty: true }
    }

    /// Notes that an epoch begins at `start`. Entries that contradict it go: it is the newest there is.
    pub(crate) fn begin(&mut self, epoch: LeaderEpoch, start: Offset) {
        if epoch.get() < 0 {
            return;
        }
        if self.starts.last().is_some_and(|(newest, at)| *newest == epoch && *at <= start) {
            return;
        }
        let stays = |(known, at): &&(LeaderEpoch, Offset)| *known < epoch && *at < start;
        let kept = self.starts.iter().take_while(stays).count();
        self.starts.truncate(kept);
        self.starts.push((epoch, start));
        self.is_dirty = true;
    }

    /// Takes the epochs away that begin at or above `end`.
    pub(crate) fn truncate_end(&mut self, end: Offset) {
        let kept = self.starts.partition_point(|(_, start)| *start < end);
        if kept < self.starts.len() {
            self.starts.truncate(kept);
            self.is_dirty = true;
        }
    }

    /// Forgets epochs that ended at or below `start`; the one that holds it begins there from now on.
    pub(crate) fn truncate_start(&mut self, start: Offset) {
        let holding = self.starts.partition_point(|(_, at)| *at <= start);
        let Some(gone) = holding.checked_sub(1) else { return };
        self.starts.drain(..gone);
        self.is_dirty |= gone > 0;
        if let Some((_, at)) = self.starts.first_mut().filter(|(_, at)| *at < start) {
            *at = start;
            self.is_dirty = true;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.is_dirty |= !self.starts.is_empty();
        self.starts.clear();
    }

    pub(crate) fn latest(&self) -> Option<LeaderEpoch> {
        self.starts.last().map(|(epoch, _)| *epoch)
    }

    /// The epoch of the record at `offset`.
    pub(crate) fn at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.starts.partition_point(|(_, start)| *start <= offset);
        self.starts.get(after.checked_sub(1)?).map(|(epoch, _)| *epoch)
    }

    /// The end of an epoch in a log that ends at `log_end`.
    pub(crate) fn end_of(&self, epoch: LeaderEpoch, log_end: Offset) -> Option<EpochEnd> {
        let newest = self.latest()?;
        if epoch.get() < 0 || epoch > newest {
            return None;
        }
        if epoch == newest {
            return Some(EpochEnd { epoch, end_offset: log_end });
        }
        let above = self.starts.partition_point(|(known, _)| *known <= epoch);
        let (_, end_offset) = *self.starts.get(above)?;
        let floor = above.checked_sub(1).and_then(|index| self.starts.get(index));
        Some(EpochEnd { epoch: floor.map_or(epoch, |(known, _)| *known), end_offset })
    }

    /// All entries.
    pub(crate) fn entries(&self) -> Vec<(LeaderEpoch, Offset)> {
        self.starts.clone()
    }

    /// The entries, if the file does not have them.
    pub(crate) fn unwritten(&self) -> Option<Vec<(LeaderEpoch, Offset)>> {
        self.is_dirty.then(|| self.starts.clone())
    }

    /// The file now has these entries.
    pub(crate) fn written(&mut self, entries: &[(LeaderEpoch, Offset)]) {
        if self.starts == entries {
            self.is_dirty = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(i32, i64)]) -> EpochCache {
        let entries: Vec<_> =
            entries.iter().map(|(epoch, start)| (LeaderEpoch::new(*epoch), Offset::new(*start))).collect();
        EpochCache::from_file(&entries)
    }

    fn list(cache: &EpochCache) -> Vec<(i32, i64)> {
        cache.starts.iter().map(|(epoch, start)| (epoch.get(), start.get())).collect()
    }

    #[test]
    fn an_epoch_is_noted_once_and_a_contradicting_entry_goes() {
        let mut cache = cache(&[(0, 0), (2, 10), (5, 40)]);
        assert!(cache.unwritten().is_none());
        cache.begin(LeaderEpoch::new(5), Offset::new(60));
        assert_eq!(list(&cache), [(0, 0), (2, 10), (5, 40)]);
        assert!(cache.unwritten().is_none());
        cache.begin(LeaderEpoch::new(4), Offset::new(50));
        assert_eq!(list(&cache), [(0, 0), (2, 10), (4, 50)]);
        cache.begin(LeaderEpoch::new(6), Offset::new(10));
        assert_eq!(list(&cache), [(0, 0), (6, 10)]);
        cache.begin(LeaderEpoch::UNKNOWN, Offset::new(70));
        assert_eq!(list(&cache), [(0, 0), (6, 10)]);
        let entries = cache.unwritten().unwrap();
        cache.written(&entries);
        assert!(cache.unwritten().is_none());
    }

    #[test]
    fn the_end_of_an_epoch_is_where_the_next_one_begins() {
        let cache = cache(&[(2, 10), (5, 40)]);
        let end = |epoch| {
            cache
                .end_of(LeaderEpoch::new(epoch), Offset::new(100))
                .map(|end| (end.epoch.get(), end.end_offset.get()))
        };
        assert_eq!(end(5), Some((5, 100)));
        assert_eq!(end(6), None);
        assert_eq!(end(4), Some((2, 40)));
        assert_eq!(end(2), Some((2, 40)));
        assert_eq!(end(1), Some((1, 10)));
        assert_eq!(end(-1), None);
        assert_eq!(EpochCache::default().end_of(LeaderEpoch::new(0), Offset::ZERO), None);
    }

    #[test]
    fn truncation_takes_from_either_end() {
        let mut all = cache(&[(0, 0), (2, 10), (5, 40)]);
        all.truncate_end(Offset::new(40));
        assert_eq!(list(&all), [(0, 0), (2, 10)]);
        let mut all = cache(&[(0, 0), (2, 10), (5, 40)]);
        all.truncate_start(Offset::new(20));
        assert_eq!(list(&all), [(2, 20), (5, 40)]);
        all.truncate_start(Offset::new(40));
        assert_eq!(list(&all), [(5, 40)]);
        all.truncate_start(Offset::new(0));
        assert_eq!(list(&all), [(5, 40)]);
        assert_eq!(all.at(Offset::new(39)), None);
        assert_eq!(all.at(Offset::new(41)), Some(LeaderEpoch::new(5)));
    }
}
