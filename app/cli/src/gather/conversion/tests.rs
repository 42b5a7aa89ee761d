#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;
use switchboard_gather::contract::ResourceType;

fn deployments() -> ResourceType {
    ResourceType::new("apps", "v1", "deployments")
}

fn carried(mutation: &Mutation) -> Result<plan::Mutation, String> {
    kernel_mutation(mutation, Discovery::bundled())
}

#[test]
fn every_action_has_its_write_operation() {
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}});
    for action in [Action::Create, Action::Update, Action::UpdateStatus, Action::Apply, Action::ApplyStatus] {
        let mutation = Mutation::object(Folder::Management, action, &deployments(), &body);
        let options = json!({"fieldManager": "x", "fieldValidation": "Strict", "force": true});
        let made = carried(&mutation.with_options(&options)).unwrap();
        assert_eq!(made.field_validation.as_deref(), Some("Strict"));
        let expected = match action {
            Action::Create => WriteOp::Create(body.clone()),
            Action::Update | Action::UpdateStatus => WriteOp::Update(body.clone()),
            _ => WriteOp::Apply { body: body.clone(), force: true },
        };
        assert_eq!(
            (made.operation, made.cluster_type, made.field_manager.as_deref()),
            (expected, ClusterType::Management, Some("x"))
        );
        assert_eq!(made.subresource.is_some(), action.is_status());
        assert_eq!((&*made.resource.kind, made.resource.namespaced), ("Deployment", true));
    }
    let patch = Mutation::patch(
        Folder::Unspecified,
        Action::Patch,
        &deployments(),
        ("shop", "web"),
        "application/json-patch+json",
        br#"[{"op":"remove","path":"/a"}]"#,
    );
    let made = carried(&patch.unwrap().with_subresource("scale")).unwrap();
    assert_eq!(
        made.operation,
        WriteOp::Patch { patch_type: PatchType::Json, body: json!([{"op": "remove", "path": "/a"}]) }
    );
    assert_eq!(made.subresource.as_deref(), Some("scale"));
}

#[test]
fn deletions_keep_their_preconditions() {
    let delete =
        |options: Value| carried(&Mutation::delete(Folder::Configuration, &deployments(), ("shop", "web"), &options));
    let made = delete(json!({"kind": "DeleteOptions", "propagationPolicy": "Foreground", "preconditions": {"uid": "u", "resourceVersion": "7"}})).unwrap();
    assert_eq!(made.operation, WriteOp::Delete { propagation: Some("Foreground".into()) });
    let terms = |uid: Option<&str>, version: Option<&str>, grace_seconds| DeleteOptions {
        uid: uid.map(str::to_string),
        resource_version: version.map(str::to_string),
        grace_seconds,
    };
    assert_eq!(
        (made.delete_options, made.preconditions),
        (terms(Some("u"), Some("7"), None), Preconditions::Unconditional)
    );
    // Preconditions also work one by one: Switchboard's own writer sends no uid if the object it read has none.
    for (options, expected) in [
        (json!({"preconditions": {"uid": "u"}}), terms(Some("u"), None, None)),
        (json!({"preconditions": {"resourceVersion": "7"}}), terms(None, Some("7"), None)),
        (json!({"gracePeriodSeconds": 0}), terms(None, None, Some(0))),
    ] {
        assert_eq!(delete(options.clone()).unwrap().delete_options, expected, "{options}");
    }
}

#[test]
fn dry_runs_are_not_applied() {
    let options = json!({"kind": "DeleteOptions", "dryRun": ["All"]});
    let delete = Mutation::delete(Folder::Configuration, &deployments(), ("shop", "web"), &options);
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}});
    let update = Mutation::object(Folder::Management, Action::Update, &deployments(), &body);
    for mutation in [delete, update.with_options(&json!({"dryRun": ["All"]}))] {
        assert!(mutation.is_dry_run(), "{mutation}");
        assert_eq!(carried(&mutation).unwrap_err(), "it was a dry run");
    }
}

#[test]
fn kinds_with_one_directory_are_identified_by_their_objects() {
    let of = ResourceType::new("new.example.com", "v1", "things");
    let body = json!({"apiVersion": "new.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}});
    let made = carried(&Mutation::object(Folder::Management, Action::Create, &of, &body)).unwrap();
    assert_eq!((&*made.resource.kind, made.resource.namespaced), ("Thing", false));
    let gone = carried(&Mutation::delete(Folder::Management, &of, ("", "a"), &json!({"kind": "DeleteOptions"})));
    assert_eq!(gone.unwrap_err(), "the cluster does not serve things.new.example.com in version v1");
}
