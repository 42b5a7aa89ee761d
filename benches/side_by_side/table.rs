//! Table of medians and ratios.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::system::SystemKind;

/// Compared figure; less is better for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BenchRow {
    Start,
    OneWriter,
    ManyWriters,
    List,
    FanOut,
    ObjectsMemory,
    DefinitionsMemory,
}

const ROWS: [(BenchRow, &str, &str); 7] = [
    (BenchRow::Start, "start to first answer", "50"),
    (BenchRow::OneWriter, "one create, 1 writer", "near the flush"),
    (BenchRow::ManyWriters, "one create, 64 writers", "10"),
    (BenchRow::List, "list of 10,000 ConfigMaps", "5"),
    (BenchRow::FanOut, "one change sent to 1,000 watchers", "5"),
    (BenchRow::ObjectsMemory, "memory with 10,000 ConfigMaps", "10"),
    (BenchRow::DefinitionsMemory, "memory with 500 CRDs", "50"),
];

#[derive(Default)]
pub struct BenchResults {
    seen: BTreeMap<(BenchRow, SystemKind), Vec<f64>>,
    floors: Vec<f64>,
}

impl BenchResults {
    pub fn add(&mut self, side: SystemKind, row: BenchRow, value: f64) {
        eprintln!("  {row:?}: {}", show(row, value));
        self.seen.entry((row, side)).or_default().push(value);
    }

    pub fn floor(&mut self, value: f64) {
        self.floors.push(value);
    }

    pub fn table(&self, rounds: usize) -> String {
        let mut text =
            format!("| median of {rounds} interleaved runs | switchboard | kube-apiserver + etcd | ratio | goal |\n");
        text.push_str("|---|---|---|---|---|\n");
        for (row, name, goal) in ROWS {
            let [ours, real] = [SystemKind::Switchboard, SystemKind::Kubernetes]
                .map(|side| self.seen.get(&(row, side)).and_then(|seen| median(seen)));
            let cell = |value: Option<f64>| value.map_or("-".into(), |value| show(row, value));
            let ratio = match (ours, real) {
                (Some(ours), Some(real)) => format!("{:.1}", real / ours),
                _ => "-".into(),
            };
            let _ = writeln!(text, "| {name} | {} | {} | {ratio} | {goal} |", cell(ours), cell(real));
        }
        if let Some(floor) = median(&self.floors) {
            let one = self.seen.get(&(BenchRow::OneWriter, SystemKind::Switchboard)).and_then(|seen| median(seen));
            let ratio = one.map_or("-".into(), |one| format!("{:.1}", one / floor));
            let _ = writeln!(
                text,
                "\nAppending to a file and flushing it (fdatasync) took {} on this disk; one create with 1 writer is {ratio} times that.",
                show(BenchRow::OneWriter, floor)
            );
        }
        text
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn show(row: BenchRow, value: f64) -> String {
    match row {
        BenchRow::ObjectsMemory | BenchRow::DefinitionsMemory => format!("{:.0} MiB", value / f64::from(1 << 20)),
        BenchRow::OneWriter | BenchRow::ManyWriters => format!("{} ({:.0}/s)", time(value), 1.0 / value),
        _ => time(value),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.1} s"),
        0.01.. => format!("{:.0} ms", seconds * 1e3),
        0.001.. => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.0} µs", seconds * 1e6),
    }
}
