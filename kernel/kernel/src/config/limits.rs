//! Limits of operators in the file, and their precedence.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::report::{ConfigProblem, ErrorCollector};
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

/// [`Limits`] set in the file. For a field that is not set, the operator's own limit applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Override of [`Limits::debounce`].
    pub debounce: Option<Duration>,
    /// Override of [`Limits::cool_down`].
    pub cool_down: Option<Duration>,
    /// Override of [`Limits::writes_per_second`].
    pub writes_per_second: Option<u32>,
    /// Override of [`Limits::writes_per_minute`].
    pub writes_per_minute: Option<u32>,
    /// Override of [`Limits::resync`]; `Some(None)` is never.
    pub resync: Option<Option<Duration>>,
    /// Override of [`Limits::backoff_first`].
    pub backoff_first: Option<Duration>,
    /// Override of [`Limits::backoff_max`].
    pub backoff_max: Option<Duration>,
    /// Override of [`Limits::timeout`].
    pub timeout: Option<Duration>,
    /// Override of [`Limits::max_concurrent`].
    pub max_concurrent: Option<u32>,
    /// Override of [`Limits::memory_bytes`].
    pub memory_bytes: Option<u64>,
}

/// Section or operator that hosts several operators, which therefore have no entry of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentSection {
    /// Section of the file.
    Section(&'static str),
    /// Operator that runs several times, once for each cluster.
    Operator(&'static str),
}

impl LimitsConfig {
    /// Returns an operator's own limits, overridden by these.
    pub fn over(&self, own: &Limits) -> Limits {
        let first = self.backoff_first.unwrap_or(own.backoff_first);
        let max = self.backoff_max.unwrap_or(own.backoff_max);
        Limits {
            debounce: self.debounce.unwrap_or(own.debounce),
            cool_down: self.cool_down.unwrap_or(own.cool_down),
            writes_per_second: self.writes_per_second.unwrap_or(own.writes_per_second),
            writes_per_minute: self.writes_per_minute.unwrap_or(own.writes_per_minute),
            resync: self.resync.unwrap_or(own.resync),
            // If only one of the two delays is set, the other one is adjusted.
            backoff_first: if self.backoff_first.is_none() { first.min(max) } else { first },
            backoff_max: max.max(self.backoff_first.unwrap_or_default()),
            timeout: self.timeout.unwrap_or(own.timeout),
            max_concurrent: self.max_concurrent.unwrap_or(own.max_concurrent),
            memory_bytes: self.memory_bytes.unwrap_or(own.memory_bytes),
        }
    }
}

impl OperatorConfig {
    /// Returns the limits of an operator without limits of its own, in this binary or a hosted program.
    pub fn limits(&self) -> Limits {
        self.limits_over(&Limits::default())
    }

    /// Returns the limits of an operator with limits of its own.
    pub fn limits_over(&self, own: &Limits) -> Limits {
        let memory_bytes = if self.process.is_some() { PROCESS_MEMORY_BYTES } else { own.memory_bytes };
        self.limits.over(&Limits { memory_bytes, ..own.clone() })
    }
}

impl Config {
    /// Returns the limits of an operator in a parent section: its own entry takes precedence over the parent's limits,
    /// and these over its own limits.
    pub fn limits_of_part(&self, name: &OperatorName, of: ParentSection, own: &Limits) -> Limits {
        let whole = match of {
            ParentSection::Section(name) => self.sections.get(name).map(|section| &section.limits),
            ParentSection::Operator(whole) => self.operators.get(&OperatorName::new(whole)).map(|one| &one.limits),
        };
        let own = whole.map_or_else(|| own.clone(), |said| said.over(own));
        self.parts.get(name).map_or_else(|| own.clone(), |said| said.over(&own))
    }
}

/// Reads the limit fields of a map that has other fields as well.
pub(super) fn limits(section: &mut Section<'_>, into: &mut LimitsConfig, findings: &mut ErrorCollector) {
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
        Some(other) if other.eq_ignore_ascii_case("never") => Err(ConfigProblem::new("must be written `never`")),
        _ => value::span(v, RESYNC).map(|span| Some(Some(span))),
    });
    if let Some(section) = section.section("backoff", findings) {
        backoff(section, into, findings);
    }
    section.set("timeout", &mut into.timeout, findings, |v| value::span(v, TIMEOUT).map(Some));
    section.set("maxConcurrent", &mut into.max_concurrent, findings, |v| value::count(v, MAX_CONCURRENT).map(Some));
    section.set("memory", &mut into.memory_bytes, findings, |v| value::bytes(v, MEMORY).map(Some));
}

/// Reads the map `limits` of a section, if it is set.
pub(super) fn nested(section: &mut Section<'_>, into: &mut LimitsConfig, findings: &mut ErrorCollector) {
    if let Some(mut section) = section.section("limits", findings) {
        limits(&mut section, into, findings);
        section.close(findings);
    }
}

fn backoff(mut section: Section<'_>, into: &mut LimitsConfig, findings: &mut ErrorCollector) {
    section.set("first", &mut into.backoff_first, findings, |v| value::span(v, BACKOFF).map(Some));
    section.set("max", &mut into.backoff_max, findings, |v| value::span(v, BACKOFF).map(Some));
    let usual = Limits::default();
    let first = into.backoff_first.unwrap_or(usual.backoff_first);
    let max = into.backoff_max.unwrap_or(usual.backoff_max);
    if first > max {
        let (first, max) = (duration::display(first), duration::display(max));
        let (first_at, max_at) = (section.node("first").map(|(_, n)| n.at), section.node("max").map(|(_, n)| n.at));
        let other = if first_at.is_none() { "first" } else { "max" };
        let problem = ConfigProblem::new(format!("the first delay {first} exceeds the maximum {max}"));
        let problem =
            if first_at.and(max_at).is_none() { problem.hint(format!("set `{other}` as well")) } else { problem };
        findings.add(first_at.or(max_at).unwrap_or(section.at), section.own_path(), problem);
    }
    section.close(findings);
}
