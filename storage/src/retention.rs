//! Which of a log's oldest segments may go: a pure function from the segments, the topic's limits, the log's positions and
//! the time. It deletes nothing; who calls it raises the log start, writes that down, and takes the segments out.
//!
//! Three passes, in Kafka's order, each over what the one before has left: by log start, by size, by time. A pass takes
//! whole segments from the first one on and stops at the first that stays.

use ottla_model::Offset;

use crate::log::{LogConfig, SegmentInfo};

/// What a topic wants to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionLimits {
    /// `cleanup.policy` contains `delete`. Without it only what lies below the log start goes.
    pub deletes: bool,
    /// `retention.ms`, or none for ever.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`, or none for any size.
    pub retention_bytes: Option<u64>,
}

/// Where a log stands, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionView {
    /// The log start.
    pub log_start: Offset,
    /// Nothing at or above it goes: it is not on all replicas.
    pub high_watermark: Offset,
    /// The time.
    pub now_ms: i64,
}

/// What may go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionPlan {
    /// Segments that lie below the log start.
    pub by_start: usize,
    /// Segments after those, beyond `retention.bytes`.
    pub by_size: usize,
    /// Segments after those, older than `retention.ms`.
    pub by_time: usize,
    /// Where the last of them ends, and what stays begins; none when nothing goes.
    pub end: Option<Offset>,
    /// The active segment goes too, so another one must be begun before.
    pub roll_first: bool,
    /// The time pass ended at a segment that has a timestamp later than now: it stays, and all after it.
    pub future: Option<FutureSegment>,
}

/// A segment that no lapse of `retention.ms` lets go soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FutureSegment {
    /// Its base offset.
    pub base: Offset,
    /// Its largest timestamp.
    pub timestamp_ms: i64,
}

impl From<&LogConfig> for RetentionLimits {
    fn from(config: &LogConfig) -> Self {
        Self {
            deletes: config.deletes,
            retention_ms: config.retention_ms,
            retention_bytes: config.retention_bytes,
        }
    }
}

impl RetentionPlan {
    /// How many segments go.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.by_start + self.by_size + self.by_time
    }
}

/// Decides which of these segments, all of a log in their order, may go.
#[must_use]
pub fn plan(segments: &[SegmentInfo], view: &RetentionView, limits: &RetentionLimits) -> RetentionPlan {
    let mut left = Left { segments, high_watermark: view.high_watermark };
    let mut plan = RetentionPlan { by_start: left.pass_by_start(view.log_start), ..RetentionPlan::default() };
    if limits.deletes {
        plan.by_size = limits.retention_bytes.map_or(0, |bytes_max| left.pass_by_size(bytes_max));
        if let Some(age_ms_max) = limits.retention_ms {
            plan.by_time = left.pass_by_time(age_ms_max, view.now_ms);
            plan.future = left.future(view.now_ms);
        }
    }
    let gone = segments.get(..plan.segments()).unwrap_or_default();
    plan.end = gone.last().map(|last| last.end);
    plan.roll_first = gone.len() == segments.len() && !gone.is_empty();
    plan
}

/// The segments that no pass has taken yet.
struct Left<'a> {
    segments: &'a [SegmentInfo],
    high_watermark: Offset,
}

