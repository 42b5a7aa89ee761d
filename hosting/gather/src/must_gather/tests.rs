#![allow(clippy::unwrap_used)]

use super::*;

struct MustGatherFolder(tempfile::TempDir);

impl MustGatherFolder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = folder.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn open(&self) -> MustGather {
        MustGather::open(self.0.path()).unwrap()
    }
}

fn secrets() -> ResourceType {
    ResourceType::new("", "v1", "secrets")
}

fn names(found: Result<Vec<&Value>, MustGatherError>) -> Vec<String> {
    found.unwrap().into_iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_string()).collect()
}

const LIST: &str = "{apiVersion: v1, kind: SecretList, items: [{metadata: {name: a, namespace: shop, labels: {x: z}}, type: t}, {metadata: {name: b, namespace: shop}}]}";

#[test]
fn lists_and_single_files_count_together() {
    let single = "{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: shop}}";
    let newer = "{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: shop}, data: {k: dg==}}";
    let other = "---\n{apiVersion: v1, kind: Secret, metadata: {name: d, namespace: other}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: e, namespace: other}}\n";
    let folder = MustGatherFolder::with(&[
        ("namespaces/shop/core/secrets.yaml", LIST),
        ("namespaces/shop/core/secrets/c.yaml", single),
        ("namespaces/shop/core/secrets/b.yaml", newer),
        ("namespaces/other/core/secrets/all.yaml", other),
    ]);
    let read = folder.open();
    assert_eq!(read.problems(), []);
    assert_eq!(names(read.list(&secrets(), &MustGatherQuery::all("shop"))), ["a", "b", "c"]);
    assert_eq!(names(read.list(&secrets(), &MustGatherQuery::all(""))), ["d", "e", "a", "b", "c"]);
    assert_eq!(read.get(&secrets(), "shop", "b").unwrap().unwrap()["data"]["k"], "dg==");
    assert_eq!(read.get(&secrets(), "shop", "gone").unwrap(), None);
}

#[test]
fn selectors_of_labels_and_fields_are_honoured() {
    let folder = MustGatherFolder::with(&[("namespaces/shop/core/secrets.yaml", LIST)]);
    let read = folder.open();
    let labels = MustGatherQuery { labels: LabelSelector::parse("x in (z)").unwrap(), ..MustGatherQuery::all("") };
    assert_eq!(names(read.list(&secrets(), &labels)), ["a"]);
    for (fields, expected) in [("metadata.name=b", "b"), ("type=t", "a"), ("type!=t", "b")] {
        let query = MustGatherQuery { fields: FieldSelector::parse(fields).unwrap(), ..MustGatherQuery::all("shop") };
        assert_eq!(names(read.list(&secrets(), &query)), [expected]);
    }
}

#[test]
fn namespaces_are_found_in_all_places() {
    let folder = MustGatherFolder::with(&[
        ("namespaces/a/a.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}"),
        (
            "cluster-scoped-resources/core/namespaces.yaml",
            "{apiVersion: v1, kind: NamespaceList, items: [{metadata: {name: b}}]}",
        ),
        (
            "namespaces/c/core/namespaces.yaml",
            "{apiVersion: v1, kind: NamespaceList, items: [{metadata: {name: c, labels: {x: z}}}]}",
        ),
    ]);
    let (read, of) = (folder.open(), ResourceType::new("", "v1", "namespaces"));
    assert_eq!(names(read.list(&of, &MustGatherQuery::all(""))), ["a", "b", "c"]);
    assert!(read.get(&of, "b", "b").unwrap().is_some() && read.get(&of, "", "c").unwrap().is_some());
    let labels = MustGatherQuery { labels: LabelSelector::parse("x=z").unwrap(), ..MustGatherQuery::all("") };
    assert_eq!(names(read.list(&of, &labels)), ["c"]);
}

#[test]
fn stray_files_are_reported_and_break_nothing() {
    let folder = MustGatherFolder::with(&[
        ("namespaces/shop/core/secrets.yaml", LIST),
        ("namespaces/README.txt", "hello"),
        ("namespaces/shop/core/secrets/README.txt", "hello"),
        ("namespaces/shop/core/secrets/sub/x.yaml", "{}"),
        ("namespaces/shop/core/configmaps.yaml", "{broken"),
        ("namespaces/shop/pods/web/web/web/logs/current.log", "talk"),
        ("event-filter.html", "<html>"),
    ]);
    let read = folder.open();
    assert_eq!(names(read.list(&secrets(), &MustGatherQuery::all("shop"))), ["a", "b"]);
    let mut files: Vec<&str> = read.problems().iter().map(|problem| &*problem.file).collect();
    files.sort_unstable();
    let expected = [
        "namespaces/README.txt",
        "namespaces/shop/core/configmaps.yaml",
        "namespaces/shop/core/secrets/README.txt",
        "namespaces/shop/core/secrets/sub/x.yaml",
    ];
    assert_eq!(files, expected);
}

