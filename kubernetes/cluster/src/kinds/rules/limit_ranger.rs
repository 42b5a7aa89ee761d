//! LimitRanges: defaults and constraints for pods and claims of a namespace.

use serde_json::{Map, Value, json};
use switchboard_object::kind::GroupResource;
use switchboard_object::quantity::Quantity;
use switchboard_object::status::Status;

use super::super::WriteContext;
use super::{at, items, text};

/// Annotation that lists the defaults set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

fn ranges(object: &Value, env: &WriteContext<'_>) -> Vec<Value> {
    env.cluster.list("limitranges", text(object, "/metadata/namespace"))
}

fn limits<'a>(ranges: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    ranges.iter().flat_map(|r| items(r, "/spec/limits")).filter(move |l| l["type"] == kind)
}

/// Sets default requests and limits of a new pod.
pub(super) fn admit_pod(pod: &mut Value, env: &WriteContext<'_>) {
    for range in ranges(pod, env) {
        give_defaults(pod, &range);
    }
}

/// Returns an error if a new pod is outside the limits.
pub(super) fn review_pod(pod: &Value, env: &WriteContext<'_>) -> Result<(), Status> {
    for range in &ranges(pod, env) {
        let mut wrong = Vec::new();
        let one = std::slice::from_ref(range);
        for limit in limits(one, "Container") {
            for list in ["/spec/containers", "/spec/initContainers"] {
                items(pod, list).iter().for_each(|c| check(limit, "Container", &c["resources"], &mut wrong));
            }
        }
        for limit in limits(one, "Pod") {
            check(limit, "Pod", &whole_pod(pod), &mut wrong);
        }
        limit_error("pods", pod, wrong)?;
    }
    Ok(())
}

/// Returns an error if a claim is outside the limits.
pub(super) fn review_claim(claim: &Value, env: &WriteContext<'_>) -> Result<(), Status> {
    for range in ranges(claim, env) {
        let mut wrong = Vec::new();
        let requests = at(claim, "/spec/resources/requests");
        for limit in limits(std::slice::from_ref(&range), "PersistentVolumeClaim") {
            let kind = "PersistentVolumeClaim";
            for (resource, bound) in quantities(&limit["min"]) {
                wrong.extend(least(kind, resource, &bound, requests, &Value::Null));
            }
            for (resource, bound) in quantities(&limit["max"]) {
                wrong.extend(most_requested(kind, resource, &bound, requests));
            }
        }
        limit_error("persistentvolumeclaims", claim, wrong)?;
    }
    Ok(())
}

fn limit_error(resource: &str, object: &Value, wrong: Vec<String>) -> Result<(), Status> {
    let message = match wrong.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    Err(Status::forbidden(&GroupResource::new("", resource), text(object, "/metadata/name"), &message))
}

fn give_defaults(pod: &mut Value, range: &Value) {
    let (mut requests, mut bounds) = (Map::new(), Map::new());
    for limit in limits(std::slice::from_ref(range), "Container") {
        requests.extend(limit["defaultRequest"].as_object().cloned().unwrap_or_default());
        bounds.extend(limit["default"].as_object().cloned().unwrap_or_default());
    }
    let mut changes = Vec::new();
    for (list, words) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = text(container, "/name").to_string();
            let limited = fill(&mut container["resources"], "limits", &bounds);
            let requested = fill(&mut container["resources"], "requests", &requests);
            for (given, what) in [(requested, "request"), (limited, "limit")] {
                if !given.is_empty() {
                    changes.push(format!("{} {what} for {words} {name}", given.join(", ")));
                }
            }
        }
    }
    if !changes.is_empty() {
        if at(pod, "/metadata/annotations").is_null() {
            pod["metadata"]["annotations"] = json!({});
        }
        pod["metadata"]["annotations"][ANNOTATION] = json!(format!("LimitRanger plugin set: {}", changes.join("; ")));
    }
}

/// Adds missing resources and returns their names.
fn fill(resources: &mut Value, field: &str, defaults: &Map<String, Value>) -> Vec<String> {
    let mut given = Vec::new();
    for (resource, quantity) in defaults {
        if resources[field][resource.as_str()].is_null() {
            resources[field][resource.as_str()] = quantity.clone();
            given.push(resource.clone());
        }
    }
    given
}

