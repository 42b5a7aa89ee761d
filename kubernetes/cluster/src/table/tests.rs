#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::registry::Registry;
use crate::resource::{CrdVersion, LazySchema, PrinterColumn};
use switchboard_object::kind::GroupVersionKind;

fn now() -> Timestamp {
    "2026-01-02T00:00:00Z".parse().unwrap()
}

#[track_caller]
fn check(kind: &str, object: Value, cells: Value) {
    let registry = Registry::built_in();
    let resource = registry.groups().flat_map(|g| &g.versions).flat_map(|v| &v.resources);
    let resource = resource.filter(|r| r.verbs.iter().any(|v| &**v == "list")).find(|r| r.kind.kind == kind).unwrap();
    let mut object = object;
    object["metadata"]["name"] = "x".into();
    object["metadata"]["creationTimestamp"] = "2026-01-01T22:30:00Z".into();
    let row = row(resource, &object, now(), IncludeObject::None);
    assert_eq!(row["cells"], cells);
    let columns = columns(resource);
    assert_eq!(columns.as_array().map(Vec::len), cells.as_array().map(Vec::len), "as many cells as columns");
}

#[test]
fn every_kind_fills_its_columns() {
    let registry = Registry::built_in();
    for resource in registry.groups().flat_map(|g| &g.versions).flat_map(|v| &v.resources) {
        if !resource.verbs.iter().any(|v| &**v == "list") || resource.kind.kind == "IPAddress" {
            // The Kubernetes release has an IPAddress cell without a column.
            continue;
        }
        let row = row(resource, &json!({"metadata": {"name": "x"}}), now(), IncludeObject::Metadata);
        let columns = columns(resource);
        assert_eq!(row["cells"].as_array().map(Vec::len), columns.as_array().map(Vec::len), "{}", resource.kind);
        assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    }
}

#[test]
fn config_maps_count_their_keys() {
    check("ConfigMap", json!({"data": {"a": "1", "b": "2"}, "binaryData": {"c": ""}}), json!(["x", 3, "90m"]));
}

#[test]
fn deployments_show_ready_and_desired_replicas() {
    let object = json!({
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                 "template": {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}]}}},
        "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1},
    });
    check("Deployment", object, json!(["x", "2/3", 3, 1, "90m", "a,b", "i:1,j", "app=web"]));
}

#[test]
fn services_show_where_they_are_reached() {
    let object = json!({"spec": {"type": "NodePort", "clusterIPs": ["10.0.0.7"], "selector": {"a": "b"},
        "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]}});
    let cells = json!(["x", "NodePort", "10.0.0.7", "<none>", "80:30080/TCP,53/UDP", "90m", "a=b"]);
    check("Service", object, cells);
}

#[test]
fn a_pod_shows_why_it_does_not_run() {
    let object = json!({
        "spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}]},
        "status": {"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
             "lastState": {"terminated": {"finishedAt": "2026-01-01T23:59:00Z"}}}]},
    });
    let cells =
        json!(["x", "0/1", "Init:CrashLoopBackOff", "2 (60s ago)", "90m", "<none>", "<none>", "<none>", "<none>"]);
    check("Pod", object, cells);
}

#[test]
fn a_finished_pod_shows_its_reason() {
    let ended = |terminated: Value| {
        json!({"spec": {"containers": [{"name": "a"}]}, "status": {"phase": "Failed",
            "containerStatuses": [{"name": "a", "restartCount": 0, "state": {"terminated": terminated}}]}})
    };
    let cells = |status: &str| json!(["x", "0/1", status, "0", "90m", "<none>", "<none>", "<none>", "<none>"]);
    check("Pod", ended(json!({"reason": "Error", "exitCode": 1})), cells("Error"));
    check("Pod", ended(json!({"signal": 9, "exitCode": 137})), cells("Signal:9"));
    check("Pod", ended(json!({"exitCode": 3})), cells("ExitCode:3"));
}

#[test]
fn events_show_the_last_time_and_the_target() {
    let object = json!({"involvedObject": {"kind": "Pod", "name": "web"}, "type": "Warning", "reason": "Failed",
        "message": " no image\n", "firstTimestamp": "2026-01-01T23:00:00Z", "lastTimestamp": "2026-01-01T23:58:00Z",
        "count": 4, "source": {"component": "kubelet", "host": "n1"}});
    let cells = json!(["2m", "Warning", "Failed", "pod/web", "", "kubelet, n1", "no image", "60m", 4, "x"]);
    check("Event", object, cells);
}

#[test]
fn ages_are_two_units_at_most() {
    let cases = [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (135, "2m15s"),
        (599, "9m59s"),
        (601, "10m"),
        (10_800, "3h"),
        (10_860, "3h1m"),
        (28_800, "8h"),
        (172_800, "2d"),
        (176_400, "2d1h"),
        (691_200, "8d"),
        (63_072_000, "2y"),
        (-1, "0s"),
        (-5, "<invalid>"),
    ];
    for (seconds, expected) in cases {
        assert_eq!(age::human(seconds * 1000), expected, "{seconds} s");
    }
}

fn custom(columns: Vec<PrinterColumn>) -> ServedResource {
    ServedResource {
        kind: GroupVersionKind::new("shop.example.com", "v1", "Widget"),
        plural: "widgets".into(),
        singular: "widget".into(),
        list_kind: "WidgetList".into(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        verbs: vec![],
        subresources: vec![],
        schema: LazySchema::custom(bytes::Bytes::new(), "v1".into()),
        custom: Some(Arc::new(CrdVersion { columns, ..CrdVersion::default() })),
    }
}

fn column(name: &str, kind: &str, path: &str) -> PrinterColumn {
    let (name, kind, path) = (name.into(), kind.into(), path.into());
    PrinterColumn { name, kind, format: "".into(), description: "".into(), priority: 0, path }
}

#[test]
fn custom_columns_are_typed() {
    let resource = custom(vec![
        column("Color", "string", ".spec.color"),
        column("Size", "integer", ".spec.size"),
        column("Ready", "boolean", ".status.ready"),
        column("Since", "date", ".status.since"),
    ]);
    let object = json!({"metadata": {"name": "w"}, "spec": {"color": "red", "size": "large"},
        "status": {"ready": true, "since": "2026-01-01T23:59:30Z"}});
    let row = row(&resource, &object, now(), IncludeObject::Object);
    assert_eq!(row["cells"], json!(["w", "red", null, true, "30s"]));
    assert_eq!(row["object"], object);
}

#[test]
fn a_custom_resource_without_columns_shows_its_age() {
    let resource = custom(vec![]);
    let object = json!({"metadata": {"name": "w", "creationTimestamp": "2026-01-01T23:00:00Z"}});
    assert_eq!(row(&resource, &object, now(), IncludeObject::None)["cells"], json!(["w", "60m"]));
    assert_eq!(columns(&resource)[1]["name"], "Age");
}
