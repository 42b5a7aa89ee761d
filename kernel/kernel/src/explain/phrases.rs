//! Causes, reads and results as text for users.

use std::collections::BTreeSet;

use crate::decision::{Cause, Decision, RunOutcome, Write, WriteResult};
use crate::resource::ObjectKey;
use crate::topology::ClusterName;

/// Maximum number of reads that are listed.
const MAX_READS: usize = 20;

/// Describes a cause.
pub fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Started => "the process started".to_string(),
        Cause::Changed { object, revision } => format!("{object} changed (revision {revision})"),
        Cause::Matched { list, object, revision } => {
            format!("{object} started or stopped matching the list of {list} (revision {revision})")
        }
        Cause::KindCached { table } => format!("{} became readable", table.resource),
        Cause::RequeueAfter => "requeued by its plan".to_string(),
        Cause::Resync => "periodic resync".to_string(),
        Cause::Retry { failures: 1 } => "the previous run failed".to_string(),
        Cause::Retry { failures } => format!("the previous {failures} runs failed"),
        Cause::Unfinished => "the previous run could not write everything".to_string(),
        Cause::Requested => "requested by a user".to_string(),
        Cause::External => "an external input changed".to_string(),
    }
}

/// Describes the first cause, and counts the others.
pub fn causes(all: &[Cause]) -> String {
    match all {
        [] => "not recorded".to_string(),
        [one] => cause(one),
        [one, rest @ ..] => format!("{}, and {} more", cause(one), rest.len()),
    }
}

/// Describes the first reads of a decision.
pub fn reads(decision: &Decision) -> Vec<String> {
    let tables = decision.gets.iter().map(|(key, _)| &key.table);
    let tables = tables.chain(decision.lists.iter().map(|(query, _)| &query.table));
    let clusters: BTreeSet<&ClusterName> = tables.map(|table| &table.cluster).collect();
    let of = |cluster: &ClusterName| match clusters.len() {
        0 | 1 => String::new(),
        _ => format!("{OF_CLUSTER}{cluster}"),
    };
    let gets = decision.gets.iter().map(|(key, revision)| match revision {
        Some(revision) => format!("{key}{} at revision {revision}", of(&key.table.cluster)),
        None => format!("{key}{}, which did not exist", of(&key.table.cluster)),
    });
    let lists = decision.lists.iter().map(|(query, listed)| {
        format!("list of {query}{}: {}", of(&query.table.cluster), count(listed.len(), "object"))
    });
    let asked = decision.external_queries.len();
    let asked = (asked > 0).then(|| format!("external systems, {}", count(asked, "query")));
    let mut all: Vec<String> = gets.chain(lists).chain(asked).collect();
    if all.len() > MAX_READS {
        let more = all.len() - MAX_READS;
        all.truncate(MAX_READS);
        all.push(format!("and {more} more"));
    }
    all
}

/// Separator between object and cluster in [`on_cluster`].
pub(super) const OF_CLUSTER: &str = " of cluster ";

/// Formats an object with its cluster: `configmaps/shop/web of cluster east`.
pub(super) fn on_cluster(key: &ObjectKey) -> String {
    format!("{key}{OF_CLUSTER}{}", key.table.cluster)
}

/// Formats a count: `1 unit`, `2 units`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Describes the result of a write.
pub fn result(result: &WriteResult) -> String {
    match result {
        WriteResult::Written { revision } => format!("written at revision {revision}"),
        WriteResult::Unchanged => "changed nothing".to_string(),
        WriteResult::Refused { reason } => format!("refused: {reason}"),
        WriteResult::OverBudget => "delayed: the write budget of its operator or of all operators is spent".to_string(),
        WriteResult::Stale { message } => format!("the object had changed: {message}"),
        WriteResult::Failed { message } => format!("failed: {message}"),
        WriteResult::EventRejected { message } => {
            format!("rejected by the server, without effect on other writes: {message}")
        }
        WriteResult::DryRun => "not written: dry run".to_string(),
        WriteResult::Skipped => "not sent: an earlier write failed".to_string(),
    }
}

pub(super) fn writes(decision: &Decision) -> &[Write] {
    match &decision.outcome {
        RunOutcome::Decided { writes, .. } => writes,
        RunOutcome::Failed { .. } | RunOutcome::NotCached { .. } => &[],
    }
}

/// Appends lines with a label before the first one.
pub(super) fn column(out: &mut String, label: &str, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        out.push_str(format!("  {label:<8} {line}").trim_end());
        out.push('\n');
    }
}
