#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;

use super::*;
use crate::layout::{FileRole, ResourceHint, file_role};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, resourceVersion: '7'}\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn read_all(path: &Path) -> Dump {
    read(path, |_| {}).unwrap()
}

fn keys(dump: &Dump) -> Vec<String> {
    let text =
        |o: &DumpedObject, pointer: &str| o.value.pointer(pointer).and_then(|v| v.as_str()).unwrap_or("").to_string();
    let key =
        |o: &DumpedObject| format!("{}/{}/{}", o.plural, text(o, "/metadata/namespace"), text(o, "/metadata/name"));
    dump.objects.iter().map(key).collect()
}

#[test]
fn paths_determine_file_roles() {
    let objects = |group: &str, plural: &str, namespace: Option<&str>| {
        FileRole::Objects(ResourceHint {
            group: group.into(),
            plural: plural.into(),
            namespace: namespace.map(Into::into),
        })
    };
    let log = |previous| FileRole::Log { namespace: "n".into(), pod: "p".into(), container: "c".into(), previous };
    let cases = [
        ("cluster-scoped-resources/core/nodes/n1.yaml", objects("", "nodes", None)),
        (
            "img-sha256/cluster-scoped-resources/config.openshift.io/dnses.yaml",
            objects("config.openshift.io", "dnses", None),
        ),
        ("a/b/namespaces/n/apps/deployments.yaml", objects("apps", "deployments", Some("n"))),
        ("namespaces/n/apps/deployments/web.json", objects("apps", "deployments", Some("n"))),
        ("namespaces/n/n.yaml", objects("", "namespaces", None)),
        ("a/cluster-scoped-resources/core/namespaces/n.yaml", objects("", "namespaces", None)),
        ("namespaces/n/core/namespaces/n.yaml", objects("", "namespaces", Some("n"))),
        ("cluster-scoped-resources/core/namespaces/n/apps/deployments.yaml", objects("apps", "deployments", Some("n"))),
        ("namespaces/n/pods/p/p.yaml", objects("", "pods", Some("n"))),
        ("namespaces/n/pods/p/c/c/logs/current.log", log(false)),
        ("namespaces/n/pods/p/c/c/logs/previous.insecure.log", log(true)),
        ("webhooks/validating/x.yaml", FileRole::MaybeObjects),
        ("event-filter.html", FileRole::Other),
        ("namespaces/n/core/README.txt", FileRole::Other),
    ];
    for (path, expected) in cases {
        assert_eq!(file_role(path), expected, "{path}");
    }
}

#[test]
fn list_files_and_single_files_are_read_together() {
    let list =
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a, namespace: shop}\n- metadata: {name: b}\n";
    let folder = folder(&[
        ("must-gather/namespaces/shop/core/configmaps.yaml", list),
        (
            "must-gather/namespaces/shop/core/configmaps/c.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
        ),
        ("must-gather/namespaces/shop/shop.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"),
        ("must-gather/namespaces/shop/pods/web/web.yaml", POD),
        ("must-gather/namespaces/shop/pods/web/app/app/logs/current.log", "hello\n"),
        ("must-gather/namespaces/shop/pods/web/app/app/logs/previous.log", ""),
        ("event-filter.html", "<html/>"),
    ]);
    let dump = read_all(folder.path());
    let expected = ["configmaps/shop/a", "configmaps/shop/b", "configmaps/shop/c", "namespaces//shop", "pods/shop/web"];
    assert_eq!(keys(&dump), expected);
    assert_eq!(dump.logs.len(), 2);
    assert_eq!(dump.problems, []);
    assert!(dump.objects.iter().all(|o| !o.inferred));
}

#[test]
fn invalid_namespaces_are_reported_in_all_places() {
    let folder = folder(&[
        (
            "cluster-scoped-resources/core/namespaces/shop.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
        ),
        ("cluster-scoped-resources/core/namespaces/torn.yaml", "apiVersion: v1\nkind: [\n"),
        ("cluster-scoped-resources/core/namespaces/nameless.yaml", "apiVersion: v1\nkind: Namespace\n"),
    ]);
    let dump = read_all(folder.path());
    assert_eq!(keys(&dump), ["namespaces//shop"]);
    let mut files: Vec<&str> = dump.problems.iter().map(|problem| &*problem.file).collect();
    files.sort_unstable();
    let expected = ["nameless", "torn"].map(|name| format!("cluster-scoped-resources/core/namespaces/{name}.yaml"));
    assert_eq!(files, expected);
}

