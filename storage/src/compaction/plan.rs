//! What a compaction would do in a log, whether that is worth it, and which log comes first: as Kafka decides it, from
//! values alone. Nothing is read or written here.

use ottla_model::Offset;

use crate::log::{LogConfig, SegmentInfo};

/// What planning looks at in one log.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    /// Its segments, oldest first.
    pub segments: &'a [SegmentInfo],
    /// The first offset that may be read.
    pub log_start: Offset,
    /// The first unwritten offset.
    pub log_end: Offset,
    /// No record at or above it may take another's place: the lowest of last stable offset, high watermark and recovery
    /// point.
    pub stable_end: Offset,
    /// Where the last compaction came to, if there was one.
    pub checkpoint: Option<Offset>,
    /// The topic's settings.
    pub config: &'a LogConfig,
    /// The time.
    pub now_ms: i64,
}

/// What a compaction of a log would look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CleanPlan {
    /// The first offset that was not compacted yet.
    pub first_dirty: Offset,
    /// The base of the first segment that is left as it is.
    pub end: Offset,
    /// Bytes of segments that were compacted before.
    pub clean_bytes: u64,
    /// Bytes of segments from `first_dirty` up to `end`.
    pub dirty_bytes: u64,
    /// The checkpoint lies outside of the log and counts for nothing: it should be replaced by `first_dirty`.
    pub checkpoint_is_invalid: bool,
    /// Records wait for longer than `max.compaction.lag.ms`, whatever the ratio.
    pub is_overdue: bool,
    /// More of the log than `min.cleanable.dirty.ratio` was not compacted yet.
    pub is_dirty_enough: bool,
}

impl CleanPlan {
    /// The share of the log that was not compacted yet, 0 to 1.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a ratio of sizes needs no more than a double has")]
    pub fn dirty_ratio(&self) -> f64 {
        let total = self.clean_bytes.saturating_add(self.dirty_bytes);
        if total == 0 { 0.0 } else { self.dirty_bytes as f64 / total as f64 }
    }

    /// Whether the log should be compacted now.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.is_dirty_enough || (self.is_overdue && self.dirty_bytes > 0)
    }
}

/// Plans the compaction of one log. `first_timestamp_ms` gives the largest timestamp of a segment's first batch, none
/// where it has none; it is asked only of segments of which that matters.
///
/// # Errors
/// Those of `first_timestamp_ms`.
pub fn plan<E>(
    input: &PlanInput<'_>,
    mut first_timestamp_ms: impl FnMut(&SegmentInfo) -> Result<Option<i64>, E>,
) -> Result<CleanPlan, E> {
    let (first_dirty, checkpoint_is_invalid) = first_dirty(input);
    let end = uncleanable_from(input, first_dirty);
    let bytes = |segments: &[SegmentInfo]| segments.iter().map(|segment| segment.bytes).sum();
    let below = |offset| input.segments.get(..count_below(input.segments, offset)).unwrap_or_default();
    let mut plan = CleanPlan {
        first_dirty,
        end,
        clean_bytes: bytes(below(first_dirty)),
        dirty_bytes: bytes(range(input.segments, first_dirty, end)),
        checkpoint_is_invalid,
        is_overdue: false,
        is_dirty_enough: false,
    };
    plan.is_dirty_enough = plan.dirty_ratio() > input.config.min_cleanable_dirty_ratio;
    if let Some(until_ms) = overdue_until_ms(input) {
        for segment in inactive_from(input.segments, first_dirty) {
            if first_timestamp_ms(segment)?.is_some_and(|first| first > 0 && first < until_ms) {
                plan.is_overdue = true;
                break;
            }
        }
    }
    Ok(plan)
}

/// The log to compact first among those that are due: the one of which the largest share was not compacted yet.
#[must_use]
pub fn dirtiest<'a, T>(plans: impl IntoIterator<Item = (T, &'a CleanPlan)>) -> Option<T> {
    let due = plans.into_iter().filter(|(_, plan)| plan.is_due());
    due.max_by(|(_, a), (_, b)| a.dirty_ratio().total_cmp(&b.dirty_ratio())).map(|(log, _)| log)
}