fn quantities(list: &Value) -> impl Iterator<Item = (&str, Quantity)> {
    let pairs = list.as_object().into_iter().flatten();
    pairs.filter_map(|(k, v)| Quantity::from_value(v).ok().map(|q| (k.as_str(), q)))
}

fn quantity(list: &Value, resource: &str) -> Option<Quantity> {
    list.get(resource).and_then(|q| Quantity::from_value(q).ok())
}

fn check(limit: &Value, kind: &str, resources: &Value, wrong: &mut Vec<String>) {
    let (requests, bounds) = (&resources["requests"], &resources["limits"]);
    for (resource, bound) in quantities(&limit["min"]) {
        wrong.extend(least(kind, resource, &bound, requests, bounds));
    }
    for (resource, bound) in quantities(&limit["max"]) {
        wrong.extend(most(kind, resource, &bound, requests, bounds));
    }
    for (resource, bound) in quantities(&limit["maxLimitRequestRatio"]) {
        wrong.extend(ratio(kind, resource, &bound, requests, bounds));
    }
}

fn least(kind: &str, resource: &str, bound: &Quantity, requests: &Value, limits: &Value) -> Option<String> {
    let words = format!("minimum {resource} usage per {kind} is {bound}");
    match (quantity(requests, resource), quantity(limits, resource)) {
        (None, _) => Some(format!("{words}.  No request is specified")),
        (Some(request), _) if request < *bound => Some(format!("{words}, but request is {request}")),
        (_, Some(limit)) if limit < *bound => Some(format!("{words}, but limit is {limit}")),
        _ => None,
    }
}

fn most(kind: &str, resource: &str, bound: &Quantity, requests: &Value, limits: &Value) -> Option<String> {
    let words = format!("maximum {resource} usage per {kind} is {bound}");
    match (quantity(limits, resource), quantity(requests, resource)) {
        (None, _) => Some(format!("{words}.  No limit is specified")),
        (Some(limit), _) if limit > *bound => Some(format!("{words}, but limit is {limit}")),
        (_, Some(request)) if request > *bound => Some(format!("{words}, but request is {request}")),
        _ => None,
    }
}

fn most_requested(kind: &str, resource: &str, bound: &Quantity, requests: &Value) -> Option<String> {
    let words = format!("maximum {resource} usage per {kind} is {bound}");
    match quantity(requests, resource) {
        None => Some(format!("{words}.  No request is specified")),
        Some(request) if request > *bound => Some(format!("{words}, but request is {request}")),
        Some(_) => None,
    }
}

fn ratio(kind: &str, resource: &str, bound: &Quantity, requests: &Value, limits: &Value) -> Option<String> {
    let words = format!("{resource} max limit to request ratio per {kind} is {bound}");
    let given = |list: &Value| quantity(list, resource).filter(|q| !q.is_zero());
    let Some(request) = given(requests) else {
        return Some(format!("{words}, but no request is specified or request is 0"));
    };
    let Some(limit) = given(limits) else {
        return Some(format!("{words}, but no limit is specified or limit is 0"));
    };
    let observed = limit.to_f64() / request.to_f64();
    (observed > bound.to_f64()).then(|| format!("{words}, but provided ratio is {observed:.6}"))
}

/// Returns the resources of all containers together; init containers run one at a time, before the others.
fn whole_pod(pod: &Value) -> Value {
    let mut whole = json!({"requests": {}, "limits": {}});
    for field in ["requests", "limits"] {
        for container in items(pod, "/spec/containers") {
            for (resource, amount) in quantities(&container["resources"][field]) {
                let sum = quantity(&whole[field], resource).map_or(amount.clone(), |q| q.plus(&amount));
                whole[field][resource] = json!(sum.to_string());
            }
        }
        for container in items(pod, "/spec/initContainers") {
            for (resource, amount) in quantities(&container["resources"][field]) {
                if quantity(&whole[field], resource).is_none_or(|q| q < amount) {
                    whole[field][resource] = json!(amount.to_string());
                }
            }
        }
    }
    whole
}
