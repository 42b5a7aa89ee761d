use serde_json::json;

use super::*;

fn deployment(status: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "generation": 2}, "spec": {"replicas": 2},
        "status": status})
}

fn health_of(object: &Value) -> (HealthCode, String) {
    let health = assess(object).unwrap_or(ObjectHealth::new(HealthCode::Missing, "no health"));
    (health.code, health.message)
}

#[test]
fn the_health_of_a_deployment_is_that_of_its_rollout() {
    let waits = |rest: &str| (HealthCode::Progressing, format!("Waiting for rollout to finish: {rest}"));
    let observed = json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
    assert_eq!(health_of(&deployment(observed.clone())), (HealthCode::Healthy, String::new()));
    assert_eq!(health_of(&deployment(json!({}))), waits("observed deployment generation less than desired generation"));
    let mut few = observed.clone();
    few["updatedReplicas"] = json!(1);
    assert_eq!(health_of(&deployment(few)), waits("1 out of 2 new replicas have been updated..."));
    let mut old = observed.clone();
    old["replicas"] = json!(3);
    assert_eq!(health_of(&deployment(old)), waits("1 old replicas are pending termination..."));
    let mut late = observed.clone();
    late["conditions"] = json!([{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]);
    assert_eq!(
        health_of(&deployment(late)),
        (HealthCode::Degraded, "Deployment \"web\" exceeded its progress deadline".into())
    );
    let mut paused = deployment(observed);
    paused["spec"]["paused"] = json!(true);
    assert_eq!(health_of(&paused), (HealthCode::Suspended, "Deployment is paused".into()));
}

#[test]
fn jobs_pods_claims_and_services_have_a_health() {
    let of_kind = |version: &str, kind: &str, rest: Value| {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}});
        object.as_object_mut().into_iter().for_each(|map| map.extend(rest.as_object().cloned().unwrap_or_default()));
        health_of(&object)
    };
    let status = |status: Value| json!({"status": status});
    for (version, kind, rest, code, message) in [
        ("batch/v1", "Job", json!({}), HealthCode::Progressing, ""),
        (
            "batch/v1",
            "Job",
            status(json!({"conditions": [{"type": "Complete", "message": "done"}]})),
            HealthCode::Healthy,
            "done",
        ),
        (
            "batch/v1",
            "Job",
            status(json!({"conditions": [{"type": "Failed", "message": "no"}]})),
            HealthCode::Degraded,
            "no",
        ),
        ("v1", "Pod", status(json!({"phase": "Pending"})), HealthCode::Progressing, ""),
        (
            "v1",
            "Pod",
            status(
                json!({"phase": "Failed", "containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 3}}}]}),
            ),
            HealthCode::Degraded,
            "container \"a\" failed with exit code 3",
        ),
        (
            "v1",
            "Pod",
            json!({"spec": {"restartPolicy": "Always"}, "status": {"phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}]}}),
            HealthCode::Healthy,
            "",
        ),
        (
            "v1",
            "Pod",
            json!({"spec": {"restartPolicy": "Always"}, "status": {"phase": "Pending", "containerStatuses": [
            {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no image"}}}]}}),
            HealthCode::Degraded,
            "no image",
        ),
        ("v1", "Service", json!({"spec": {"type": "ClusterIP"}}), HealthCode::Healthy, ""),
        ("v1", "Service", json!({"spec": {"type": "LoadBalancer"}}), HealthCode::Progressing, ""),
        ("v1", "PersistentVolumeClaim", status(json!({"phase": "Bound"})), HealthCode::Healthy, ""),
        ("networking.k8s.io/v1", "Ingress", json!({}), HealthCode::Progressing, ""),
        ("v1", "ConfigMap", json!({}), HealthCode::Missing, "no health"),
        (
            "v1",
            "ConfigMap",
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            HealthCode::Progressing,
            "Pending deletion",
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({}),
            HealthCode::Progressing,
            "Waiting for statefulset spec update to be observed...",
        ),
    ] {
        assert_eq!(of_kind(version, kind, rest), (code, message.to_string()), "{kind}");
    }
}

#[test]
fn the_health_of_an_application_is_that_of_its_worst_object() {
    let healthy = json!({"apiVersion": "v1", "kind": "Service", "spec": {}});
    let waiting = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending"}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    assert_eq!(application_health([]), HealthCode::Healthy);
    assert_eq!(application_health([Some(&map), Some(&healthy)]), HealthCode::Healthy);
    assert_eq!(application_health([Some(&map), None]), HealthCode::Healthy);
    assert_eq!(application_health([Some(&healthy), Some(&waiting)]), HealthCode::Progressing);
    assert_eq!(application_health([None, None]), HealthCode::Missing);
}