/// The checkpoint, unless it lies outside of the log: then the log start.
fn first_dirty(input: &PlanInput<'_>) -> (Offset, bool) {
    match input.checkpoint {
        None => (input.log_start, false),
        Some(at) if at < input.log_start || at > input.log_end => (input.log_start, true),
        Some(at) => (at, false),
    }
}

/// The base of the first segment that may not be compacted: the active one, the one in which the stable part ends, or
/// the first that is too young.
fn uncleanable_from(input: &PlanInput<'_>, first_dirty: Offset) -> Offset {
    let Some(active) = input.segments.last().map(|segment| segment.base) else { return first_dirty };
    let mut limit = active.min(input.stable_end);
    let lag_ms = input.config.min_compaction_lag_ms;
    if lag_ms > 0 {
        let young_ms = input.now_ms.saturating_sub(lag_ms);
        let is_young = |segment: &&SegmentInfo| largest_ms(segment) > young_ms;
        let youngest = inactive_from(input.segments, first_dirty).iter().find(is_young);
        limit = limit.min(youngest.map_or(active, |segment| segment.base));
    }
    let within = inactive_from(input.segments, limit.max(first_dirty));
    within.first().map_or(active, |segment| segment.base)
}

/// A segment's age: by its records, or where none has a timestamp, by its file.
fn largest_ms(segment: &SegmentInfo) -> i64 {
    segment.largest_timestamp_ms.unwrap_or(segment.modified_ms)
}

/// A first batch below this time has waited too long.
fn overdue_until_ms(input: &PlanInput<'_>) -> Option<i64> {
    let lag_ms = input.config.max_compaction_lag_ms.max(0);
    Some(input.now_ms.saturating_sub(lag_ms)).filter(|until| *until > 0)
}

/// How many segments begin below the offset.
fn count_below(segments: &[SegmentInfo], offset: Offset) -> usize {
    segments.partition_point(|segment| segment.base < offset)
}

/// The segments that may hold offsets from `from` up to `to`.
pub(crate) fn range(segments: &[SegmentInfo], from: Offset, to: Offset) -> &[SegmentInfo] {
    let floor = segments.partition_point(|segment| segment.base <= from).saturating_sub(1);
    segments.get(floor..count_below(segments, to)).unwrap_or_default()
}

/// The segments but the last that may hold offsets from `from` on.
fn inactive_from(segments: &[SegmentInfo], from: Offset) -> &[SegmentInfo] {
    segments.last().map_or(&[], |active| range(segments, from, active.base))
}

/// A segment as grouping sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groupable {
    pub(crate) base: Offset,
    pub(crate) bytes: u64,
    pub(crate) offset_index_bytes: u64,
    pub(crate) time_index_bytes: u64,
}

