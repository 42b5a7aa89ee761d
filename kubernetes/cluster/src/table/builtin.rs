//! Cells of built-in kinds, one function per kind or family.

use jiff::Timestamp;
use serde_json::json;
use switchboard_object::kind::{GroupResource, GroupVersion, GroupVersionKind};
use switchboard_object::{Map, Value};

use super::age as ages;
use super::cells::*;
use super::{pod, scaling, workload};

/// Returns the cells of an object of a built-in kind, and the conditions of its row, if any.
pub(super) fn cells(kind: &GroupVersionKind, o: &Value, now: Timestamp) -> (Vec<Value>, Option<Value>) {
    if (kind.group.as_str(), kind.kind.as_str()) == ("", "Pod") {
        return pod::cells(o, now);
    }
    let cells = match kind.group.as_str() {
        "" => core(&kind.kind, o, now),
        "apps" | "batch" | "autoscaling" | "policy" => controlled(&kind.kind, o, now),
        "storage.k8s.io" => storage(&kind.kind, o, now),
        "networking.k8s.io" | "discovery.k8s.io" => network(&kind.kind, o, now),
        "admissionregistration.k8s.io" => admission(&kind.kind, o, now),
        _ => rest(&kind.kind, o, now),
    };
    match cells {
        Value::Array(cells) => (cells, None),
        // Kinds without columns of their own show the creation time.
        _ => (vec![name(o).into(), text(o, "/metadata/creationTimestamp").into()], None),
    }
}

fn core(kind: &str, o: &Value, now: Timestamp) -> Value {
    match kind {
        "ConfigMap" => json!([name(o), count(o, "/data") + count(o, "/binaryData"), age(o, now)]),
        "Secret" => json!([name(o), text(o, "/type"), count(o, "/data"), age(o, now)]),
        "ServiceAccount" => json!([name(o), age(o, now)]),
        "Namespace" => json!([name(o), text(o, "/status/phase"), age(o, now)]),
        "Service" => workload::service(o, now),
        "Endpoints" => workload::endpoints(o, now),
        "Node" => workload::node(o, now),
        "ReplicationController" => workload::replication_controller(o, now),
        "Event" => event(o, now),
        "PersistentVolume" => volume(o, now),
        "PersistentVolumeClaim" => claim(o, now),
        "ResourceQuota" => quota(o, now),
        "PodTemplate" => {
            let (names, images) = containers(o, "/template/spec/containers");
            json!([name(o), names, images, labels(o, "/template/metadata/labels")])
        }
        "ComponentStatus" => {
            let healthy = list(o, "/conditions").iter().find(|c| c["type"] == "Healthy");
            let status = match healthy.map(|c| text(c, "/status")) {
                Some("True") => "Healthy",
                Some(_) => "Unhealthy",
                None => "Unknown",
            };
            let part = |key: &str| healthy.map_or("", |c| text(c, key));
            json!([name(o), status, part("/message"), part("/error")])
        }
        _ => Value::Null,
    }
}

fn controlled(kind: &str, o: &Value, now: Timestamp) -> Value {
    match kind {
        "Deployment" => workload::deployment(o, now),
        "ReplicaSet" => workload::replica_set(o, now),
        "StatefulSet" => workload::stateful_set(o, now),
        "DaemonSet" => workload::daemon_set(o, now),
        "Job" => workload::job(o, now),
        "CronJob" => workload::cron_job(o, now),
        "ControllerRevision" => json!([name(o), controller(o), number(o, "/revision"), age(o, now)]),
        "HorizontalPodAutoscaler" => {
            let target = format!("{}/{}", text(o, "/spec/scaleTargetRef/kind"), text(o, "/spec/scaleTargetRef/name"));
            let least = scalar(o, "/spec/minReplicas", "<unset>");
            let (most, current) = (number(o, "/spec/maxReplicas"), number(o, "/status/currentReplicas"));
            json!([name(o), target, scaling::metrics(o), least, most, current, age(o, now)])
        }
        "PodDisruptionBudget" => {
            let least = scalar(o, "/spec/minAvailable", "N/A");
            let most = scalar(o, "/spec/maxUnavailable", "N/A");
            json!([name(o), least, most, number(o, "/status/disruptionsAllowed"), age(o, now)])
        }
        _ => Value::Null,
    }
}

fn controller(o: &Value) -> String {
    let owner = list(o, "/metadata/ownerReferences").iter().find(|r| r["controller"] == true);
    let Some(owner) = owner else { return "<none>".into() };
    let group = GroupVersion::parse(text(owner, "/apiVersion")).map(|gv| gv.group).unwrap_or_default();
    let kind = GroupResource::new(group, text(owner, "/kind")).to_string().to_lowercase();
    format!("{kind}/{}", text(owner, "/name"))
}