impl Left<'_> {
    /// The active segment never lies below the log start: there is none after it.
    fn pass_by_start(&mut self, log_start: Offset) -> usize {
        self.take_while(|segment| !segment.is_active && segment.end <= log_start)
    }

    /// A segment goes if without it there are still `bytes_max` bytes.
    fn pass_by_size(&mut self, bytes_max: u64) -> usize {
        let total = self.segments.iter().fold(0_u64, |sum, segment| sum.saturating_add(segment.bytes));
        let Some(mut excess) = total.checked_sub(bytes_max) else { return 0 };
        self.take_while(|segment| match excess.checked_sub(segment.bytes) {
            Some(rest) => {
                excess = rest;
                true
            }
            None => false,
        })
    }

    fn pass_by_time(&mut self, age_ms_max: i64, now_ms: i64) -> usize {
        self.take_while(|segment| now_ms.saturating_sub(newest_ms(segment)) > age_ms_max)
    }

    /// The first segment that is left, where its timestamps and nothing else keep it.
    fn future(&self, now_ms: i64) -> Option<FutureSegment> {
        let first = self.segments.first().filter(|first| self.may_go(first))?;
        let timestamp_ms = first.largest_timestamp_ms.filter(|timestamp_ms| *timestamp_ms > now_ms)?;
        Some(FutureSegment { base: first.base, timestamp_ms })
    }

    fn take_while(&mut self, mut goes: impl FnMut(&SegmentInfo) -> bool) -> usize {
        let taken = self.segments.iter().take_while(|segment| self.may_go(segment) && goes(segment)).count();
        self.segments = self.segments.get(taken..).unwrap_or_default();
        taken
    }

    /// An empty active segment is all that an empty log is, and an unreplicated one is all that there is of its records.
    fn may_go(&self, segment: &SegmentInfo) -> bool {
        segment.end <= self.high_watermark && !(segment.is_active && segment.bytes == 0)
    }
}

