//! Container logs, for `kubectl logs`.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use switchboard_object::Value;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use crate::request::query::UrlQuery;
use crate::response::ApiResponse;

/// Log of one container.
#[derive(Clone, Debug)]
pub struct ContainerLog {
    /// Namespace of the pod.
    pub namespace: String,
    /// Pod.
    pub pod: String,
    /// Container.
    pub container: String,
    /// Whether the log is of the previous run of the container.
    pub previous: bool,
    /// Content.
    pub text: Bytes,
}

/// Namespace, pod, container, and whether the log is of the previous run.
type LogKey = (String, String, String, bool);

/// Logs of a dump.
#[derive(Clone, Debug, Default)]
pub struct DumpLogs {
    by_container: BTreeMap<LogKey, Bytes>,
}

impl FromIterator<ContainerLog> for DumpLogs {
    fn from_iter<I: IntoIterator<Item = ContainerLog>>(logs: I) -> Self {
        let keyed = logs.into_iter().map(|l| ((l.namespace, l.pod, l.container, l.previous), l.text));
        Self { by_container: keyed.collect() }
    }
}

impl DumpLogs {
    /// Answers `GET .../pods/<name>/log` for a pod of the dump.
    pub(crate) fn answer(&self, pod: &Value, query: &UrlQuery) -> Result<ApiResponse, Status> {
        let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let container = container(pod, name, query.get("container").unwrap_or_default())?;
        let previous = matches!(query.get("previous"), Some("true" | "1"));
        let key = (namespace.to_string(), name.to_string(), container.clone(), previous);
        let Some(log) = self.by_container.get(&key) else {
            let what = if previous { "previous terminated container" } else { "log of container" };
            let message = format!("{what} {} in pod {} not found in the dump", quote(&container), quote(name));
            return Err(Status::bad_request(message));
        };
        Ok(ApiResponse::full(200, "text/plain", select_lines(log, query)?))
    }
}

/// Returns the container: the one named, the only one, or the pod's default container.
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

/// Returns the requested part: since a time, the last lines, the first bytes.
fn select_lines(log: &Bytes, query: &UrlQuery) -> Result<Bytes, Status> {
    let number = |name: &str| match query.get(name).filter(|t| !t.is_empty()) {
        None => Ok(None),
        Some(text) => match text.parse::<usize>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Status::bad_request(format!("invalid {name}: {} is not a number", quote(text)))),
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

/// Returns the start of the first line at or after `since`. Lines of a dump begin with their time.
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

/// Returns the start of the last `lines` lines.
fn start_of_last(log: &[u8], lines: usize) -> usize {
    if lines == 0 {
        return log.len();
    }
    // The end of the last line does not begin another line.
    let body = log.strip_suffix(b"\n").unwrap_or(log);
    body.iter().enumerate().rev().filter(|(_, b)| **b == b'\n').nth(lines - 1).map_or(0, |(at, _)| at + 1)
}
