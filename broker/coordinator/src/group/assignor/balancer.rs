//! Picks, among the subscribers of one topic, who gets the next partition and who gives one up, so that their loads come
//! together. The loads are its caller's, who shows them as they stand at each call.
//!
//! The subscribers are sorted by load. The light range grows from the left: each of its members is served once, then its
//! level is one higher and members that stand at that level join it. The heavy range grows from the right in the same
//! way downwards. The work is done when the two levels are within one of each other.

/// The subscribers of a topic between their lightest and their heaviest.
#[derive(Debug)]
pub(super) struct Balancer {
    spread: i64,
    sorted: Vec<usize>,
    light_end: usize,
    light_level: i64,
    light_next: usize,
    heavy_start: usize,
    heavy_end: usize,
    heavy_level: i64,
    /// One past the member that comes next, so that 0 says that none does.
    heavy_next: usize,
}

impl Balancer {
    /// `loads` is by member number, `subscribers` are numbers; none if there are no subscribers.
    pub(super) fn new(loads: &[usize], subscribers: &[usize]) -> Option<Self> {
        let mut sorted = subscribers.to_vec();
        sorted.sort_by_key(|member| (level(loads, *member), *member));
        let (lightest, heaviest) = (level(loads, *sorted.first()?), level(loads, *sorted.last()?));
        let end = sorted.len();
        Some(Self {
            spread: heaviest - lightest,
            sorted,
            light_end: 0,
            light_level: lightest - 1,
            light_next: 0,
            heavy_start: end,
            heavy_end: end,
            heavy_level: heaviest + 1,
            heavy_next: end,
        })
    }

    /// By how much the heaviest was above the lightest at the beginning.
    pub(super) const fn spread(&self) -> i64 {
        self.spread
    }

    /// Whether moving another partition would not help.
    pub(super) const fn is_balanced(&self) -> bool {
        self.heavy_level - self.light_level <= 1
    }

    /// Who gets the next partition.
    pub(super) fn next_light(&mut self, loads: &[usize]) -> Option<usize> {
        if self.light_next >= self.light_end {
            self.light_level += 1;
            while self.level_at(loads, self.light_end) == Some(self.light_level) {
                self.light_end += 1;
            }
            self.light_next = 0;
        }
        let member = self.sorted.get(self.light_next).copied();
        self.light_next += 1;
        member
    }

    /// Who gives one up, if somebody is left that can.
    pub(super) fn next_heavy(&mut self, loads: &[usize]) -> Option<usize> {
        if self.heavy_next <= self.heavy_start {
            let emptied = self.heavy_end <= self.heavy_start;
            self.heavy_level =
                match self.heavy_start.checked_sub(1).and_then(|before| self.level_at(loads, before)) {
                    // Everybody in the range was excluded: it begins anew where members are left.
                    Some(level) if emptied => level,
                    _ => self.heavy_level - 1,
                };
            while let Some(before) = self.heavy_start.checked_sub(1)
                && self.level_at(loads, before) == Some(self.heavy_level)
            {
                self.heavy_start = before;
            }
            self.heavy_next = self.heavy_end;
        }
        self.heavy_next = self.heavy_next.checked_sub(1)?;
        self.sorted.get(self.heavy_next).copied()
    }

    /// The member that [`next_heavy`](Self::next_heavy) gave has nothing to give up: it leaves the range.
    pub(super) fn exclude_heavy(&mut self) {
        self.heavy_end -= 1;
        self.sorted.swap(self.heavy_next, self.heavy_end);
    }

    fn level_at(&self, loads: &[usize], place: usize) -> Option<i64> {
        self.sorted.get(place).map(|member| level(loads, *member))
    }
}

fn level(loads: &[usize], member: usize) -> i64 {
    loads.get(member).and_then(|load| i64::try_from(*load).ok()).unwrap_or(0)
}
