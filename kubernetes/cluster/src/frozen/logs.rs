//! Logs of containers, as `kubectl logs` asks for them.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use switchboard_object::Value;
use switchboard_object::status::Status;

use crate::answer::Answer;
use crate::request::query::Query;

/// One container's log.
#[derive(Clone, Debug)]
pub struct Log {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Of the run before the current one.
    pub previous: bool,
    /// What it wrote.
    pub text: Bytes,
}

/// Namespace, pod, container, and whether it is of the run before.
type LogKey = (String, String, String, bool);

/// The logs of a dump.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    by_container: BTreeMap<LogKey, Bytes>,
}

impl FromIterator<Log> for Logs {
    fn from_iter<I: IntoIterator<Item = Log>>(logs: I) -> Self {
        let keyed = logs.into_iter().map(|l| ((l.namespace, l.pod, l.container, l.previous), l.text));
        Self { by_container: keyed.collect() }
    }
}

impl Logs {
    /// Answers `GET .../pods/<name>/log` for a pod of the dump.
    pub(crate) fn answer(&self, pod: &Value, query: &Query) -> Result<Answer, Status> {
        let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let container = container(pod, name, query.get("container").unwrap_or_default())?;
        let previous = matches!(query.get("previous"), Some("true" | "1"));
        let key = (namespace.to_string(), name.to_string(), container.clone(), previous);
        let Some(log) = self.by_container.get(&key) else {
            let what = if previous { "previous terminated container" } else { "log of container" };
            let message = format!("{what} {container:?} in pod {name:?} not found in the dump");
            return Err(Status::bad_request(message));
        };
        Ok(Answer::full(200, "text/plain", cut(log, query)?))
    }
}

/// The container that is meant: the one named, the only one, or the pod's default.
fn container(pod: &Value, name: &str, asked: &str) -> Result<String, Status> {
    let lists = ["/spec/initContainers", "/spec/containers", "/spec/ephemeralContainers"];
    let named = |pointer: &str| {
        let list = pod.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|c| c["name"].as_str().map(str::to_string)).collect::<Vec<_>>()
    };
    let default = pod.pointer("/metadata/annotations/kubectl.kubernetes.io~1default-container");
    let own = named("/spec/containers");
    match (asked, own.as_slice(), default.and_then(Value::as_str)) {
        ("", [only], _) => Ok(only.clone()),
        ("", _, Some(default)) => Ok(default.to_string()),
        ("", many, None) => {
            let message =
                format!("a container name must be specified for pod {name}, choose one of: [{}]", many.join(" "));
            Err(Status::bad_request(message))
        }
        (asked, _, _) if lists.iter().any(|l| named(l).iter().any(|n| n == asked)) => Ok(asked.to_string()),
        (asked, _, _) => Err(Status::bad_request(format!("container {asked} is not valid for pod {name}"))),
    }
}

/// The part that is asked for: since a time, the last lines, the first bytes.
fn cut(log: &Bytes, query: &Query) -> Result<Bytes, Status> {
    let number = |name: &str| match query.get(name).filter(|t| !t.is_empty()) {
        None => Ok(None),
        Some(text) => match text.parse::<usize>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Status::bad_request(format!("invalid {name}: {text:?} is not a number"))),
        },
    };
    let mut rest = log.clone();
    if let Some(since) = query.get("sinceTime").and_then(|t| t.parse::<Timestamp>().ok()) {
        rest = rest.slice(start_since(&rest, since)..);
    }
    if let Some(lines) = number("tailLines")? {
        rest = rest.slice(start_of_last(&rest, lines)..);
    }
    if let Some(bytes) = number("limitBytes")? {
        rest = rest.slice(..bytes.min(rest.len()));
    }
    Ok(rest)
}

/// Where the first line at or behind `since` begins. Lines of a dump begin with their time.
fn start_since(log: &[u8], since: Timestamp) -> usize {
    let mut at = 0;
    for line in log.split_inclusive(|b| *b == b'\n') {
        let word = line.split(|b| *b == b' ').next().and_then(|w| std::str::from_utf8(w).ok());
        if word.and_then(|w| w.parse::<Timestamp>().ok()).is_some_and(|time| time >= since) {
            break;
        }
        at += line.len();
    }
    at
}

/// Where the last `lines` lines begin.
fn start_of_last(log: &[u8], lines: usize) -> usize {
    if lines == 0 {
        return log.len();
    }
    // The end of the last line does not begin another one.
    let body = log.strip_suffix(b"\n").unwrap_or(log);
    body.iter().enumerate().rev().filter(|(_, b)| **b == b'\n').nth(lines - 1).map_or(0, |(at, _)| at + 1)
}
