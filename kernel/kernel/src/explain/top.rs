//! Report of `top`, with one line per operator.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::state::{Health, KernelState, OperatorPause, OperatorState, SlowedWrites};
use crate::timestamp::Timestamp;

/// State of all operators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopReport {
    /// Time of the report.
    pub now: Timestamp,
    /// Operators by name.
    pub operators: Vec<TopRow>,
    /// Reduced rate of writes while API servers are slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowed: Option<SlowedWrites>,
}

/// State of one operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopRow {
    /// Name of the operator.
    pub name: String,
    /// Health of the operator.
    #[serde(rename = "state")]
    pub health: Health,
    /// Number of runs.
    pub runs: u64,
    /// Number of failed runs.
    pub failures: u64,
    /// Median decide time in microseconds.
    pub decide_p50_us: u64,
    /// 99th percentile of the decide time in microseconds.
    pub decide_p99_us: u64,
    /// Number of writes that changed something.
    pub writes: u64,
    /// Share of the cache in bytes.
    pub cache_share_bytes: u64,
    /// Number of units.
    pub units: usize,
    /// Number of units that are not Ready or wait to run.
    #[serde(default)]
    pub waiting: usize,
    /// Reason for the health.
    pub reason: String,
    /// Pause of the operator; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<OperatorPause>,
}

/// Builds the report from the kernel's state.
pub fn report(state: &KernelState) -> TopReport {
    let operators = state.operators.iter().map(row).collect();
    TopReport { now: state.now, operators, slowed: state.slowed.clone() }
}

fn row(operator: &OperatorState) -> TopRow {
    TopRow {
        name: operator.name.clone(),
        health: operator.health,
        runs: operator.runs,
        failures: operator.failures,
        decide_p50_us: operator.decide_p50_us,
        decide_p99_us: operator.decide_p99_us,
        writes: operator.writes,
        cache_share_bytes: operator.cache_share_bytes,
        units: operator.units_total,
        waiting: operator.units_waiting,
        reason: operator.reason.clone(),
        paused: operator.paused.clone(),
    }
}

const HEAD: [&str; 11] =
    ["OPERATOR", "STATE", "UNITS", "WAITING", "RUNS", "FAILED", "P50", "P99", "WRITES", "CACHE", "REASON"];
/// Index of the column that is only shown in the wide format.
const WIDE: usize = 3;
/// Length of a reason in the table. The wide format and JSON have all of it.
const MAX_REASON_CHARS: usize = 80;

/// Formats the table; the alternate form is the wide format.
impl fmt::Display for TopReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![HEAD.map(str::to_string)];
        let wide = f.alternate();
        rows.extend(self.operators.iter().map(|row| cells(row, wide)));
        let mut widths = [0; HEAD.len()];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &rows {
            let cells = row.iter().zip(widths).enumerate().filter(|(at, _)| wide || *at != WIDE);
            let cells = cells.map(|(_, (cell, width))| format!("{cell:<width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("   ").trim_end())?;
        }
        self.slowed.as_ref().map_or(Ok(()), |slowed| writeln!(f, "{slowed}"))
    }
}

/// Returns the first line of a reason, cut to [`MAX_REASON_CHARS`].
fn short_reason(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    if line.chars().count() <= MAX_REASON_CHARS && line.len() == reason.trim_end().len() {
        return line.to_string();
    }
    let start: String = line.chars().take(MAX_REASON_CHARS - 1).collect();
    format!("{}…", start.trim_end())
}

fn cells(row: &TopRow, wide: bool) -> [String; HEAD.len()] {
    [
        row.name.clone(),
        row.health.to_string(),
        row.units.to_string(),
        row.waiting.to_string(),
        row.runs.to_string(),
        row.failures.to_string(),
        micros(row.decide_p50_us),
        micros(row.decide_p99_us),
        row.writes.to_string(),
        bytes(row.cache_share_bytes),
        if wide { row.reason.clone() } else { short_reason(&row.reason) },
    ]
}

/// Formats microseconds: `820us`, `1.2ms`, `3.4s`.
pub fn micros(us: u64) -> String {
    match us {
        0..1000 => format!("{us}us"),
        1000..1_000_000 => format!("{}.{}ms", us / 1000, us % 1000 / 100),
        _ => format!("{}.{}s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
}

/// Formats bytes: `12B`, `1.2Ki`, `3.4Mi`.
pub fn bytes(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        0..KIB => format!("{bytes}B"),
        KIB..1_048_576 => format!("{}.{}Ki", bytes / KIB, bytes % KIB * 10 / KIB),
        _ => format!("{}.{}Mi", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_in_the_table_and_whole_in_the_wide_format() {
        let reason = format!("could not read {}\nsecond line", "x".repeat(250));
        let operator = OperatorState { reason: reason.clone(), ..OperatorState::default() };
        let report = report(&KernelState { operators: vec![operator], ..KernelState::default() });
        let line = report.to_string().lines().nth(1).unwrap_or_default().to_string();
        assert!(line.ends_with("xxx…") && !line.contains("second"), "{line}");
        assert_eq!(short_reason(&reason).chars().count(), MAX_REASON_CHARS);
        assert!(format!("{report:#}").contains(&reason), "{report:#}");
        assert_eq!(short_reason("all is well"), "all is well");
    }
}
