//! `top`: a line per operator.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::state::{OperatorState, State, Word};

/// The operators at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Top {
    /// The moment.
    pub now: Moment,
    /// By name.
    pub operators: Vec<TopRow>,
}

/// One operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopRow {
    /// Its name.
    pub name: String,
    /// Its word.
    pub word: Word,
    /// Runs so far.
    pub runs: u64,
    /// Those that failed.
    pub failures: u64,
    /// Median time to decide.
    pub decide_p50_us: u64,
    /// 99th percentile of the same.
    pub decide_p99_us: u64,
    /// Writes that changed something.
    pub writes: u64,
    /// Its share of the cache.
    pub cache_share_bytes: u64,
    /// All its units.
    pub units: usize,
    /// Those of them that are not simply done.
    #[serde(default)]
    pub waiting: usize,
    /// Why it stands so.
    pub reason: String,
}

/// The table of a state.
pub fn top(state: &State) -> Top {
    Top { now: state.now, operators: state.operators.iter().map(row).collect() }
}

fn row(operator: &OperatorState) -> TopRow {
    TopRow {
        name: operator.name.clone(),
        word: operator.word,
        runs: operator.runs,
        failures: operator.failures,
        decide_p50_us: operator.decide_p50_us,
        decide_p99_us: operator.decide_p99_us,
        writes: operator.writes,
        cache_share_bytes: operator.cache_share_bytes,
        units: operator.units_total,
        waiting: operator.units_waiting,
        reason: operator.reason.clone(),
    }
}

const HEAD: [&str; 11] =
    ["OPERATOR", "STATE", "UNITS", "WAITING", "RUNS", "FAILED", "P50", "P99", "WRITES", "CACHE", "REASON"];
/// The column that is for wide screens.
const WIDE: usize = 3;

/// The alternate form has one more column.
impl fmt::Display for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![HEAD.map(str::to_string)];
        rows.extend(self.operators.iter().map(cells));
        let wide = f.alternate();
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
        Ok(())
    }
}

fn cells(row: &TopRow) -> [String; HEAD.len()] {
    [
        row.name.clone(),
        row.word.to_string(),
        row.units.to_string(),
        row.waiting.to_string(),
        row.runs.to_string(),
        row.failures.to_string(),
        micros(row.decide_p50_us),
        micros(row.decide_p99_us),
        row.writes.to_string(),
        bytes(row.cache_share_bytes),
        row.reason.clone(),
    ]
}

/// `820us`, `1.2ms`, `3.4s`.
pub fn micros(us: u64) -> String {
    match us {
        0..1000 => format!("{us}us"),
        1000..1_000_000 => format!("{}.{}ms", us / 1000, us % 1000 / 100),
        _ => format!("{}.{}s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
}

/// `12B`, `1.2Ki`, `3.4Mi`.
pub fn bytes(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        0..KIB => format!("{bytes}B"),
        KIB..1_048_576 => format!("{}.{}Ki", bytes / KIB, bytes % KIB * 10 / KIB),
        _ => format!("{}.{}Mi", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}
