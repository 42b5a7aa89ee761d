use serde_json::json;

use crate::Value;
use crate::kind::{GroupVersion, GroupVersionKind};
use crate::schema::{DecodeError, builtin, decode, interpret};

fn kind(api_version: &str, kind: &str) -> GroupVersionKind {
    GroupVersion::parse(api_version).unwrap().kind(kind)
}

fn decoded(api_version: &str, name: &str, object: Value) -> (Value, Vec<String>) {
    decode(&kind(api_version, name), object).unwrap()
}

fn refusal(api_version: &str, name: &str, object: Value) -> String {
    match decode(&kind(api_version, name), object).unwrap_err() {
        DecodeError::Value(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_served_kind_has_a_definition_that_can_be_read() {
    let mut kinds = 0;
    for name in builtin().names() {
        let json: Value = serde_json::from_str(builtin().text(name).unwrap()).unwrap();
        for gvk in json["x-kubernetes-group-version-kind"].as_array().into_iter().flatten() {
            let text = |key: &str| gvk[key].as_str().unwrap().to_string();
            let gvk = GroupVersionKind::new(text("group"), text("version"), text("kind"));
            assert_eq!(builtin().definition(&gvk).as_deref(), Some(name), "{gvk}");
            assert!(decode(&gvk, json!({})).is_ok());
            kinds += 1;
        }
    }
    assert!(kinds > 130, "{kinds}");
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "Metadata": {}, "spec": {
        "replicass": 1,
        "template": {"spec": {"containers": [{"name": "a", "foo": 1, "env": [{"name": "x", "valu": "y"}]}]}}}});
    let (object, unknown) = decoded("apps/v1", "Deployment", deployment);
    assert_eq!(
        unknown,
        [
            "unknown field \"Metadata\"",
            "unknown field \"spec.replicass\"",
            "unknown field \"spec.template.spec.containers[0].env[0].valu\"",
            "unknown field \"spec.template.spec.containers[0].foo\"",
        ]
    );
    let container = &object["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(*container, json!({"name": "a", "env": [{"name": "x"}], "resources": {}}));
}

#[test]
fn zero_values_are_those_that_go_writes() {
    let (object, _) = decoded("apps/v1", "Deployment", json!({"spec": {}}));
    let template = json!({"metadata": {}, "spec": {"containers": null}});
    let spec = json!({"selector": null, "strategy": {}, "template": template});
    assert_eq!(object, json!({"metadata": {}, "spec": spec, "status": {}}));

    let (role, _) = decoded("rbac.authorization.k8s.io/v1", "Role", json!({"rules": []}));
    assert_eq!(role, json!({"metadata": {}, "rules": null}));
    let (event, _) = decoded("v1", "Event", json!({"count": 0, "message": ""}));
    let empty = json!({"metadata": {}, "involvedObject": {}, "eventTime": null, "firstTimestamp": null,
        "lastTimestamp": null, "reportingComponent": "", "reportingInstance": "", "source": {}});
    assert_eq!(event, empty);
}

#[test]
fn nulls_and_empty_values_are_dropped() {
    let secret = json!({"metadata": {"labels": {}, "annotations": null, "name": "", "generation": 0},
        "data": {"a": "", "b": null}, "immutable": false, "type": ""});
    let (object, _) = decoded("v1", "Secret", secret);
    assert_eq!(object, json!({"metadata": {}, "data": {"a": "", "b": ""}, "immutable": false}));
}

#[test]
fn wrong_types_are_refused_in_the_words_of_go() {
    let deployment = |spec: Value| refusal("apps/v1", "Deployment", json!({"spec": spec}));
    let cannot = "json: cannot unmarshal";
    assert_eq!(
        deployment(json!({"replicas": "1"})),
        format!("{cannot} string into Go struct field DeploymentSpec.spec.replicas of type int32")
    );
    assert_eq!(
        deployment(json!({"replicas": 5_000_000_000_i64})),
        format!("{cannot} number 5000000000 into Go struct field DeploymentSpec.spec.replicas of type int32")
    );
    assert_eq!(
        deployment(json!({"template": {"spec": {"containers": {"name": "a"}}}})),
        format!("{cannot} object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container")
    );
    assert_eq!(
        deployment(json!({"template": {"spec": {"containers": [{"imagePullPolicy": 1}]}}})),
        format!(
            "{cannot} number into Go struct field Container.spec.template.spec.containers.imagePullPolicy of type v1.PullPolicy"
        )
    );
    assert_eq!(
        deployment(json!({"template": {"metadata": {"labels": {"a": 1}}}})),
        format!("{cannot} number into Go struct field ObjectMeta.spec.template.metadata.labels of type string")
    );
    assert_eq!(
        deployment(json!({"template": {"spec": {"volumes": [{"secret": 1}]}}})),
        format!(
            "{cannot} number into Go struct field Volume.spec.template.spec.volumes.VolumeSource.secret of type v1.SecretVolumeSource"
        )
    );
    assert_eq!(
        deployment(json!([])),
        format!("{cannot} array into Go struct field Deployment.spec of type v1.DeploymentSpec")
    );
}

#[test]
fn times_are_read_and_written_as_go_does() {
    let time = |text: &str| decode(&kind("v1", "Pod"), json!({"metadata": {"creationTimestamp": text}}));
    let good = |text: &str| time(text).unwrap().0["metadata"]["creationTimestamp"].as_str().unwrap().to_string();
    assert_eq!(good("2020-01-02T03:04:05.678+02:00"), "2020-01-02T01:04:05Z");
    let bad = |text: &str| time(text).unwrap_err().to_string();
    let layout = "2006-01-02T15:04:05Z07:00";
    assert_eq!(bad("abc"), format!("parsing time \"abc\" as {layout:?}: cannot parse \"abc\" as \"2006\""));
    assert_eq!(bad("2020-13-01T00:00:00Z"), "parsing time \"2020-13-01T00:00:00Z\": month out of range");
    assert_eq!(bad("2020-02-30T00:00:00Z"), "parsing time \"2020-02-30T00:00:00Z\": day out of range");
    assert_eq!(
        bad("2020-02-01T00:00:00"),
        format!("parsing time \"2020-02-01T00:00:00\" as {layout:?}: cannot parse \"\" as \"Z07:00\"")
    );
    assert_eq!(bad("2020-02-01T00:00:00Zx"), "parsing time \"2020-02-01T00:00:00Zx\": extra text: \"x\"");
    let lease = |text: &str| decode(&kind("coordination.k8s.io/v1", "Lease"), json!({"spec": {"renewTime": text}}));
    let renewed = lease("2020-01-02T03:04:05.678901+01:00").unwrap().0;
    assert_eq!(renewed["spec"]["renewTime"], "2020-01-02T02:04:05.678901Z");
    assert_eq!(
        lease("2020-01-02T03:04:05Z").unwrap_err().to_string(),
        "parsing time \"2020-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\""
    );
}

#[test]
fn bytes_are_base64() {
    let secret = |text: &str| decode(&kind("v1", "Secret"), json!({"data": {"k": text}}));
    let good = |text: &str| secret(text).unwrap().0["data"]["k"].as_str().unwrap().to_string();
    assert_eq!(good("aGVs\nbG8="), "aGVsbG8=");
    assert_eq!(good(""), "");
    assert_eq!(good("YQ=="), "YQ==");
    assert_eq!(good("YWI="), "YWI=");
    for (text, at) in [("a", 0), ("!", 0), ("aGVsbG8", 4), ("YQ=", 3), ("YQ==x", 4), ("ab=c", 2)] {
        assert_eq!(secret(text).unwrap_err().to_string(), format!("illegal base64 data at input byte {at}"), "{text}");
    }
}

#[test]
fn ints_or_strings_are_one_of_both() {
    let service = |port: Value| decode(&kind("v1", "Service"), json!({"spec": {"ports": [{"targetPort": port}]}}));
    assert_eq!(service(json!("http")).unwrap().0["spec"]["ports"][0]["targetPort"], "http");
    assert_eq!(service(json!(80)).unwrap().0["spec"]["ports"][0]["targetPort"], 80);
    assert_eq!(
        service(json!(true)).unwrap_err().to_string(),
        "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32"
    );
}

#[test]
fn schemas_inside_definitions_are_read_leniently() {
    let schema = json!({"type": "object", "x-foo": 1, "properties": {"a": {"items": {"type": "string", "x-bar": 1},
        "additionalProperties": false, "default": {"any": [null]}}}});
    let crd = json!({"spec": {"versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}}]}});
    let (object, unknown) = decoded("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd);
    assert_eq!(unknown, ["unknown field \"spec.versions[0].schema.openAPIV3Schema.x-foo\""]);
    let a = &object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"];
    assert_eq!(*a, json!({"items": {"type": "string"}, "additionalProperties": false, "default": {"any": [null]}}));
}

#[test]
fn version_and_kind_are_read_first() {
    assert_eq!(interpret(&json!({"apiVersion": "v1", "kind": "Pod"})).unwrap(), ("v1", "Pod"));
    assert_eq!(
        interpret(&json!({"kind": 1})).unwrap_err().to_string(),
        "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string"
    );
}

#[test]
fn quantities_take_their_canonical_form() {
    let pod = |cpu: Value| json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": cpu}}}]}});
    let limit = |cpu: Value| {
        let object = decode(&kind("v1", "Pod"), pod(cpu))?.0;
        Ok::<Value, DecodeError>(object["spec"]["containers"][0]["resources"]["limits"]["cpu"].clone())
    };
    assert_eq!(limit(json!("0.5")).unwrap(), "500m");
    assert_eq!(limit(json!(2)).unwrap(), "2");
    assert_eq!(limit(json!("1024Mi")).unwrap(), "1Gi");
    assert_eq!(
        limit(json!("x")).unwrap_err().to_string(),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    );
}
