//! Cells of workloads, services, endpoints and nodes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;
use switchboard_object::Value;

use super::age as ages;
use super::cells::*;

/// Path of the containers of most workloads.
const TEMPLATE: &str = "/spec/template/spec/containers";
/// Number of endpoints shown.
const SHOWN_ENDPOINTS: usize = 3;

pub(super) fn deployment(o: &Value, now: Timestamp) -> Value {
    let (names, images) = containers(o, TEMPLATE);
    let ready = format!("{}/{}", number(o, "/status/readyReplicas"), number(o, "/spec/replicas"));
    let (updated, available) = (number(o, "/status/updatedReplicas"), number(o, "/status/availableReplicas"));
    json!([name(o), ready, updated, available, age(o, now), names, images, selector(o, "/spec/selector", "")])
}

pub(super) fn replica_set(o: &Value, now: Timestamp) -> Value {
    let (names, images) = containers(o, TEMPLATE);
    let [desired, current, ready] = replicas(o);
    json!([name(o), desired, current, ready, age(o, now), names, images, selector(o, "/spec/selector", "<none>")])
}

pub(super) fn replication_controller(o: &Value, now: Timestamp) -> Value {
    let (names, images) = containers(o, TEMPLATE);
    let [desired, current, ready] = replicas(o);
    json!([name(o), desired, current, ready, age(o, now), names, images, labels(o, "/spec/selector")])
}

fn replicas(o: &Value) -> [i64; 3] {
    ["/spec/replicas", "/status/replicas", "/status/readyReplicas"].map(|p| number(o, p))
}

pub(super) fn stateful_set(o: &Value, now: Timestamp) -> Value {
    let (names, images) = containers(o, TEMPLATE);
    let ready = format!("{}/{}", number(o, "/status/readyReplicas"), number(o, "/spec/replicas"));
    json!([name(o), ready, age(o, now), names, images])
}

pub(super) fn daemon_set(o: &Value, now: Timestamp) -> Value {
    let (names, images) = containers(o, TEMPLATE);
    let counts = [
        "/status/desiredNumberScheduled",
        "/status/currentNumberScheduled",
        "/status/numberReady",
        "/status/updatedNumberScheduled",
        "/status/numberAvailable",
    ];
    let mut all = vec![Value::from(name(o))];
    all.extend(counts.map(|p| Value::from(number(o, p))));
    all.extend([labels(o, "/spec/template/spec/nodeSelector"), age(o, now), names, images].map(Value::from));
    all.push(selector(o, "/spec/selector", "<none>").into());
    all.into()
}

pub(super) fn job(o: &Value, now: Timestamp) -> Value {
    let succeeded = number(o, "/status/succeeded");
    let completions = match o.pointer("/spec/completions").and_then(Value::as_i64) {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None => match number(o, "/spec/parallelism") {
            many @ 2.. => format!("{succeeded}/1 of {many}"),
            _ => format!("{succeeded}/1"),
        },
    };
    let duration = match (o.pointer("/status/startTime"), o.pointer("/status/completionTime")) {
        (None, _) => String::new(),
        (Some(start), None) => ages::since(start, now),
        (Some(start), Some(end)) => ages::between(start, end),
    };
    let (names, images) = containers(o, TEMPLATE);
    let selector = selector(o, "/spec/selector", "<none>");
    json!([name(o), job_status(o), completions, duration, age(o, now), names, images, selector])
}

fn job_status(o: &Value) -> &'static str {
    let is = |kind: &str| condition(o, kind) == "True";
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if is_deleting(o) => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