#[test]
fn kinds_come_from_crds_or_are_inferred() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: mice.zoo.io}\n\
        spec: {group: zoo.io, scope: Cluster, names: {plural: mice, kind: Mouse}}\n";
    let folder = folder(&[
        ("cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/mice.zoo.io.yaml", crd),
        (
            "cluster-scoped-resources/zoo.io/mice/jerry.yaml",
            "apiVersion: zoo.io/v1\nkind: Mouse\nmetadata: {name: jerry}\n",
        ),
        (
            "namespaces/n/farm.io/geese.yaml",
            "apiVersion: farm.io/v1\nkind: GooseList\nitems: [{metadata: {name: g}}]\n",
        ),
        ("elsewhere/y.yaml", "apiVersion: farm.io/v1\nkind: Policy\nmetadata: {name: p}\n"),
    ]);
    let dump = read_all(folder.path());
    let of = |kind: &str| dump.objects.iter().find(|o| o.kind.kind == kind).unwrap();
    assert_eq!((of("Mouse").plural.as_str(), of("Mouse").namespaced, of("Mouse").inferred), ("mice", false, false));
    assert_eq!((of("Goose").plural.as_str(), of("Goose").namespaced, of("Goose").inferred), ("geese", true, true));
    assert_eq!(of("Goose").value["metadata"]["namespace"], "n");
    assert_eq!((of("Policy").plural.as_str(), of("Policy").namespaced), ("policies", false));
}

#[test]
fn kinds_come_from_the_dumps_discovery() {
    let discovery = "apiVersion: apidiscovery.k8s.io/v2\nkind: APIGroupDiscoveryList\nitems:\n- metadata: {name: zoo.io}\n  \
        versions: [{version: v1, resources: [{resource: oxen, scope: Cluster, verbs: [get, list], responseKind: {kind: Ox}}]}]\n";
    let folder = folder(&[
        ("aggregated-discovery-apis.yaml", discovery),
        ("namespaces/n/zoo.io/y.yaml", "apiVersion: zoo.io/v1\nkind: Ox\nmetadata: {name: babe}\n"),
    ]);
    let dump = read_all(folder.path());
    assert_eq!(keys(&dump), ["oxen//babe"]);
    assert!(!dump.objects[0].inferred);
}

#[test]
fn invalid_files_are_reported_and_the_rest_is_read() {
    let folder = folder(&[
        ("namespaces/n/core/secrets.yaml", "apiVersion: v1\nkind: SecretList\nitems:\n- {metadata: [\n"),
        ("namespaces/n/core/configmaps.yaml", "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}]\n"),
        ("namespaces/n/core/services.yaml", "just text"),
        ("namespaces/n/apps/deployments/x.yaml", "kind: Deployment\n"),
        ("monitoring/rules.json", "[1, 2]"),
    ]);
    let dump = read_all(folder.path());
    assert_eq!(keys(&dump), ["configmaps/n/a"]);
    let mut named: Vec<_> = dump.problems.iter().map(|p| p.file.as_str()).collect();
    named.sort_unstable();
    let expected =
        ["namespaces/n/apps/deployments/x.yaml", "namespaces/n/core/secrets.yaml", "namespaces/n/core/services.yaml"];
    assert_eq!(named, expected);
    let secrets = dump.problems.iter().find(|p| p.file.ends_with("secrets.yaml")).unwrap();
    assert!(secrets.line.is_some_and(|line| line >= 4), "{secrets:?}");
}

#[test]
fn the_newest_version_of_an_object_is_kept() {
    let newer = POD.replace("'7'", "'12'");
    let folder = folder(&[
        (
            "one/namespaces/shop/core/pods.yaml",
            &format!("apiVersion: v1\nkind: List\nitems:\n- {}", newer.trim().replace('\n', "\n  ")),
        ),
        ("two/namespaces/shop/pods/web/web.yaml", POD),
    ]);
    let dump = read_all(folder.path());
    assert_eq!(dump.objects.len(), 1);
    assert_eq!(dump.objects[0].value["metadata"]["resourceVersion"], "12");
}

fn archive(entries: &[(&str, tar::EntryType, &str)]) -> tempfile::NamedTempFile {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, text) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        // The name is written unchanged, because an attacker does not use the library's checks.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    let bytes = builder.into_inner().unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    file.write_all(&gzip.finish().unwrap()).unwrap();
    file
}

#[test]
fn archives_are_read_without_unpacking() {
    let file = archive(&[
        ("./dump/namespaces/shop/pods/web/web.yaml", tar::EntryType::Regular, POD),
        ("../../etc/cron.d/namespaces/x/core/pods/evil.yaml", tar::EntryType::Regular, POD),
        ("/namespaces/shop/core/pods/abs.yaml", tar::EntryType::Regular, POD),
        ("namespaces/shop/core/pods/link.yaml", tar::EntryType::Symlink, ""),
    ]);
    let dump = read_all(file.path());
    assert_eq!(keys(&dump), ["pods/shop/web"]);
    assert_eq!(dump.problems.len(), 3, "{:?}", dump.problems);
    assert!(dump.problems[0].message.contains("points outside"));
}

