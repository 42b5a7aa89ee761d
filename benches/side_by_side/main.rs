//! Switchboard compared with kube-apiserver and etcd, both durable, on the same machine with the same client.
//!
//! Runs are interleaved, so that other load affects both equally; the table shows medians and their ratio.
//! `BENCH_OUT=<file>` writes the table to a file. `ROUNDS` (3) is the number of runs, `ONLY=ours` or `ONLY=real`
//! selects one system, and `PART=creates`, `list`, `fan-out` or `definitions` selects rows.

mod load;
mod measure;
mod raw;
mod system;
mod table;

use system::SystemKind;
use table::BenchResults;

const ROUNDS: usize = 3;

fn main() -> Result<(), measure::BoxError> {
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let only = std::env::var("ONLY").unwrap_or_default();
    let sides: Vec<SystemKind> =
        [SystemKind::Switchboard, SystemKind::Kubernetes].into_iter().filter(|side| side.is(&only)).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut results = BenchResults::default();
    results.floor(measure::flush()?);
    for round in 1..=rounds {
        for side in &sides {
            eprintln!("round {round} of {rounds}: {side:?}");
            runtime.block_on(measure::round(*side, &mut results))?;
        }
        results.floor(measure::flush()?);
    }
    let table = results.table(rounds);
    println!("{table}");
    if let Some(path) = std::env::var_os("BENCH_OUT") {
        std::fs::write(path, table)?;
    }
    Ok(())
}