pub(super) fn cron_job(o: &Value, now: Timestamp) -> Value {
    let last = o.pointer("/status/lastScheduleTime").map_or("<none>".into(), |t| ages::since(t, now));
    let suspend = match o.pointer("/spec/suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let (names, images) = containers(o, "/spec/jobTemplate/spec/template/spec/containers");
    let zone = text_or(o, "/spec/timeZone", "<none>");
    let active = count(o, "/status/active");
    let selector = selector(o, "/spec/jobTemplate/spec/selector", "<none>");
    json!([name(o), text(o, "/spec/schedule"), zone, suspend, active, last, age(o, now), names, images, selector])
}

pub(super) fn service(o: &Value, now: Timestamp) -> Value {
    let ports: Vec<String> = list(o, "/spec/ports").iter().map(service_port).collect();
    let ports = if ports.is_empty() { "<none>".into() } else { ports.join(",") };
    let internal = text_or(o, "/spec/clusterIPs/0", "<none>");
    let selector = labels(o, "/spec/selector");
    json!([name(o), text(o, "/spec/type"), internal, external_address(o), ports, age(o, now), selector])
}

fn service_port(port: &Value) -> String {
    let (number_, protocol) = (number(port, "/port"), text(port, "/protocol"));
    match number(port, "/nodePort") {
        0 => format!("{number_}/{protocol}"),
        node => format!("{number_}:{node}/{protocol}"),
    }
}

fn external_address(o: &Value) -> String {
    let external = list(o, "/spec/externalIPs").iter().filter_map(Value::as_str);
    let or = |addresses: Vec<&str>, none: &str| match addresses.is_empty() {
        true => none.to_string(),
        false => addresses.join(","),
    };
    match text(o, "/spec/type") {
        "ClusterIP" | "NodePort" => or(external.collect(), "<none>"),
        "LoadBalancer" => or(load_balancer(o).into_iter().chain(external).collect(), "<pending>"),
        "ExternalName" => text(o, "/spec/externalName").into(),
        _ => "<unknown>".into(),
    }
}

fn load_balancer(o: &Value) -> BTreeSet<&str> {
    let ingress = list(o, "/status/loadBalancer/ingress").iter();
    ingress.map(|i| text_or(i, "/ip", text(i, "/hostname"))).filter(|a| !a.is_empty()).collect()
}

pub(super) fn ingress(o: &Value, now: Timestamp) -> Value {
    let rules = list(o, "/spec/rules");
    let hosts: Vec<String> = rules.iter().map(|r| text(r, "/host").to_string()).filter(|h| !h.is_empty()).collect();
    let hosts = some_of(&hosts, 3, ",", "*");
    let address = load_balancer(o).into_iter().collect::<Vec<_>>().join(",");
    let ports = if count(o, "/spec/tls") > 0 { "80, 443" } else { "80" };
    json!([name(o), text_or(o, "/spec/ingressClassName", "<none>"), hosts, address, ports, age(o, now)])
}

pub(super) fn endpoints(o: &Value, now: Timestamp) -> Value {
    let mut all = Vec::new();
    for subset in list(o, "/subsets") {
        let addresses: Vec<&str> = list(subset, "/addresses").iter().map(|a| text(a, "/ip")).collect();
        match list(subset, "/ports") {
            [] => all.extend(addresses.iter().map(ToString::to_string)),
            ports => {
                for port in ports {
                    all.extend(addresses.iter().map(|a| host_port(a, number(port, "/port"))));
                }
            }
        }
    }
    json!([name(o), some_of(&all, SHOWN_ENDPOINTS, ",", "<none>"), age(o, now)])
}

fn host_port(address: &str, port: i64) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

pub(super) fn endpoint_slice(o: &Value, now: Timestamp) -> Value {
    let port = |p: &Value| scalar(p, "/port", text_or(p, "/name", "*"));
    let ports: Vec<String> = list(o, "/ports").iter().map(port).collect();
    let addresses = list(o, "/endpoints").iter().flat_map(|e| list(e, "/addresses"));
    let addresses: Vec<String> = addresses.filter_map(Value::as_str).map(str::to_string).collect();
    let some = |texts: &[String]| some_of(texts, SHOWN_ENDPOINTS, ",", "<unset>");
    json!([name(o), text(o, "/addressType"), some(&ports), some(&addresses), age(o, now)])
}

pub(super) fn node(o: &Value, now: Timestamp) -> Value {
    let mut status = match condition(o, "Ready") {
        "True" => "Ready".to_string(),
        "" => "Unknown".to_string(),
        _ => "NotReady".to_string(),
    };
    if boolean(o, "/spec/unschedulable", false) {
        status.push_str(",SchedulingDisabled");
    }
    let address = |kind: &str| {
        let found = list(o, "/status/addresses").iter().find(|a| a["type"] == kind);
        found.map_or("<none>", |a| text(a, "/address")).to_string()
    };
    let info = |key: &str| text_or(o, &format!("/status/nodeInfo/{key}"), "<unknown>").to_string();
    let kernel = match text(o, "/status/nodeInfo/architecture") {
        "" => info("kernelVersion"),
        architecture => format!("{} ({architecture})", info("kernelVersion")),
    };
    let version = text(o, "/status/nodeInfo/kubeletVersion");
    let (internal, external) = (address("InternalIP"), address("ExternalIP"));
    let (image, runtime) = (info("osImage"), info("containerRuntimeVersion"));
    json!([name(o), status, roles(o), age(o, now), version, internal, external, image, kernel, runtime])
}

fn roles(o: &Value) -> String {
    let labels = o.pointer("/metadata/labels").and_then(Value::as_object);
    let found: BTreeSet<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None => (key == "kubernetes.io/role").then(|| value.as_str()).flatten(),
        })
        .filter(|role| !role.is_empty())
        .collect();
    if found.is_empty() { "<none>".into() } else { found.into_iter().collect::<Vec<_>>().join(",") }
}