/// How many of the first segments become one: as many as fit a segment by their bytes, their indexes and their offsets
/// as they are now. `end` is the base of the first segment that is left as it is. 0 only where there are none.
pub(crate) fn first_group(segments: &[Groupable], end: Offset, config: &LogConfig) -> usize {
    let Some((first, later)) = segments.split_first() else { return 0 };
    let (mut sum, mut count) = (*first, 1);
    for (number, segment) in later.iter().enumerate() {
        sum.bytes = sum.bytes.saturating_add(segment.bytes);
        sum.offset_index_bytes = sum.offset_index_bytes.saturating_add(segment.offset_index_bytes);
        sum.time_index_bytes = sum.time_index_bytes.saturating_add(segment.time_index_bytes);
        let next = later.get(number + 1).map_or(end, |next| next.base);
        let span = next.get().saturating_sub(1).saturating_sub(first.base.get());
        let index_bytes_max = u64::from(config.segment_index_bytes);
        let fits = sum.bytes <= u64::from(config.segment_bytes)
            && sum.offset_index_bytes <= index_bytes_max
            && sum.time_index_bytes <= index_bytes_max
            // An empty one takes no offsets, so that none is left over every 2³¹ of them.
            && (segment.bytes == 0 || span <= i64::from(i32::MAX));
        if !fits {
            break;
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Segments at 0, 10, 20, … of these sizes; the last one is active.
    fn segments(sizes: &[u64]) -> Vec<SegmentInfo> {
        let base = |number: usize| Offset::new(i64::try_from(number * 10).unwrap());
        sizes
            .iter()
            .enumerate()
            .map(|(number, bytes)| SegmentInfo {
                base: base(number),
                end: base(number + 1),
                bytes: *bytes,
                largest_timestamp_ms: Some(base(number).get() * 1000),
                modified_ms: 0,
                is_active: number + 1 == sizes.len(),
            })
            .collect()
    }

    fn input<'a>(segments: &'a [SegmentInfo], config: &'a LogConfig) -> PlanInput<'a> {
        let end = segments.last().map_or(Offset::ZERO, |segment| segment.end);
        PlanInput {
            segments,
            log_start: Offset::ZERO,
            log_end: end,
            stable_end: end,
            checkpoint: None,
            config,
            now_ms: 1_000_000,
        }
    }

    fn planned(input: &PlanInput<'_>) -> CleanPlan {
        let plan = plan(input, |segment| Ok::<_, Infallible>(Some(segment.base.get() * 1000 + 1)));
        plan.unwrap_or_else(|never| match never {})
    }

    fn at(offset: i64) -> Option<Offset> {
        Some(Offset::new(offset))
    }

    #[test]
    fn a_log_is_due_when_more_than_the_ratio_of_it_is_dirty() {
        let segments = segments(&[50, 50, 50, 50, 7]);
        let mut config = LogConfig { min_cleanable_dirty_ratio: 0.5, ..LogConfig::default() };
        let half = PlanInput { checkpoint: at(20), ..input(&segments, &config) };
        let plan = planned(&half);
        assert_eq!((plan.clean_bytes, plan.dirty_bytes), (100, 100));
        assert!(!plan.is_due(), "exactly the ratio is not enough");
        assert_eq!((plan.first_dirty, plan.end), (Offset::new(20), Offset::new(40)));
        config.min_cleanable_dirty_ratio = 0.49;
        assert!(planned(&PlanInput { checkpoint: at(20), ..input(&segments, &config) }).is_due());
        // Nothing dirty is not enough for a ratio of 0 either.
        config.min_cleanable_dirty_ratio = 0.0;
        assert!(!planned(&PlanInput { checkpoint: at(40), ..input(&segments, &config) }).is_due());
    }

    #[test]
    fn the_end_is_the_segment_of_the_first_unstable_record_and_never_the_active_one() {
        let segments = segments(&[50, 50, 50, 50, 7]);
        let config = LogConfig::default();
        let end = |stable_end| {
            planned(&PlanInput { stable_end: Offset::new(stable_end), ..input(&segments, &config) }).end.get()
        };
        assert_eq!(end(100), 40);
        assert_eq!(end(40), 40);
        assert_eq!(end(39), 30);
        assert_eq!(end(30), 30);
        assert_eq!(end(5), 0);
        assert_eq!(
            planned(&PlanInput { stable_end: Offset::ZERO, ..input(&segments, &config) }).dirty_bytes,
            0
        );
    }

    #[test]
    fn segments_younger_than_the_least_lag_wait() {
        let segments = segments(&[50, 50, 50, 50, 7]);
        let config = LogConfig { min_compaction_lag_ms: 80_000, ..LogConfig::default() };
        let end = |now_ms| planned(&PlanInput { now_ms, ..input(&segments, &config) }).end.get();
        assert_eq!(end(1_000_000), 40);
        // The segment at 10 has its largest timestamp at 10,000.
        assert_eq!(end(100_000), 30);
        assert_eq!(end(99_999), 20);
        assert_eq!(end(89_999), 10);
        assert_eq!(end(0), 0);
    }

    #[test]
    fn records_that_waited_for_longer_than_the_largest_lag_make_a_log_due_whatever_the_ratio() {
        let segments = segments(&[50, 50, 50, 50, 7]);
        let config = LogConfig {
            min_cleanable_dirty_ratio: 1.0,
            max_compaction_lag_ms: 100_000,
            ..LogConfig::default()
        };
        let due = |checkpoint, now_ms| {
            planned(&PlanInput { checkpoint: at(checkpoint), now_ms, ..input(&segments, &config) }).is_due()
        };
        assert!(!due(10, 110_001));
        assert!(due(10, 110_002));
        assert!(due(15, 110_002), "the segment that holds the first dirty offset counts");
        assert!(!due(20, 110_002));
        assert!(!due(40, 1_000_000), "the active segment never counts");
    }

    #[test]
    fn a_checkpoint_outside_of_the_log_counts_for_nothing() {
        let segments = segments(&[50, 50, 50, 50, 7]);
        let config = LogConfig::default();
        let of = |checkpoint, log_start| {
            let log_start = Offset::new(log_start);
            let plan = planned(&PlanInput { checkpoint, log_start, ..input(&segments, &config) });
            (plan.first_dirty.get(), plan.checkpoint_is_invalid)
        };
        assert_eq!(of(None, 12), (12, false));
        assert_eq!(of(at(11), 12), (12, true));
        assert_eq!(of(at(51), 12), (12, true));
        assert_eq!(of(at(50), 12), (50, false));
        assert_eq!(of(at(12), 12), (12, false));
    }

    #[test]
    fn the_dirtiest_of_those_that_are_due_comes_first() {
        let plan = |clean_bytes, dirty_bytes, is_dirty_enough, is_overdue| CleanPlan {
            first_dirty: Offset::ZERO,
            end: Offset::ZERO,
            clean_bytes,
            dirty_bytes,
            checkpoint_is_invalid: false,
            is_overdue,
            is_dirty_enough,
        };
        let plans = [
            plan(0, 100, false, false),
            plan(100, 50, false, true),
            plan(10, 10, true, false),
            plan(90, 10, true, false),
            plan(0, 0, false, true),
        ];
        assert_eq!(dirtiest(plans.iter().enumerate()), Some(2));
        assert_eq!(dirtiest(plans.iter().take(1).enumerate()), None);
        assert_eq!(dirtiest(plans.iter().enumerate().filter(|(number, _)| *number != 2)), Some(1));
    }

    #[test]
    fn groups_fit_a_segment_by_bytes_indexes_and_offsets() {
        let config = LogConfig { segment_bytes: 100, segment_index_bytes: 80, ..LogConfig::default() };
        let segment = |base, bytes, offset_index_bytes, time_index_bytes| Groupable {
            base: Offset::new(base),
            bytes,
            offset_index_bytes,
            time_index_bytes,
        };
        let group = |list: &[Groupable], end| first_group(list, Offset::new(end), &config);
        assert_eq!(group(&[], 0), 0);
        let plain = [segment(0, 60, 8, 12), segment(10, 40, 8, 12), segment(20, 1, 8, 12)];
        assert_eq!(group(&plain, 30), 2);
        assert_eq!(group(&[segment(0, 1000, 8, 12), segment(10, 1, 8, 12)], 20), 1);
        assert_eq!(group(&[segment(0, 1, 40, 12), segment(10, 1, 40, 12), segment(20, 1, 8, 12)], 30), 2);
        assert_eq!(group(&[segment(0, 1, 8, 48), segment(10, 1, 8, 36)], 30), 1);
        let wide = i64::from(i32::MAX);
        // The last offset of the second one may lie 2³¹−1 above the first's base, and no further.
        assert_eq!(group(&[segment(0, 1, 0, 0), segment(10, 1, 0, 0)], wide + 1), 2);
        assert_eq!(group(&[segment(0, 1, 0, 0), segment(10, 1, 0, 0)], wide + 2), 1);
        assert_eq!(group(&[segment(0, 1, 0, 0), segment(10, 0, 0, 0)], wide + 2), 2);
        let apart = [segment(0, 1, 0, 0), segment(wide - 7, 1, 0, 0), segment(4_300_000_000, 1, 0, 0)];
        assert_eq!(group(&apart, 4_300_000_001), 1);
    }
}