#[test]
fn other_files_than_archives_are_errors() {
    let folder = folder(&[("a.txt", "hello, this is no archive at all\n")]);
    let error = read(&folder.path().join("a.txt"), |_| {}).unwrap_err();
    assert!(error.to_string().contains("could not read archive"), "{error}");
    let missing = read(&folder.path().join("none"), |_| {}).unwrap_err();
    assert!(matches!(missing, SourceError::Open { .. }));
}

/// A few bytes of a compressed archive can contain a name of gigabytes, which the tar reader would load into memory.
#[test]
fn endless_names_are_not_read() {
    let name = "a".repeat(2 << 20);
    let file = archive(&[
        ("namespaces/shop/pods/web/web.yaml", tar::EntryType::Regular, POD),
        ("././@LongLink", tar::EntryType::GNULongName, &name),
        ("b", tar::EntryType::Regular, POD),
    ]);
    let dump = read(file.path(), |_| {}).unwrap();
    assert_eq!(dump.objects.len(), 1);
    assert!(dump.problems[0].message.contains("data before an entry is longer than 1 MiB"), "{:?}", dump.problems);
    // A long name within the limit is valid.
    let name = format!("namespaces/shop/core/pods/{}.yaml", "a".repeat(3000));
    let file = archive(&[
        ("././@LongLink", tar::EntryType::GNULongName, &name),
        ("cut", tar::EntryType::Regular, POD),
        ("large", tar::EntryType::Regular, &"x".repeat(3 << 20)),
        ("namespaces/shop/pods/other/other.yaml", tar::EntryType::Regular, &POD.replace("web", "other")),
    ]);
    let dump = read(file.path(), |_| {}).unwrap();
    assert_eq!((dump.objects.len(), dump.problems), (2, Vec::new()));
}

#[test]
fn files_before_the_damage_of_an_archive_are_read() {
    let long = format!("{POD}# {}\n", "x".repeat(3_000));
    let gzipped = archive(&[
        ("namespaces/shop/pods/web/web.yaml", tar::EntryType::Regular, POD),
        ("namespaces/shop/pods/long/long.yaml", tar::EntryType::Regular, &long),
    ]);
    let mut tar = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(gzipped.reopen().unwrap()), &mut tar).unwrap();
    // The header of the second file starts at 1024, its content at 1536.
    for (cut, inside) in [(1_100, false), (1_700, true), (3_000, true)] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&tar[..cut]).unwrap();
        let dump = read_all(file.path());
        assert_eq!(keys(&dump), ["pods/shop/web"], "cut at {cut}");
        let archive = file.path().display().to_string();
        let named: Vec<_> = dump.problems.iter().map(|p| p.file.as_str()).collect();
        let expected = ["namespaces/shop/pods/long/long.yaml", &archive];
        assert_eq!(named, &expected[usize::from(!inside)..], "cut at {cut}");
    }
}

#[test]
fn archives_without_a_complete_file_are_errors() {
    let file = archive(&[("namespaces/shop/pods/web/web.yaml", tar::EntryType::Regular, POD)]);
    let bytes = fs::read(file.path()).unwrap();
    fs::write(file.path(), &bytes[..bytes.len() / 4]).unwrap();
    assert!(matches!(read(file.path(), |_| {}), Err(SourceError::Archive { .. })));
}

#[test]
fn invalid_list_items_are_reported_with_their_lines() {
    let list = "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n- metadata:\n    labels: {}\n- 3\n";
    let generic =
        "\n{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n{\"metadata\": {\"name\": \"x\"}}\n]}\n";
    let folder = folder(&[
        ("namespaces/n/core/configmaps.yaml", list),
        ("namespaces/n/core/secrets.json", generic),
        ("namespaces/n/core/services/two.yaml", &format!("{}---\napiVersion: v1\nkind: Service\n", "# none\n\n")),
    ]);
    let dump = read_all(folder.path());
    assert_eq!(keys(&dump), ["configmaps/n/a"]);
    let describe = |p: &ReadProblem| format!("{}:{}: {}", p.file, p.line.unwrap(), p.message);
    let mut found: Vec<_> = dump.problems.iter().map(describe).collect();
    found.sort();
    let expected = [
        "namespaces/n/core/configmaps.yaml:5: item 2: an object without metadata.name",
        "namespaces/n/core/configmaps.yaml:7: item 3: expected an object, found a number",
        "namespaces/n/core/secrets.json:3: item 1: an object without apiVersion and kind",
        "namespaces/n/core/services/two.yaml:3: an object without metadata.name",
    ];
    assert_eq!(found, expected);
}

#[test]
fn plurals_follow_the_usual_rules() {
    for (kind, plural) in [
        ("Pod", "pods"),
        ("Policy", "policies"),
        ("Gateway", "gateways"),
        ("Ingress", "ingresses"),
        ("Box", "boxes"),
        ("Ä", "äs"),
    ] {
        assert_eq!(plural_of(kind), plural);
    }
}
