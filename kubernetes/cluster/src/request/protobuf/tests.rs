#![allow(clippy::unwrap_used)]
use super::*;

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn bytes(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn number(number: u64, value: i64) -> Vec<u8> {
    [varint(number << 3), varint(value as u64)].concat()
}

fn body(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [bytes(1, version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), bytes(1, &meta), bytes(2, raw)].concat()
}

#[test]
fn a_deployment_reads_as_its_json() {
    let meta = [bytes(1, b"web"), bytes(3, b"shop"), bytes(8, b"")].concat();
    let probe =
        bytes(1, &bytes(2, &[bytes(1, b"/ok"), bytes(2, &[number(1, 1), bytes(3, b"http")].concat())].concat()));
    let resources = bytes(1, &[bytes(1, b"cpu"), bytes(2, &bytes(1, b"100m"))].concat());
    let container = [bytes(1, b"c"), bytes(2, b"nginx"), bytes(8, &resources), bytes(10, &probe)].concat();
    let volume = [bytes(1, b"v"), bytes(2, &bytes(2, b""))].concat();
    let pod = [bytes(1, &volume), bytes(2, &container)].concat();
    let template = [bytes(1, b""), bytes(2, &pod)].concat();
    let spec = [number(1, 0), bytes(3, &template)].concat();
    let raw = [bytes(1, &meta), bytes(2, &spec), bytes(3, &number(2, 0))].concat();
    assert_eq!(
        read(&body("apps/v1", "Deployment", &raw)).unwrap(),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"replicas": 0, "template": {"spec": {
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{
                    "name": "c", "image": "nginx", "resources": {"limits": {"cpu": "100m"}},
                    "livenessProbe": {"httpGet": {"path": "/ok", "port": "http"}},
                }],
            }}},
        })
    );
}

#[test]
fn secrets_and_reviews_and_options_are_read() {
    let data = [bytes(1, b"k"), bytes(2, &[0xff, 0x00])].concat();
    let secret = read(&body("v1", "Secret", &bytes(2, &data))).unwrap();
    assert_eq!(secret["data"], json!({"k": "/wA="}));
    let extra = [bytes(1, b"scopes"), bytes(2, &[bytes(1, b"a"), bytes(1, b"b")].concat())].concat();
    let spec = [bytes(3, b"bob"), bytes(5, &extra)].concat();
    let review = read(&body("authorization.k8s.io/v1", "SubjectAccessReview", &bytes(2, &spec))).unwrap();
    assert_eq!(review["spec"], json!({"user": "bob", "extra": {"scopes": ["a", "b"]}}));
    let options = read(&body("apps/v1", "DeleteOptions", &[number(1, 0), bytes(4, b"Orphan")].concat())).unwrap();
    assert_eq!(options["gracePeriodSeconds"], 0);
    assert_eq!(options["propagationPolicy"], "Orphan");
}

#[test]
fn times_are_written_as_json_writes_them() {
    let meta = bytes(8, &[number(1, 1_800_000_000), number(2, 0)].concat());
    let object = read(&body("v1", "ConfigMap", &bytes(1, &meta))).unwrap();
    assert_eq!(object["metadata"]["creationTimestamp"], "2027-01-15T08:00:00Z");
}

#[test]
fn malformed_messages_are_refused() {
    assert_eq!(read(b"k8s nonsense"), Err(ProtobufError::NoPrefix));
    assert_eq!(read(b"k8s\0\xff"), Err(ProtobufError::Malformed));
    let mut truncated = body("v1", "ConfigMap", &bytes(1, &bytes(1, b"name")));
    truncated.truncate(truncated.len() - 2);
    assert_eq!(read(&truncated), Err(ProtobufError::Malformed));
    assert!(matches!(read(&body("x.io/v1", "X", b"")), Err(ProtobufError::UnknownKind { .. })));
    // Every length is wrong; none of them may cause an allocation.
    assert_eq!(read(b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), Err(ProtobufError::Malformed));
}

#[test]
fn deep_nesting_is_refused() {
    // JSONSchemaProps.not is recursive.
    let mut schema = Vec::new();
    for _ in 0..200 {
        schema = bytes(28, &schema);
    }
    let validation = bytes(1, &schema);
    let version = bytes(4, &validation);
    let spec = bytes(7, &version);
    let crd = body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &bytes(2, &spec));
    assert!(read(&crd).is_err());
}
