#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

const TARGET: ReleaseTarget<'_> = ReleaseTarget { application: "shop", namespace: "prod" };

fn files(of: &[(&str, &str)]) -> FolderFiles {
    of.iter().map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())).collect()
}

fn no_file(_: &str) -> Result<Option<Vec<u8>>, String> {
    Ok(None)
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

fn names(made: &GeneratedManifests) -> Vec<&str> {
    made.objects.iter().map(|one| text(one, "/metadata/name")).collect()
}

#[test]
fn a_directory_is_its_manifests() {
    let files = files(&[
        ("a.yaml", &format!("{}---\n---\n{}", config_map("a1"), config_map("a2"))),
        ("b.json", r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}"#),
        ("deep/c.yml", &config_map("c")),
        (
            "deep/list.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: l1}}\n",
        ),
        ("other.txt", "not: [yaml"),
        ("values.yaml", "just: values"),
        ("skipped.yaml", &format!("# +argocd:skip-file-rendering\n{}", config_map("s"))),
    ]);
    let flat = generate(&json!({}), &files, TARGET, &no_file).unwrap();
    assert_eq!((flat.source_type, names(&flat)), ("Directory", vec!["a1", "a2", "b"]));
    let deep = generate(&json!({"directory": {"recurse": true}}), &files, TARGET, &no_file).unwrap();
    assert_eq!(names(&deep), ["a1", "a2", "b", "c", "l1"]);
    let some = generate(&json!({"directory": {"recurse": true, "include": "*.{yml,json}"}}), &files, TARGET, &no_file)
        .unwrap();
    assert_eq!(names(&some), ["b", "c"]);
    let but =
        generate(&json!({"directory": {"recurse": true, "exclude": "deep/*"}}), &files, TARGET, &no_file).unwrap();
    assert_eq!(names(&but), ["a1", "a2", "b"]);
}

#[test]
fn an_invalid_manifest_is_reported_and_other_invalid_yaml_is_ignored() {
    let broken = files(&[("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [x\n")]);
    let told = generate(&json!({}), &broken, TARGET, &no_file).unwrap_err();
    assert!(told.starts_with("Failed to unmarshal \"bad.yaml\": failed to unmarshal manifest: "), "{told}");
    let other = files(&[("notes.yaml", "a: [b\n"), ("a.yaml", &config_map("a"))]);
    assert_eq!(names(&generate(&json!({}), &other, TARGET, &no_file).unwrap()), ["a"]);
    let kustomize = files(&[("kustomization.yaml", "resources: []")]);
    assert!(generate(&json!({}), &kustomize, TARGET, &no_file).unwrap_err().contains("no Kustomize"));
}

fn chart() -> FolderFiles {
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
fn a_chart_is_rendered_with_values_of_all_sources() {
    let made = generate(&json!({"path": "charts/shop"}), &chart(), TARGET, &no_file).unwrap();
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
    let made = generate(&source, &chart(), TARGET, &elsewhere).unwrap();
    assert_eq!(names(&made), ["web"]);
    assert_eq!(made.objects[0]["data"], json!({"say": "a,b", "ns": "prod", "replicas": "3"}));
}

#[test]
fn a_missing_value_file_is_an_error_unless_ignored() {
    let source =
        |lenient: bool| json!({"path": "c", "helm": {"valueFiles": ["gone.yaml"], "ignoreMissingValueFiles": lenient}});
    let told = generate(&source(false), &chart(), TARGET, &no_file).unwrap_err();
    assert!(told.contains("gone.yaml: no such file or directory"), "{told}");
    assert!(generate(&source(true), &chart(), TARGET, &no_file).is_ok());
}
