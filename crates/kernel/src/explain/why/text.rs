//! `why` for people. The cause stands within the first five lines.

use std::fmt;

use super::super::{times, words};
use super::Why;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match &self.field {
            Some(field) => format!("{field} of {}", self.object),
            None => self.object.clone(),
        };
        let mut out = String::new();
        match &self.written {
            Some(_) => self.known(&subject, &mut out),
            None => self.unknown(&subject, &mut out),
        }
        if let Some(tried) = &self.tried {
            let when = times::when(self.now, tried.at);
            let line = format!("{} in decision {}, {when}: {}", tried.unit, tried.decision, tried.result);
            words::column(&mut out, "tried", &[line]);
        }
        let awaited = self
            .awaited
            .iter()
            .map(|one| format!("{} {}: {}, since {}", one.by, one.word, one.reason, times::when(self.now, one.since)));
        words::column(&mut out, "awaited", &awaited.collect::<Vec<_>>());
        words::column(&mut out, "found", &self.findings);
        words::column(&mut out, "owned by", &self.owners());
        f.write_str(&out)
    }
}

impl Why {
    fn known(&self, subject: &str, out: &mut String) {
        let Some(written) = &self.written else { return };
        let when = times::when(self.now, written.at);
        let verb = match &self.field {
            Some(_) => "was last changed by",
            None if written.write.starts_with("delete ") => "was deleted by",
            None => "was last written by",
        };
        out.push_str(&format!("{subject} {verb} {}, {when}\n", written.unit));
        words::column(out, "because", &[words::causes(&written.causes)]);
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

    fn unknown(&self, subject: &str, out: &mut String) {
        match self.managers.first() {
            Some(manager) => {
                let time = manager.time.as_ref().map(|time| format!(", at {time}")).unwrap_or_default();
                out.push_str(&format!(
                    "{subject} was written by no operator here; `{}` wrote it last{time}\n",
                    manager.name
                ));
            }
            None => out.push_str(&format!("{subject} was written by no operator here\n")),
        }
        let reach = match self.since {
            Some(since) => format!("reaches back to {since}, {} ago", times::span(self.now.since(since))),
            None => "is empty".to_string(),
        };
        words::column(out, "journal", &[reach]);
    }

    fn owners(&self) -> Vec<String> {
        let one = |manager: &super::Manager| {
            let time = manager.time.as_ref().map(|time| format!(", {time}")).unwrap_or_default();
            format!("{} ({}{time})", manager.name, manager.operation)
        };
        self.managers.iter().map(one).collect()
    }
}
