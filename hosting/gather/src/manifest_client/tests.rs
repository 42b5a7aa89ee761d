#![allow(clippy::unwrap_used)]

use super::*;

struct ManifestClientFolder(tempfile::TempDir);

impl ManifestClientFolder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = folder.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn open(&self) -> ManifestClient {
        ManifestClient::new(self.0.path())
    }
}

fn secrets() -> ResourceType {
    ResourceType::new("", "v1", "secrets")
}

fn names(list: ManifestClientResult<Value>) -> Vec<String> {
    let list = list.unwrap();
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_string())
        .collect()
}

const LIST: &str = "{apiVersion: v1, kind: SecretList, items: [{metadata: {name: a, namespace: shop}}]}";
const SINGLE: &str = "{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: shop}}";

#[test]
fn a_list_hides_single_files_from_lists_alone() {
    let folder = ManifestClientFolder::with(&[
        ("namespaces/shop/core/secrets.yaml", LIST),
        ("namespaces/shop/core/secrets/b.yaml", SINGLE),
        ("namespaces/other/core/secrets/b.yaml", SINGLE),
    ]);
    let from = folder.open();
    assert_eq!(names(from.list(&secrets(), "shop", "")), ["a"]);
    assert_eq!(names(from.list(&secrets(), "", "")), ["a"]);
    assert_eq!(names(from.list(&secrets(), "other", "")), ["b"]);
    assert!(
        from.get(&secrets(), "shop", "a").unwrap().is_some() && from.get(&secrets(), "shop", "b").unwrap().is_some()
    );
    assert_eq!(from.get(&secrets(), "nowhere", "b").unwrap(), None);
}

#[test]
fn namespaces_are_found_in_one_place() {
    let folder = ManifestClientFolder::with(&[
        ("namespaces/a/a.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}"),
        (
            "cluster-scoped-resources/core/namespaces.yaml",
            "{apiVersion: v1, kind: NamespaceList, items: [{metadata: {name: b}}]}",
        ),
    ]);
    let of = ResourceType::new("", "v1", "namespaces");
    assert_eq!(names(folder.open().list(&of, "", "x=y")), ["a"]);
    assert_eq!(folder.open().get(&of, "", "b").unwrap(), None);
}

#[test]
fn server_errors_match_library_go() {
    let generic = "{apiVersion: v1, kind: List, items: []}";
    let cases: [(&[(&str, &str)], &str); 5] = [
        (
            &[("namespaces/shop/core/secrets.yaml", generic)],
            "inconsistent list kind: got v1, Kind=List, expected v1, Kind=SecretList",
        ),
        (&[("namespaces/shop/core/secrets.yaml", "{x")], "unable to read file"),
        (&[("namespaces/shop/core/secrets/README.txt", "hello")], "unable to read file"),
        (&[("namespaces/shop/core/secrets/sub/a.yaml", SINGLE)], "unable to read file"),
        (&[("namespaces/shop/core/secrets/a.yaml", "")], "Object 'Kind' is missing in 'null'"),
    ];
    for (files, words) in cases {
        let error = ManifestClientFolder::with(files).open().list(&secrets(), "shop", "").unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let stray = ManifestClientFolder::with(&[("namespaces/README.txt", "hello")]);
    assert!(stray.open().list(&secrets(), "", "").is_err());
    let unknown = ResourceType::new("odd.io", "v1", "oxen");
    assert!(stray.open().list(&unknown, "", "").unwrap_err().to_string().contains("did not find kind"));
    let other = ManifestClientFolder::with(&[("namespaces/shop/core/secrets.yaml", LIST)]);
    let of = ResourceType::new("", "v2", "secrets");
    assert_eq!(
        other.open().get(&of, "shop", "a").unwrap_err().to_string(),
        "actual version v1 does not match request v2"
    );
}

#[test]
fn a_missing_directory_is_an_empty_cluster() {
    let from = ManifestClient::new(Path::new("no-such-directory"));
    assert_eq!(names(from.list(&secrets(), "", "")), [] as [&str; 0]);
}