fn event(o: &Value, now: Timestamp) -> Value {
    let at = |pointer: &str| o.pointer(pointer).filter(|t| !t.is_null());
    // The newer group has other names for some fields.
    let either = |a: &str, b: &str| at(a).or_else(|| at(b)).cloned().unwrap_or_default();
    let first = match either("/firstTimestamp", "/deprecatedFirstTimestamp") {
        Value::Null => either("/eventTime", ""),
        found => found,
    };
    let mut last = match either("/lastTimestamp", "/deprecatedLastTimestamp") {
        Value::Null => first.clone(),
        found => found,
    };
    let mut seen = either("/count", "/deprecatedCount").as_i64().unwrap_or_default().max(1);
    if let Some(series) = at("/series") {
        last = series.get("lastObservedTime").cloned().unwrap_or_default();
        seen = number(series, "/count");
    }
    let object = either("/involvedObject", "/regarding");
    let kind = text(&object, "/kind").to_lowercase();
    let target = match text(&object, "/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = either("/source", "/deprecatedSource");
    let reporter = either("/reportingComponent", "/reportingController");
    let component = text_or(&source, "/component", reporter.as_str().unwrap_or_default());
    let instance = text_or(&source, "/host", text(o, "/reportingInstance"));
    let source = if instance.is_empty() { component.into() } else { format!("{component}, {instance}") };
    let message = either("/message", "/note");
    let message = message.as_str().unwrap_or_default().trim();
    let (last, first) = (ages::since(&last, now), ages::since(&first, now));
    let path = text(&object, "/fieldPath");
    json!([last, text(o, "/type"), text(o, "/reason"), target, path, source, message, first, seen, name(o)])
}

fn access_modes(o: &Value, pointer: &str) -> String {
    let held: Vec<&str> = list(o, pointer).iter().filter_map(Value::as_str).collect();
    let known =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    known.iter().filter(|(mode, _)| held.contains(mode)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn phase(o: &Value) -> &str {
    if is_deleting(o) { "Terminating" } else { text(o, "/status/phase") }
}

const CLASS_ANNOTATION: &str = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";

fn volume(o: &Value, now: Timestamp) -> Value {
    let claim = match o.pointer("/spec/claimRef") {
        Some(claim) => format!("{}/{}", text(claim, "/namespace"), text(claim, "/name")),
        None => String::new(),
    };
    let class = text_or(o, CLASS_ANNOTATION, text(o, "/spec/storageClassName"));
    let attributes = text_or(o, "/spec/volumeAttributesClassName", "<unset>");
    let mode = text_or(o, "/spec/volumeMode", "<unset>");
    let (size, modes) = (scalar(o, "/spec/capacity/storage", "0"), access_modes(o, "/spec/accessModes"));
    let (policy, why) = (text(o, "/spec/persistentVolumeReclaimPolicy"), text(o, "/status/reason"));
    json!([name(o), size, modes, policy, phase(o), claim, class, attributes, why, age(o, now), mode])
}

fn claim(o: &Value, now: Timestamp) -> Value {
    let volume = text(o, "/spec/volumeName");
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (scalar(o, "/status/capacity/storage", "0"), access_modes(o, "/status/accessModes")),
    };
    let class = text_or(o, CLASS_ANNOTATION, text(o, "/spec/storageClassName"));
    let attributes = text_or(o, "/spec/volumeAttributesClassName", "<unset>");
    let mode = text_or(o, "/spec/volumeMode", "<unset>");
    json!([name(o), phase(o), volume, capacity, modes, class, attributes, age(o, now), mode])
}

fn quota(o: &Value, now: Timestamp) -> Value {
    let hard = o.pointer("/status/hard").and_then(Value::as_object);
    let entries = hard.into_iter().flat_map(Map::iter).map(|(resource, most)| {
        let used = o.pointer("/status/used").and_then(|u| u.get(resource)).and_then(Value::as_str).unwrap_or("0");
        (resource.starts_with("limits."), format!("{resource}: {used}/{}", most.as_str().unwrap_or("0")))
    });
    let (limits, requests): (Vec<_>, Vec<_>) = entries.partition(|(limit, _)| *limit);
    let join = |all: Vec<(bool, String)>| all.into_iter().map(|(_, t)| t).collect::<Vec<_>>().join(", ");
    json!([name(o), join(requests), join(limits), age(o, now)])
}

fn storage(kind: &str, o: &Value, now: Timestamp) -> Value {
    match kind {
        "StorageClass" => {
            let policy = text_or(o, "/reclaimPolicy", "Delete");
            let binding = text_or(o, "/volumeBindingMode", "Immediate");
            let grows = boolean(o, "/allowVolumeExpansion", false);
            let shown = default_name(o, "storageclass.kubernetes.io~1is-default-class");
            json!([shown, text(o, "/provisioner"), policy, binding, grows, age(o, now)])
        }
        "VolumeAttributesClass" => json!([name(o), text(o, "/driverName"), age(o, now)]),
        "VolumeAttachment" => {
            let (attacher, node) = (text(o, "/spec/attacher"), text(o, "/spec/nodeName"));
            let volume = text(o, "/spec/source/persistentVolumeName");
            json!([name(o), attacher, volume, node, boolean(o, "/status/attached", false), age(o, now)])
        }
        "CSINode" => json!([name(o), count(o, "/spec/drivers"), age(o, now)]),
        "CSIDriver" => {
            let texts = |pointer: &str, key: &str| {
                list(o, pointer)
                    .iter()
                    .map(|v| v.as_str().unwrap_or_else(|| text(v, key)))
                    .collect::<Vec<_>>()
                    .join(",")
            };
            let modes = match texts("/spec/volumeLifecycleModes", "") {
                none if none.is_empty() => "<none>".into(),
                some => some,
            };
            let tokens = match o.pointer("/spec/tokenRequests") {
                Some(_) => texts("/spec/tokenRequests", "/audience"),
                None => "<unset>".into(),
            };
            let is = |key: &str, otherwise| boolean(o, &format!("/spec/{key}"), otherwise);
            let (attach, info) = (is("attachRequired", true), is("podInfoOnMount", false));
            let (capacity, republish) = (is("storageCapacity", false), is("requiresRepublish", false));
            json!([name(o), attach, info, capacity, tokens, republish, modes, age(o, now)])
        }
        _ => Value::Null,
    }
}

/// Returns the name, with a mark for the default class of the kind.
fn default_name(o: &Value, annotation: &str) -> String {
    let is_default = text(o, &format!("/metadata/annotations/{annotation}")) == "true";
    format!("{}{}", name(o), if is_default { " (default)" } else { "" })
}

fn network(kind: &str, o: &Value, now: Timestamp) -> Value {
    match kind {
        "Ingress" => workload::ingress(o, now),
        "EndpointSlice" => workload::endpoint_slice(o, now),
        "NetworkPolicy" => json!([name(o), selector(o, "/spec/podSelector", "<none>"), age(o, now)]),
        "ServiceCIDR" => {
            let ranges = list(o, "/spec/cidrs").iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",");
            json!([name(o), ranges, age(o, now)])
        }
        "IngressClass" => {
            let parameters = match o.pointer("/spec/parameters") {
                Some(p) => {
                    let kind = GroupResource::new(text(p, "/apiGroup"), text(p, "/kind"));
                    format!("{kind}/{}", text(p, "/name"))
                }
                None => "<none>".into(),
            };
            let shown = default_name(o, "ingressclass.kubernetes.io~1is-default-class");
            json!([shown, text(o, "/spec/controller"), parameters, age(o, now)])
        }
        "IPAddress" => {
            let parent = match o.pointer("/spec/parentRef") {
                Some(p) => {
                    let resource = GroupResource::new(text(p, "/group"), text(p, "/resource")).to_string();
                    let parts = [resource.as_str(), text(p, "/namespace"), text(p, "/name")];
                    parts.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("/").to_lowercase()
                }
                None => "<none>".into(),
            };
            json!([name(o), parent, age(o, now)])
        }
        _ => Value::Null,
    }
}

fn admission(kind: &str, o: &Value, now: Timestamp) -> Value {
    let parameter_kind = match o.pointer("/spec/paramKind") {
        Some(p) => format!("{}/{}", text(p, "/apiVersion"), text(p, "/kind")),
        None => "<unset>".into(),
    };
    match kind {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            json!([name(o), count(o, "/webhooks"), age(o, now)])
        }
        "ValidatingAdmissionPolicy" => json!([name(o), count(o, "/spec/validations"), parameter_kind, age(o, now)]),
        "MutatingAdmissionPolicy" => json!([name(o), count(o, "/spec/mutations"), parameter_kind, age(o, now)]),
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            let parameter = match (text(o, "/spec/paramRef/name"), text(o, "/spec/paramRef/namespace")) {
                ("", _) => "<unset>".into(),
                (name, "") => format!("*/{name}"),
                (name, namespace) => format!("{namespace}/{name}"),
            };
            json!([name(o), text(o, "/spec/policyName"), parameter, age(o, now)])
        }
        _ => Value::Null,
    }
}