/// Record time; the file's own where no record has one.
fn newest_ms(segment: &SegmentInfo) -> i64 {
    segment.largest_timestamp_ms.filter(|timestamp_ms| *timestamp_ms >= 0).unwrap_or(segment.modified_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    const UNLIMITED: RetentionLimits =
        RetentionLimits { deletes: true, retention_ms: None, retention_bytes: None };

    /// Segments of ten offsets each, with so many bytes and such a largest timestamp; the last one is the active one.
    fn segments(list: &[(u64, Option<i64>)]) -> Vec<SegmentInfo> {
        let last = list.len() - 1;
        let segment = |(number, (bytes, largest_timestamp_ms)): (usize, &(u64, Option<i64>))| {
            let base = i64::try_from(number).unwrap() * 10;
            let offsets = if number == last && *bytes == 0 { 0 } else { 10 };
            SegmentInfo {
                base: Offset::new(base),
                end: Offset::new(base + offsets),
                bytes: *bytes,
                largest_timestamp_ms: *largest_timestamp_ms,
                modified_ms: NOW_MS,
                is_active: number == last,
            }
        };
        list.iter().enumerate().map(segment).collect()
    }

    fn view(log_start: i64, high_watermark: i64) -> RetentionView {
        RetentionView {
            log_start: Offset::new(log_start),
            high_watermark: Offset::new(high_watermark),
            now_ms: NOW_MS,
        }
    }

    fn old(days: i64) -> Option<i64> {
        Some(NOW_MS - days * DAY_MS)
    }

    fn by_size(bytes: u64) -> RetentionLimits {
        RetentionLimits { retention_bytes: Some(bytes), ..UNLIMITED }
    }

    fn by_days(days: i64) -> RetentionLimits {
        RetentionLimits { retention_ms: Some(days * DAY_MS), ..UNLIMITED }
    }

    #[test]
    fn what_lies_below_the_log_start_goes_whatever_the_policy() {
        let segments = segments(&[(100, old(9)), (100, old(8)), (100, old(1))]);
        for deletes in [true, false] {
            let limits = RetentionLimits { deletes, ..UNLIMITED };
            assert_eq!(plan(&segments, &view(19, 30), &limits).by_start, 1);
            let plan = plan(&segments, &view(20, 30), &limits);
            assert_eq!((plan.by_start, plan.end, plan.roll_first), (2, Some(Offset::new(20)), false));
        }
    }

    #[test]
    fn a_log_start_at_the_log_end_leaves_the_active_segment() {
        let segments = segments(&[(100, old(9)), (100, old(8))]);
        let plan = plan(&segments, &view(20, 20), &UNLIMITED);
        assert_eq!((plan.segments(), plan.roll_first), (1, false));
    }

    #[test]
    fn compaction_alone_neither_counts_bytes_nor_days() {
        let segments = segments(&[(100, old(90)), (100, old(80)), (100, old(70))]);
        let limits = RetentionLimits { deletes: false, retention_ms: Some(0), retention_bytes: Some(0) };
        assert_eq!(plan(&segments, &view(0, 30), &limits), RetentionPlan::default());
    }

    #[test]
    fn a_segment_goes_by_size_only_if_enough_is_left_without_it() {
        let segments = segments(&[(100, old(1)), (60, old(1)), (100, old(1))]);
        for (bytes, gone) in [(261, 0), (260, 0), (161, 0), (160, 1), (101, 1), (100, 2), (1, 2), (0, 3)] {
            assert_eq!(plan(&segments, &view(0, 30), &by_size(bytes)).by_size, gone, "{bytes}");
        }
    }

    #[test]
    fn sizes_beyond_32_bits_add_up() {
        let gib = 1_u64 << 30;
        let segments = segments(&[(gib, old(1)), (gib, old(1)), (gib, old(1)), (gib / 2, old(1))]);
        assert_eq!(plan(&segments, &view(0, 40), &by_size(3 * gib / 2)).by_size, 2);
        let huge = [(u64::MAX, old(1)), (u64::MAX, old(1))];
        assert_eq!(plan(&self::segments(&huge), &view(0, 20), &by_size(u64::MAX)).by_size, 0);
    }

    #[test]
    fn a_segment_goes_when_its_newest_record_is_older_than_the_limit() {
        let segments = segments(&[(100, old(9)), (100, old(7)), (100, old(8)), (100, old(1))]);
        let plan_of = |ms| {
            let limits = RetentionLimits { retention_ms: Some(ms), ..UNLIMITED };
            plan(&segments, &view(0, 40), &limits).by_time
        };
        assert_eq!(plan_of(9 * DAY_MS), 0);
        assert_eq!(plan_of(9 * DAY_MS - 1), 1);
        assert_eq!(plan_of(7 * DAY_MS), 1, "a younger one keeps those after it");
        assert_eq!(plan_of(7 * DAY_MS - 1), 3);
        assert_eq!(plan_of(0), 4);
        assert_eq!(plan_of(i64::MAX), 0);
    }

    #[test]
    fn without_timestamps_the_files_time_counts_and_only_then() {
        let mut list = segments(&[(100, None), (100, Some(-1)), (100, old(1))]);
        assert_eq!(plan(&list, &view(0, 30), &by_days(7)).by_time, 0);
        for segment in &mut list {
            segment.modified_ms = NOW_MS - 8 * DAY_MS;
        }
        assert_eq!(plan(&list, &view(0, 30), &by_days(7)).by_time, 2);
    }

    #[test]
    fn a_timestamp_in_the_future_keeps_its_segment_from_time_but_not_from_size() {
        let year_2100 = 4_102_444_800_000;
        let segments = segments(&[(100, Some(year_2100)), (100, old(9)), (100, old(1))]);
        let by_time = plan(&segments, &view(0, 30), &by_days(7));
        assert_eq!(by_time.segments(), 0);
        let future = FutureSegment { base: Offset::ZERO, timestamp_ms: year_2100 };
        assert_eq!(by_time.future, Some(future));
        let both =
            plan(&segments, &view(0, 30), &RetentionLimits { retention_bytes: Some(250), ..by_days(7) });
        assert_eq!((both.by_size, both.by_time, both.future), (0, 0, Some(future)));
        let both =
            plan(&segments, &view(0, 30), &RetentionLimits { retention_bytes: Some(200), ..by_days(7) });
        assert_eq!((both.by_size, both.by_time, both.future), (1, 1, None));
    }

    #[test]
    fn nothing_above_the_high_watermark_goes() {
        let segments = segments(&[(100, old(9)), (100, old(9)), (100, old(9))]);
        for (high_watermark, gone) in [(0, 0), (9, 0), (10, 1), (29, 2), (30, 3)] {
            let limits = by_days(7);
            let found = plan(&segments, &view(0, high_watermark), &limits);
            assert_eq!((found.by_time, found.roll_first), (gone, gone == 3), "{high_watermark}");
            assert_eq!(plan(&segments, &view(30, high_watermark), &UNLIMITED).by_start, gone.min(2));
        }
    }

    #[test]
    fn an_expired_active_segment_goes_after_a_roll_and_an_empty_one_stays() {
        let lone = segments(&[(100, old(8))]);
        let found = plan(&lone, &view(0, 10), &by_days(7));
        assert_eq!((found.by_time, found.end, found.roll_first), (1, Some(Offset::new(10)), true));
        let empty = segments(&[(100, old(8)), (0, None)]);
        let found = plan(&empty, &view(0, 10), &by_days(7));
        assert_eq!((found.by_time, found.end, found.roll_first), (1, Some(Offset::new(10)), false));
        let found = plan(&segments(&[(0, None)]), &view(0, 0), &by_days(0));
        assert_eq!(found, RetentionPlan::default());
    }

    /// Kafka's three loops as they are written there: over and over the first segment, until it stays.
    fn twin(segments: &[SegmentInfo], view: &RetentionView, limits: &RetentionLimits) -> [usize; 3] {
        let mut left: Vec<SegmentInfo> = segments.to_vec();
        let mut gone = [0; 3];
        for (pass, gone) in gone.iter_mut().enumerate() {
            while let Some(first) = left.first() {
                let next = left.get(1);
                let upper = next.map_or(first.end, |next| next.base);
                let size: u128 = left.iter().map(|segment| u128::from(segment.bytes)).sum();
                let newest = match first.largest_timestamp_ms {
                    Some(largest) => largest,
                    None => first.modified_ms,
                };
                let goes = match pass {
                    0 => next.is_some_and(|next| next.base <= view.log_start),
                    1 => limits
                        .retention_bytes
                        .is_some_and(|bytes| size - u128::from(first.bytes) >= bytes.into()),
                    _ => limits.retention_ms.is_some_and(|ms| view.now_ms - newest > ms),
                };
                let is_kept_by_policy = pass > 0 && !limits.deletes;
                let is_last_and_empty = next.is_none() && first.bytes == 0;
                if !goes || is_kept_by_policy || upper > view.high_watermark || is_last_and_empty {
                    break;
                }
                left.remove(0);
                *gone += 1;
            }
        }
        gone
    }

    #[test]
    fn the_plan_is_that_of_three_plain_loops() {
        let mut state: u64 = 0x1234_5678_9abc_def0;
        let mut below = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        let mut sizes = [0_usize; 4];
        for run in 0..20_000 {
            let count = 1 + below(6);
            let mut list = Vec::new();
            let mut base = i64::try_from(below(50)).unwrap();
            for number in 0..count {
                let is_active = number + 1 == count;
                let bytes = if below(4) == 0 { 0 } else { below(5) * below(1 << 32) };
                let offsets = if is_active && bytes == 0 { 0 } else { 1 + i64::try_from(below(9)).unwrap() };
                let time = |offset: u64| NOW_MS + DAY_MS - i64::try_from(offset).unwrap() * DAY_MS;
                list.push(SegmentInfo {
                    base: Offset::new(base),
                    end: Offset::new(base + offsets),
                    bytes,
                    largest_timestamp_ms: (bytes > 0 && below(5) > 0).then(|| time(below(12))),
                    modified_ms: time(below(12)),
                    is_active,
                });
                base += offsets;
            }
            let within = |part: u64| Offset::new(base - i64::try_from(part).unwrap());
            let view = RetentionView {
                log_start: within(below(u64::try_from(base).unwrap() + 1)),
                high_watermark: if below(2) == 0 {
                    within(0)
                } else {
                    within(below(10).min(base.unsigned_abs()))
                },
                now_ms: NOW_MS,
            };
            let limits = RetentionLimits {
                deletes: below(6) > 0,
                retention_ms: (below(3) > 0).then(|| i64::try_from(below(9)).unwrap() * DAY_MS),
                retention_bytes: (below(3) > 0).then(|| below(3) * below(1 << 33)),
            };
            let found = plan(&list, &view, &limits);
            let expected = twin(&list, &view, &limits);
            assert_eq!(
                [found.by_start, found.by_size, found.by_time],
                expected,
                "run {run}: {list:?} {view:?} {limits:?}"
            );
            assert_eq!(found.roll_first, found.segments() == list.len(), "run {run}");
            for (seen, gone) in sizes.iter_mut().zip(expected) {
                *seen += usize::from(gone > 0);
            }
            sizes[3] += usize::from(found.roll_first);
        }
        assert!(sizes.iter().all(|seen| *seen > 200), "each pass had something to do: {sizes:?}");
    }
}
