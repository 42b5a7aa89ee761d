#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

const WHOSE: For<'_> = For { application: "shop", namespace: "prod" };

fn files(of: &[(&str, &str)]) -> Files {
    of.iter().map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())).collect()
}

fn nothing(_: &str) -> Result<Option<Vec<u8>>, String> {
    Ok(None)
}

fn named(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

fn names(made: &Made) -> Vec<&str> {
    made.objects.iter().map(|one| text(one, "/metadata/name")).collect()
}

#[test]
fn a_directory_is_its_manifests() {
    let files = files(&[
        ("a.yaml", &format!("{}---\n---\n{}", named("a1"), named("a2"))),
        ("b.json", r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}"#),
        ("deep/c.yml", &named("c")),
        (
            "deep/list.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: l1}}\n",
        ),
        ("other.txt", "not: [yaml"),
        ("values.yaml", "just: values"),
        ("skipped.yaml", &format!("# +argocd:skip-file-rendering\n{}", named("s"))),
    ]);
    let flat = make(&json!({}), &files, WHOSE, &nothing).unwrap();
    assert_eq!((flat.source_type, names(&flat)), ("Directory", vec!["a1", "a2", "b"]));
    let deep = make(&json!({"directory": {"recurse": true}}), &files, WHOSE, &nothing).unwrap();
    assert_eq!(names(&deep), ["a1", "a2", "b", "c", "l1"]);
    let some =
        make(&json!({"directory": {"recurse": true, "include": "*.{yml,json}"}}), &files, WHOSE, &nothing).unwrap();
    assert_eq!(names(&some), ["b", "c"]);
    let but = make(&json!({"directory": {"recurse": true, "exclude": "deep/*"}}), &files, WHOSE, &nothing).unwrap();
    assert_eq!(names(&but), ["a1", "a2", "b"]);
}

#[test]
fn a_broken_manifest_is_named_and_a_broken_file_of_another_kind_is_left_alone() {
    let broken = files(&[("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [x\n")]);
    let told = make(&json!({}), &broken, WHOSE, &nothing).unwrap_err();
    assert!(told.starts_with("Failed to unmarshal \"bad.yaml\": failed to unmarshal manifest: "), "{told}");
    let other = files(&[("notes.yaml", "a: [b\n"), ("a.yaml", &named("a"))]);
    assert_eq!(names(&make(&json!({}), &other, WHOSE, &nothing).unwrap()), ["a"]);
    let kustomize = files(&[("kustomization.yaml", "resources: []")]);
    assert!(make(&json!({}), &kustomize, WHOSE, &nothing).unwrap_err().contains("no Kustomize"));
}

fn chart() -> Files {
    files(&[
        ("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}"),
        ("values.yaml", "greeting: hello\nreplicas: 1\nlist: []\n"),
        (
            "templates/map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  say: {{ .Values.greeting | quote }}\n  \
             ns: {{ .Release.Namespace }}\n  replicas: {{ .Values.replicas | quote }}\n",
        ),
        (
            "crds/box.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boxes.x.io}\n",
        ),
    ])
}

#[test]
fn a_chart_is_rendered_with_values_from_everywhere() {
    let made = make(&json!({"path": "charts/shop"}), &chart(), WHOSE, &nothing).unwrap();
    assert_eq!((made.source_type, names(&made)), ("Helm", vec!["boxes.x.io", "shop"]));
    assert_eq!(made.objects[1]["data"], json!({"say": "hello", "ns": "prod", "replicas": "1"}));
    let elsewhere = |path: &str| {
        Ok(match path {
            "charts/shop/../prod.yaml" => Some(b"greeting: from file\nreplicas: 2".to_vec()),
            "top.yaml" => Some(b"replicas: 3".to_vec()),
            _ => None,
        })
    };
    let source = json!({"path": "charts/shop", "helm": {
        "releaseName": "web", "skipCrds": true, "valueFiles": ["../prod.yaml", "/top.yaml"], "values": "greeting: in line",
        "parameters": [{"name": "greeting", "value": "a,b"}],
    }});
    let made = make(&source, &chart(), WHOSE, &elsewhere).unwrap();
    assert_eq!(names(&made), ["web"]);
    assert_eq!(made.objects[0]["data"], json!({"say": "a,b", "ns": "prod", "replicas": "3"}));
}

#[test]
fn a_value_file_that_is_not_there_is_told_unless_that_is_fine() {
    let source =
        |lenient: bool| json!({"path": "c", "helm": {"valueFiles": ["gone.yaml"], "ignoreMissingValueFiles": lenient}});
    let told = make(&source(false), &chart(), WHOSE, &nothing).unwrap_err();
    assert!(told.contains("gone.yaml: no such file or directory"), "{told}");
    assert!(make(&source(true), &chart(), WHOSE, &nothing).is_ok());
}
