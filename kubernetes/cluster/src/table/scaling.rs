//! Metrics of a HorizontalPodAutoscaler, current against target.

use switchboard_object::Value;

use super::cells::{list, scalar, some_of, text};

/// Number of metrics shown.
const SHOWN_METRICS: usize = 2;

/// Formats `cpu: 12%/80%, 3/10 + 1 more...`.
pub(super) fn metrics(autoscaler: &Value) -> String {
    if autoscaler.pointer("/spec/metrics").is_none() {
        return cpu_percentage(autoscaler);
    }
    let current = list(autoscaler, "/status/currentMetrics");
    let shown: Vec<String> = list(autoscaler, "/spec/metrics")
        .iter()
        .enumerate()
        .map(|(at, spec)| metric(spec, current.get(at).unwrap_or(&Value::Null)))
        .collect();
    some_of(&shown, SHOWN_METRICS, ", ", "<none>")
}

/// Formats the one metric of autoscaling/v1.
fn cpu_percentage(autoscaler: &Value) -> String {
    match autoscaler.pointer("/spec/targetCPUUtilizationPercentage") {
        Some(target) => {
            let current = autoscaler.pointer("/status/currentCPUUtilizationPercentage");
            format!("cpu: {}/{target}%", current.map_or("<unknown>".into(), |c| format!("{c}%")))
        }
        None => "<none>".into(),
    }
}

fn metric(spec: &Value, status: &Value) -> String {
    let (source, named) = match text(spec, "/type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".into(),
    };
    let target = |key: &str| scalar(spec, &format!("/{source}/target/{key}"), "");
    let current = |key: &str| scalar(status, &format!("/{source}/current/{key}"), "<unknown>");
    let average = target("averageValue");
    if named {
        let name = text(spec, &format!("/{source}/name"));
        if !average.is_empty() {
            return format!("{name}: {}/{average}", current("averageValue"));
        }
        let percent = |value: String, none: &str| match value.parse::<i64>() {
            Ok(number) => format!("{number}%"),
            Err(_) => none.to_string(),
        };
        let now = percent(current("averageUtilization"), "<unknown>");
        return format!("{name}: {now}/{}", percent(target("averageUtilization"), "<auto>"));
    }
    match (source, average.is_empty()) {
        ("pods", _) => format!("{}/{average}", current("averageValue")),
        (_, false) => format!("{}/{average} (avg)", current("averageValue")),
        (_, true) => format!("{}/{}", current("value"), target("value")),
    }
}
