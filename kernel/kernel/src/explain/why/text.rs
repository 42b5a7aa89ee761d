//! `why` for people. The cause stands within the first five lines: who, because of what, and one line each of what was
//! tried, found and awaited. All else stands below.

use std::fmt;

use super::super::{times, words};
use super::{Why, Written};

/// How many objects of the same name are named; the rest is counted.
const MAX_OTHERS: usize = 5;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match &self.field {
            Some(field) => format!("{field} of {}", self.object),
            None => self.object.clone(),
        };
        let mut out = String::new();
        match &self.written {
            Some(written) => {
                out.push_str(&format!("{subject} {}\n", self.writer(written)));
                words::column(&mut out, "because", &[words::causes(&written.causes)]);
            }
            None => out.push_str(&format!("{subject} {}\n", self.nobody())),
        }
        if let Some(tried) = &self.tried {
            let when = times::when(self.now, tried.at);
            let line = format!("{} in decision {}, {when}: {}", tried.unit, tried.decision, tried.result);
            words::column(&mut out, "tried", &[line]);
        }
        let awaited = self.awaits();
        let (found, more_found) = self.findings.split_at(self.findings.len().min(1));
        let (awaited, more_awaited) = awaited.split_at(awaited.len().min(1));
        words::column(&mut out, "found", found);
        words::column(&mut out, "awaited", awaited);
        match &self.written {
            Some(written) => {
                self.course(written, &mut out);
                if self.lost > 0 {
                    words::column(&mut out, "journal", &[format!("{}: it may not tell the last write", self.reach())]);
                }
            }
            None => words::column(&mut out, "journal", &[self.reach()]),
        }
        words::column(&mut out, "also", &self.also());
        words::column(&mut out, "found", more_found);
        words::column(&mut out, "awaited", more_awaited);
        words::column(&mut out, "owned by", &self.managers.iter().map(ToString::to_string).collect::<Vec<_>>());
        f.write_str(&out)
    }
}

impl Why {
    /// Who wrote it last; an operator last, so that the cause below is its cause.
    fn writer(&self, written: &Written) -> String {
        let by = format!("by {}, {}", written.unit, times::when(self.now, written.at));
        let deleted = written.write.starts_with("delete ");
        let verb = if self.field.is_some() { "changed" } else { "written" };
        match (&self.overwritten, self.there) {
            (Some(manager), _) if deleted => {
                format!("was last {verb} by {manager}, which is no operator here; before that it was deleted {by}")
            }
            (Some(manager), _) => {
                format!("was last {verb} by {manager}, which is no operator here; before that {by}")
            }
            (None, _) if deleted && self.field.is_none() => format!("was deleted {by}"),
            (None, Some(false)) => format!("is not there now; it was last {verb} {by}"),
            (None, _) => format!("was last {verb} {by}"),
        }
    }

    fn also(&self) -> Vec<String> {
        let named = || self.others.iter().take(MAX_OTHERS).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = self.others.len().saturating_sub(MAX_OTHERS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let by = if self.object.contains(words::OF_CLUSTER) { "--cluster and -n tell" } else { "-n tells" };
        let told = || format!("there is {}{more}: {by} which is meant", named());
        (!self.others.is_empty()).then(told).into_iter().collect()
    }

    fn nobody(&self) -> String {
        if let Some(ours) = &self.before {
            return format!(
                "was written by {ours}, which is an operator here, but its journal does not reach back that far"
            );
        }
        match self.managers.first() {
            Some(manager) => {
                let time = manager.time.as_ref().map(|time| format!(", at {time}")).unwrap_or_default();
                format!("was written by no operator here{}; `{}` wrote it last{time}", self.gap(), manager.name)
            }
            None if self.there == Some(false) => {
                format!("is not there now; it was written by no operator here{}", self.gap())
            }
            None => format!("was written by no operator here{}", self.gap()),
        }
    }

    /// What is not told says nothing when some of what happened was not kept.
    fn gap(&self) -> &'static str {
        if self.lost > 0 { " that the journal knows of, and it has a gap" } else { "" }
    }

    fn awaits(&self) -> Vec<String> {
        let since = |since| times::when(self.now, since);
        let lines = self.awaited.iter();
        lines.map(|one| format!("{} {}: {}, since {}", one.by, one.word, one.reason, since(one.since))).collect()
    }

    /// What was done, from what, and what led to it.
    fn course(&self, written: &Written, out: &mut String) {
        let links = self.chain.iter().map(|link| {
            let because = words::causes(&link.causes);
            format!("{} was written by {} in decision {}, because {because}", link.object, link.unit, link.decision)
        });
        words::column(out, "which", &links.collect::<Vec<_>>());
        let value = written.value.as_ref().map(|value| match value {
            serde_json::Value::Null => ", taking it away".to_string(),
            value => format!(", to {value}"),
        });
        let did = format!("{}, revision {}, decision {}", written.write, written.revision, written.decision);
        words::column(out, "did", &[did + &value.unwrap_or_default()]);
        words::column(out, "from", &written.reads);
    }

    fn reach(&self) -> String {
        match self.since {
            Some(since) => {
                format!("reaches back to {since}, {} ago{}", times::span(self.now.since(since)), self.missing())
            }
            None => format!("is empty{}", self.missing()),
        }
    }

    fn missing(&self) -> String {
        match self.lost {
            0 => String::new(),
            1 => "; 1 entry is lost".to_string(),
            lost => format!("; {lost} entries are lost"),
        }
    }
}
