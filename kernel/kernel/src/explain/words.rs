//! Causes and reads as people read them.

use std::collections::BTreeSet;

use crate::decision::{Cause, Decision, Outcome, Write, WriteResult};
use crate::place::ClusterName;
use crate::resource::ObjectKey;

/// How many reads a report names; the rest is counted.
const MAX_READS: usize = 20;

/// Why a unit ran.
pub fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Started => "the process began".to_string(),
        Cause::Changed { object, revision } => format!("{object} changed (revision {revision})"),
        Cause::Matched { list, object, revision } => {
            format!("{object} came into or left the list of {list} (revision {revision})")
        }
        Cause::Known { table } => format!("{} can be read now", table.resource),
        Cause::Again => "it had asked to be run again".to_string(),
        Cause::Resync => "time for a regular look".to_string(),
        Cause::Retry { failures: 1 } => "the run before failed".to_string(),
        Cause::Retry { failures } => format!("the {failures} runs before failed"),
        Cause::Unfinished => "the run before could not write all it wanted".to_string(),
        Cause::Asked => "somebody asked for it".to_string(),
        Cause::Outside => "what it is for has changed outside of the clusters".to_string(),
    }
}

/// `a; b; and 3 more`.
pub fn causes(all: &[Cause]) -> String {
    match all {
        [] => "not recorded".to_string(),
        [one] => cause(one),
        [one, rest @ ..] => format!("{}, and {} more", cause(one), rest.len()),
    }
}

/// What a decision read, the first of it.
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
        None => format!("{key}{}, which was not there", of(&key.table.cluster)),
    });
    let lists = decision.lists.iter().map(|(query, listed)| {
        format!("list of {query}{}: {}", of(&query.table.cluster), count(listed.len(), "object"))
    });
    let asked = decision.asked.len();
    let asked = (asked > 0).then(|| format!("the outside, {}", count(asked, "question")));
    let mut all: Vec<String> = gets.chain(lists).chain(asked).collect();
    if all.len() > MAX_READS {
        let more = all.len() - MAX_READS;
        all.truncate(MAX_READS);
        all.push(format!("and {more} more"));
    }
    all
}

/// How [`on_cluster`] goes on behind the object.
pub(super) const OF_CLUSTER: &str = " of cluster ";

/// An object where it may be on several clusters: `configmaps/shop/web of cluster east`.
pub(super) fn on_cluster(key: &ObjectKey) -> String {
    format!("{key}{OF_CLUSTER}{}", key.table.cluster)
}

/// `1 unit`, `2 units`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// What came of a write.
pub fn result(result: &WriteResult) -> String {
    match result {
        WriteResult::Written { revision } => format!("written at revision {revision}"),
        WriteResult::Unchanged => "changed nothing".to_string(),
        WriteResult::Refused { reason } => format!("refused: {reason}"),
        WriteResult::Held => {
            "put off: no more writes are allowed at the moment, by its operator's budget or by the one of all"
                .to_string()
        }
        WriteResult::Stale { message } => format!("the object had changed: {message}"),
        WriteResult::Failed { message } => format!("failed: {message}"),
        WriteResult::Unheard { message } => format!("refused by the server, and nothing waits for it: {message}"),
        WriteResult::Pretended => "not written: a dry run".to_string(),
        WriteResult::Skipped => "not tried: a write before it failed".to_string(),
    }
}

pub(super) fn writes(decision: &Decision) -> &[Write] {
    match &decision.outcome {
        Outcome::Decided { writes, .. } => writes,
        Outcome::Failed { .. } | Outcome::Parked { .. } => &[],
    }
}

/// A label in a column of its own; the lines after the first stand below it.
pub(super) fn column(out: &mut String, label: &str, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        out.push_str(format!("  {label:<8} {line}").trim_end());
        out.push('\n');
    }
}