fn rest(kind: &str, o: &Value, now: Timestamp) -> Value {
    match kind {
        "Event" => event(o, now),
        "Lease" => json!([name(o), text(o, "/spec/holderIdentity"), age(o, now)]),
        "RoleBinding" | "ClusterRoleBinding" => binding(o, now),
        "RuntimeClass" => json!([name(o), text(o, "/handler"), age(o, now)]),
        "DeviceClass" | "ResourceClaimTemplate" => json!([name(o), age(o, now)]),
        "PriorityClass" => {
            let (value, everyone) = (number(o, "/value"), boolean(o, "/globalDefault", false));
            json!([name(o), value, everyone, age(o, now), text(o, "/preemptionPolicy")])
        }
        "CertificateSigningRequest" => signing_request(o, now),
        "APIService" => api_service(o, now),
        "FlowSchema" => {
            let dangling = match condition(o, "Dangling") {
                "" => "?",
                status => status,
            };
            let (level, order) =
                (text(o, "/spec/priorityLevelConfiguration/name"), number(o, "/spec/matchingPrecedence"));
            let method = text_or(o, "/spec/distinguisherMethod/type", "<none>");
            json!([name(o), level, order, method, age(o, now), dangling])
        }
        "PriorityLevelConfiguration" => {
            let part = |pointer: &str| o.pointer(pointer).cloned().unwrap_or_else(|| "<none>".into());
            let queuing = |key: &str| part(&format!("/spec/limited/limitResponse/queuing/{key}"));
            let shares = part("/spec/limited/nominalConcurrencyShares");
            let (queues, hand, limit) = (queuing("queues"), queuing("handSize"), queuing("queueLengthLimit"));
            json!([name(o), text(o, "/spec/type"), shares, queues, hand, limit, age(o, now)])
        }
        "ResourceClaim" => json!([name(o), claim_state(o), age(o, now)]),
        "ResourceSlice" => {
            let (node, driver) = (text(o, "/spec/nodeName"), text(o, "/spec/driver"));
            json!([name(o), node, driver, text(o, "/spec/pool/name"), age(o, now)])
        }
        _ => Value::Null,
    }
}

