//! Text of `why` for users. The cause is within the first five lines: last writer, reason, and one line each of
//! failures, findings and waiting units. All details follow below.

use std::fmt;

use super::super::{phrases, times};
use super::{LastWrite, WhyReport};

/// Maximum number of objects with the same name that are listed.
const MAX_OTHERS: usize = 5;

impl fmt::Display for WhyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match &self.field {
            Some(field) => format!("{field} of {}", self.object),
            None => self.object.clone(),
        };
        let mut out = String::new();
        match &self.last_write {
            Some(written) => {
                out.push_str(&format!("{subject} {}\n", self.writer_phrase(written)));
                phrases::column(&mut out, "because", &[phrases::causes(&written.causes)]);
            }
            None => out.push_str(&format!("{subject} {}\n", self.no_writer_phrase())),
        }
        if let Some(tried) = &self.failed_write {
            let when = times::format_time(self.now, tried.at);
            let line = format!("{} in decision {}, {when}: {}", tried.unit, tried.decision, tried.result);
            phrases::column(&mut out, "failed", &[line]);
        }
        let awaited = self.waiting_lines();
        let (found, more_found) = self.findings.split_at(self.findings.len().min(1));
        let (awaited, more_awaited) = awaited.split_at(awaited.len().min(1));
        phrases::column(&mut out, "finding", found);
        phrases::column(&mut out, "waiting", awaited);
        match &self.last_write {
            Some(written) => {
                self.write_details(written, &mut out);
                if self.lost > 0 {
                    phrases::column(
                        &mut out,
                        "journal",
                        &[format!("{}: the last write may be missing", self.journal_range())],
                    );
                }
            }
            None => phrases::column(&mut out, "journal", &[self.journal_range()]),
        }
        phrases::column(&mut out, "others", &self.other_objects());
        phrases::column(&mut out, "finding", more_found);
        phrases::column(&mut out, "waiting", more_awaited);
        phrases::column(&mut out, "owners", &self.managers.iter().map(ToString::to_string).collect::<Vec<_>>());
        f.write_str(&out)
    }
}

impl WhyReport {
    /// Describes the last writer. The operator comes last, so that the cause on the next line refers to it.
    fn writer_phrase(&self, written: &LastWrite) -> String {
        let by = format!("by {}, {}", written.unit, times::format_time(self.now, written.at));
        let deleted = written.write.starts_with("delete ");
        let verb = if self.field.is_some() { "changed" } else { "written" };
        match (&self.overwritten, self.exists) {
            (Some(manager), _) if deleted => {
                format!(
                    "was last {verb} by {manager}, which is not a Switchboard operator; before that it was deleted {by}"
                )
            }
            (Some(manager), _) => {
                format!("was last {verb} by {manager}, which is not a Switchboard operator; before that {by}")
            }
            (None, _) if deleted && self.field.is_none() => format!("was deleted {by}"),
            (None, Some(false)) => format!("does not exist now; it was last {verb} {by}"),
            (None, _) => format!("was last {verb} {by}"),
        }
    }

    fn other_objects(&self) -> Vec<String> {
        let named = || self.others.iter().take(MAX_OTHERS).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = self.others.len().saturating_sub(MAX_OTHERS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let by = if self.object.contains(phrases::OF_CLUSTER) { "--cluster and -n" } else { "-n" };
        let told = || format!("there is {}{more}; select it with {by}", named());
        (!self.others.is_empty()).then(told).into_iter().collect()
    }

    fn no_writer_phrase(&self) -> String {
        if let Some(ours) = &self.earlier_manager {
            return format!(
                "was written by {ours}, which is a Switchboard operator, but the journal does not reach back that far"
            );
        }
        if let Some(ours) = &self.unrecorded_manager {
            let journal = match self.lost {
                0 => "the journal does not have the decision yet",
                _ => "the journal, which has a gap, does not have the decision",
            };
            return format!("was written by {ours}, which is a Switchboard operator, but {journal}");
        }
        match self.managers.first() {
            Some(manager) => {
                let time = manager.time.as_ref().map(|time| format!(", at {time}")).unwrap_or_default();
                format!(
                    "was not written by a Switchboard operator{}; `{}` wrote it last{time}",
                    self.gap_phrase(),
                    manager.name
                )
            }
            None if self.exists == Some(false) => {
                format!("does not exist now; it was not written by a Switchboard operator{}", self.gap_phrase())
            }
            None => format!("was not written by a Switchboard operator{}", self.gap_phrase()),
        }
    }

    /// Returns a note that entries are missing, so that the absence of a write proves nothing.
    fn gap_phrase(&self) -> &'static str {
        if self.lost > 0 { " as far as the journal shows, which has a gap" } else { "" }
    }

    fn waiting_lines(&self) -> Vec<String> {
        let since = |since| times::format_time(self.now, since);
        let lines = self.waiting_units.iter();
        lines.map(|one| format!("{} {}: {}, since {}", one.by, one.health, one.reason, since(one.since))).collect()
    }

    /// Adds the details of the write: operation, reads, and earlier causes.
    fn write_details(&self, written: &LastWrite, out: &mut String) {
        let links = self.chain.iter().map(|link| {
            let because = phrases::causes(&link.causes);
            format!("{} was written by {} in decision {}, because {because}", link.object, link.unit, link.decision)
        });
        phrases::column(out, "via", &links.collect::<Vec<_>>());
        let value = written.value.as_ref().map(|value| match value {
            serde_json::Value::Null => ", removing it".to_string(),
            value => format!(", to {value}"),
        });
        let did = format!("{}, revision {}, decision {}", written.write, written.revision, written.decision);
        phrases::column(out, "write", &[did + &value.unwrap_or_default()]);
        phrases::column(out, "reads", &written.reads);
    }

    fn journal_range(&self) -> String {
        match self.since {
            Some(since) => {
                format!(
                    "reaches back to {since}, {} ago{}",
                    times::format_duration(self.now.since(since)),
                    self.lost_entries()
                )
            }
            None => format!("is empty{}", self.lost_entries()),
        }
    }

    fn lost_entries(&self) -> String {
        match self.lost {
            0 => String::new(),
            1 => "; 1 entry is lost".to_string(),
            lost => format!("; {lost} entries are lost"),
        }
    }
}