#[test]
fn kinds_come_from_discovery_from_crds_or_from_the_objects() {
    let folder = MustGatherFolder::with(&[
        ("aggregated-discovery-apis.yaml", OWN),
        (
            "cluster-scoped-resources/odd.io/oxen.yaml",
            "{apiVersion: odd.io/v1, kind: List, items: [{apiVersion: odd.io/v1, kind: Ox, metadata: {name: a}}]}",
        ),
    ]);
    let read = folder.open();
    assert_eq!(read.list(&ResourceType::new("own.io", "v1", "things"), &MustGatherQuery::all("")).unwrap().len(), 0);
    assert_eq!(names(read.list(&ResourceType::new("odd.io", "v1", "oxen"), &MustGatherQuery::all(""))), ["a"]);
    let unknown = ResourceType::new("config.openshift.io", "v1", "ingresses");
    assert_eq!(read.list(&unknown, &MustGatherQuery::all("")), Err(MustGatherError::UnknownResource(unknown.clone())));
    assert_eq!(MustGatherFolder::with(&[]).open().list(&unknown, &MustGatherQuery::all("")), Ok(vec![]));
}

const OWN: &str = "{apiVersion: apidiscovery.k8s.io/v2, kind: APIGroupDiscoveryList, items: [{metadata: {name: own.io}, versions: [{version: v1, resources: [{resource: things, responseKind: {kind: Thing, group: '', version: ''}, scope: Cluster, verbs: [list]}]}]}]}";
const CRD: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: lamps.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: lamps, kind: Lamp}, versions: [{name: v1, served: true}, {name: v2, served: true}, {name: v1alpha1, served: false}]}}";
const OX: &str = "{apiVersion: odd.io/v1, kind: Ox, metadata: {name: a}}";

#[test]
fn documents_are_found_in_an_archive_and_below_the_folder_of_an_image() {
    let folder = MustGatherFolder::with(&[
        ("dump/registry-sha256-0123/aggregated-discovery-apis.yaml", OWN),
        ("dump/registry-sha256-0123/namespaces/shop/core/secrets.yaml", LIST),
    ]);
    let archive = folder.0.path().join("dump.tar.gz");
    let mut packed = tar::Builder::new(flate2::write::GzEncoder::new(
        std::fs::File::create(&archive).unwrap(),
        flate2::Compression::fast(),
    ));
    packed.append_dir_all("must-gather", folder.0.path().join("dump")).unwrap();
    packed.into_inner().unwrap().finish().unwrap();
    for path in [folder.0.path().join("dump"), archive] {
        let read = MustGather::open(&path).unwrap();
        assert_eq!(read.problems(), []);
        assert!(read.discovery().served(&ResourceType::new("own.io", "v1", "things")).is_some(), "{}", path.display());
        let carried = ResourceType::new("config.openshift.io", "v1", "ingresses");
        assert_eq!(
            read.discovery().served(&carried),
            None,
            "only one that has no documents of its own gets the carried"
        );
        assert_eq!(names(read.list(&secrets(), &MustGatherQuery::all("shop"))), ["a", "b"]);
    }
}

#[test]
fn crds_and_objects_add_served_resources() {
    let files = [
        ("cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/lamps.acme.io.yaml", CRD),
        ("cluster-scoped-resources/odd.io/oxen/a.yaml", OX),
    ];
    let documents = [("aggregated-discovery-apis.yaml", OWN)];
    for (folder, known) in [
        (MustGatherFolder::with(&files), ("", "v1", "pods")),
        (MustGatherFolder::with(&[&files[..], &documents].concat()), ("own.io", "v1", "things")),
    ] {
        let read = folder.open();
        let served = |(group, version, resource): (&str, &str, &str)| {
            let served = read.discovery().served(&ResourceType::new(group, version, resource));
            served.map(|served| (served.kind.to_string(), served.namespaced))
        };
        assert!(served(known).is_some(), "what the documents say stays");
        assert_eq!(served(("acme.io", "v1", "lamps")), Some(("acme.io/v1, Kind=Lamp".into(), true)));
        assert!(served(("acme.io", "v2", "lamps")).is_some() && served(("acme.io", "v1alpha1", "lamps")).is_none());
        assert_eq!(served(("odd.io", "v1", "oxen")), Some(("odd.io/v1, Kind=Ox".into(), false)));
        let slim = read.discovery().subset(&[ResourceType::new("acme.io", "v1", "lamps")].into());
        assert_eq!(slim.apis()["items"][0]["versions"][0]["resources"][0]["scope"], "Namespaced");
        assert_eq!(slim.apis()["kind"], "APIGroupDiscoveryList");
    }
}

#[test]
fn invalid_documents_are_reported_and_replaced_by_bundled_ones() {
    for broken in ["{broken", "- a\n"] {
        let read = MustGatherFolder::with(&[("img/aggregated-discovery-api.yaml", broken)]).open();
        let files: Vec<&str> = read.problems().iter().map(|problem| &*problem.file).collect();
        assert_eq!(files, ["img/aggregated-discovery-api.yaml"]);
        assert!(read.discovery().served(&ResourceType::new("", "v1", "pods")).is_some());
    }
}

#[test]
fn versions_are_not_converted() {
    let folder = MustGatherFolder::with(&[("namespaces/shop/core/secrets.yaml", LIST)]);
    let found = folder.open().get(&ResourceType::new("", "v2", "secrets"), "shop", "a").cloned_error();
    assert_eq!(found, "could not read secrets a: the directory contains version v1, not v2");
}

trait ClonedError {
    fn cloned_error(self) -> String;
}

impl<T> ClonedError for Result<T, MustGatherError> {
    fn cloned_error(self) -> String {
        self.err().unwrap().to_string()
    }
}