fn binding(o: &Value, now: Timestamp) -> Value {
    let role = format!("{}/{}", text(o, "/roleRef/kind"), text(o, "/roleRef/name"));
    let subjects = |kind: &str| {
        let found = list(o, "/subjects").iter().filter(|s| s["kind"] == kind);
        found
            .map(|s| match kind {
                "ServiceAccount" => format!("{}/{}", text(s, "/namespace"), text(s, "/name")),
                _ => text(s, "/name").to_string(),
            })
            .collect::<Vec<_>>()
            .join(", ")
    };
    json!([name(o), role, age(o, now), subjects("User"), subjects("Group"), subjects("ServiceAccount")])
}

fn signing_request(o: &Value, now: Timestamp) -> Value {
    let has = |kind: &str| list(o, "/status/conditions").iter().any(|c| c["type"] == kind);
    let mut status = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied".to_string(),
        (false, true) => "Approved".to_string(),
        (false, false) => "Pending".to_string(),
    };
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !text(o, "/status/certificate").is_empty() {
        status.push_str(",Issued");
    }
    let seconds = o.pointer("/spec/expirationSeconds").and_then(Value::as_i64);
    let duration = seconds.map_or("<none>".into(), |s| ages::human(s * 1000));
    let signer = text_or(o, "/spec/signerName", "<none>");
    json!([name(o), age(o, now), signer, text(o, "/spec/username"), duration, status])
}

fn api_service(o: &Value, now: Timestamp) -> Value {
    let service = match o.pointer("/spec/service") {
        Some(s) => format!("{}/{}", text(s, "/namespace"), text(s, "/name")),
        None => "Local".into(),
    };
    let available = list(o, "/status/conditions").iter().find(|c| c["type"] == "Available");
    let available = match available.map(|c| (text(c, "/status"), text(c, "/reason"))) {
        Some(("True", _)) => "True".into(),
        Some((status, reason)) => format!("{status} ({reason})"),
        None => "Unknown".into(),
    };
    json!([name(o), service, available, age(o, now)])
}

fn claim_state(o: &Value) -> String {
    let mut states = Vec::new();
    if is_deleting(o) {
        states.push("deleted");
    }
    if o.pointer("/status/allocation").is_some() {
        states.push("allocated");
        if count(o, "/status/reservedFor") > 0 {
            states.push("reserved");
        }
    } else if !is_deleting(o) {
        states.push("pending");
    }
    states.join(",")
}
