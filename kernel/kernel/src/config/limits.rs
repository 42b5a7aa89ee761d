//! What a file says of the limits of operators, and which part of it counts for which of them.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::report::{Findings, Problem};
use super::section::Section;
use super::{Config, OperatorConfig, PROCESS_MEMORY_BYTES, duration, value};
use crate::limits::Limits;
use crate::operator::OperatorName;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

const DEBOUNCE: RangeInclusive<Duration> = Duration::ZERO..=HOUR;
const COOL_DOWN: RangeInclusive<Duration> = Duration::ZERO..=DAY;
const RESYNC: RangeInclusive<Duration> = SECOND..=Duration::from_secs(30 * 24 * 3600);
const BACKOFF: RangeInclusive<Duration> = Duration::from_millis(1)..=DAY;
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=HOUR;
const WRITES_PER_SECOND: RangeInclusive<u32> = 1..=10_000;
const WRITES_PER_MINUTE: RangeInclusive<u32> = 1..=600_000;
pub(super) const MAX_CONCURRENT: RangeInclusive<u32> = 1..=1024;
const MEMORY: RangeInclusive<u64> = 0..=1 << 40;

/// What is said of [`Limits`]. What is not said is as the operator has it by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitsConfig {
    /// [`Limits::debounce`].
    pub debounce: Option<Duration>,
    /// [`Limits::cool_down`].
    pub cool_down: Option<Duration>,
    /// [`Limits::writes_per_second`].
    pub writes_per_second: Option<u32>,
    /// [`Limits::writes_per_minute`].
    pub writes_per_minute: Option<u32>,
    /// [`Limits::resync`]; `Some(None)` is never.
    pub resync: Option<Option<Duration>>,
    /// [`Limits::backoff_first`].
    pub backoff_first: Option<Duration>,
    /// [`Limits::backoff_max`].
    pub backoff_max: Option<Duration>,
    /// [`Limits::timeout`].
    pub timeout: Option<Duration>,
    /// [`Limits::max_concurrent`].
    pub max_concurrent: Option<u32>,
    /// [`Limits::memory_bytes`].
    pub memory_bytes: Option<u64>,
}

/// What an operator is a part of that is hosted as a whole, so that it has no entry by which it would be hosted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// The section `integrations`.
    Integrations,
    /// The section `gitops`.
    Gitops,
    /// An operator that is there several times, once for each cluster.
    Operator(&'static str),
}

impl LimitsConfig {
    /// The limits of an operator that has these by itself.
    pub fn over(&self, own: &Limits) -> Limits {
        let first = self.backoff_first.unwrap_or(own.backoff_first);
        let max = self.backoff_max.unwrap_or(own.backoff_max);
        Limits {
            debounce: self.debounce.unwrap_or(own.debounce),
            cool_down: self.cool_down.unwrap_or(own.cool_down),
            writes_per_second: self.writes_per_second.unwrap_or(own.writes_per_second),
            writes_per_minute: self.writes_per_minute.unwrap_or(own.writes_per_minute),
            resync: self.resync.unwrap_or(own.resync),
            // Of the two waits, the one that nobody set gives way.
            backoff_first: if self.backoff_first.is_none() { first.min(max) } else { first },
            backoff_max: max.max(self.backoff_first.unwrap_or_default()),
            timeout: self.timeout.unwrap_or(own.timeout),
            max_concurrent: self.max_concurrent.unwrap_or(own.max_concurrent),
            memory_bytes: self.memory_bytes.unwrap_or(own.memory_bytes),
        }
    }
}

impl OperatorConfig {
    /// The limits of an operator that has none by itself, be it of this binary or a program.
    pub fn limits(&self) -> Limits {
        let memory_bytes = if self.process.is_some() { PROCESS_MEMORY_BYTES } else { 0 };
        self.limits.over(&Limits { memory_bytes, ..Limits::default() })
    }
}

impl Config {
    /// The limits of a part of something: what is said of it by its name counts over what is said of the whole, and that over
    /// what it has by itself.
    pub fn limits_of_part(&self, name: &OperatorName, of: Whole, own: &Limits) -> Limits {
        let whole = match of {
            Whole::Integrations => self.integrations.as_ref().map(|section| &section.limits),
            Whole::Gitops => self.gitops.as_ref().map(|section| &section.limits),
            Whole::Operator(whole) => self.operators.get(&OperatorName::new(whole)).map(|one| &one.limits),
        };
        let own = whole.map_or_else(|| own.clone(), |said| said.over(own));
        self.parts.get(name).map_or_else(|| own.clone(), |said| said.over(&own))
    }
}

/// The limits that stand in a map among other fields.
pub(super) fn limits(section: &mut Section<'_>, into: &mut LimitsConfig, findings: &mut Findings) {
    let into = &mut *into;
    section.set("debounce", &mut into.debounce, findings, |v| value::span(v, DEBOUNCE).map(Some));
    section.set("coolDown", &mut into.cool_down, findings, |v| value::span(v, COOL_DOWN).map(Some));
    section.set("writesPerSecond", &mut into.writes_per_second, findings, |v| {
        value::count(v, WRITES_PER_SECOND).map(Some)
    });
    section.set("writesPerMinute", &mut into.writes_per_minute, findings, |v| {
        value::count(v, WRITES_PER_MINUTE).map(Some)
    });
    section.set("resync", &mut into.resync, findings, |v| match v.as_str() {
        Some("never") => Ok(Some(None)),
        Some(other) if other.eq_ignore_ascii_case("never") => Err(Problem::new("is written `never`")),
        _ => value::span(v, RESYNC).map(|span| Some(Some(span))),
    });
    if let Some(section) = section.section("backoff", findings) {
        backoff(section, into, findings);
    }
    section.set("timeout", &mut into.timeout, findings, |v| value::span(v, TIMEOUT).map(Some));
    section.set("maxConcurrent", &mut into.max_concurrent, findings, |v| value::count(v, MAX_CONCURRENT).map(Some));
    section.set("memory", &mut into.memory_bytes, findings, |v| value::bytes(v, MEMORY).map(Some));
}

/// The map `limits` of a map, when it is written.
pub(super) fn nested(section: &mut Section<'_>, into: &mut LimitsConfig, findings: &mut Findings) {
    if let Some(mut section) = section.section("limits", findings) {
        limits(&mut section, into, findings);
        section.close(findings);
    }
}

fn backoff(mut section: Section<'_>, into: &mut LimitsConfig, findings: &mut Findings) {
    section.set("first", &mut into.backoff_first, findings, |v| value::span(v, BACKOFF).map(Some));
    section.set("max", &mut into.backoff_max, findings, |v| value::span(v, BACKOFF).map(Some));
    let usual = Limits::default();
    let first = into.backoff_first.unwrap_or(usual.backoff_first);
    let max = into.backoff_max.unwrap_or(usual.backoff_max);
    if first > max {
        let (first, max) = (duration::shown(first), duration::shown(max));
        let (first_at, max_at) = (section.node("first").map(|(_, n)| n.at), section.node("max").map(|(_, n)| n.at));
        let other = if first_at.is_none() { "first" } else { "max" };
        let problem = Problem::new(format!("the first wait, {first}, is longer than the longest, {max}"));
        let problem =
            if first_at.and(max_at).is_none() { problem.hint(format!("set `{other}` as well")) } else { problem };
        findings.add(first_at.or(max_at).unwrap_or(section.at), section.own_path(), problem);
    }
    section.close(findings);
}
