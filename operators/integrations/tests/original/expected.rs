//! Values, parameters, objects, annotations and hashes against those of the original.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_integrations::chart::Chart;
use switchboard_integrations::desired::{Builder, Desired, Target};
use switchboard_integrations::model::Scope;
use switchboard_integrations::settings::Settings;
use switchboard_integrations::source::{Bundle, bundle};

use crate::example::{BEYOND_NAMESPACE, folder, from_bundle, from_directory, from_server};

/// What a manager is started with.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Case {
    environment: Option<String>,
    upstream: Option<String>,
    image: Option<String>,
    image_tag_from_ref: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    refs: BTreeMap<String, String>,
    whole: bool,
}

impl Case {
    fn settings(&self, compat: bool) -> Settings {
        let commits = self.refs.iter().map(|(reference, commit)| {
            let (upstream, reference) = reference.rsplit_once('@').unwrap();
            ((upstream.to_string(), reference.to_string()), commit.clone())
        });
        Settings {
            scope: Scope { environment: self.environment.clone(), upstream: self.upstream.clone(), compat },
            image: self.image.clone(),
            image_tag_from_ref: self.image_tag_from_ref.clone(),
            variables: self.env.clone(),
            commits: commits.collect(),
            ..Settings::default()
        }
    }
}

#[derive(Deserialize)]
struct Expected {
    namespaces: Vec<Namespace>,
}

#[derive(Deserialize)]
struct Namespace {
    path: String,
    cluster: String,
    namespace: String,
    environment: String,
    values: Map<String, Value>,
    parameters: BTreeMap<String, String>,
    objects: Vec<(String, String, String)>,
}

fn read<T: for<'d> Deserialize<'d>>(name: &str) -> T {
    let path = folder().join("expected").join(name);
    serde_json::from_slice(&fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
}

pub fn cases() -> BTreeMap<String, Case> {
    read("cases.json")
}

pub fn built(bundle: &Bundle, case: &Case, compat: bool) -> Desired {
    let mut desired = Builder::new(Chart::own(), case.settings(compat)).build(bundle);
    // The original cannot read what is in there.
    desired.targets.retain(|(_, namespace), _| **namespace != *BEYOND_NAMESPACE);
    desired
}

fn compare(source: &str, bundle: &Bundle) {
    for (name, case) in cases() {
        let desired = built(bundle, &case, true);
        let expected: Expected = read(&format!("{name}.json"));
        let context = format!("{source}, {name}");
        let mut wanted: Vec<(&str, &str)> =
            expected.namespaces.iter().map(|one| (one.cluster.as_str(), one.namespace.as_str())).collect();
        wanted.sort_unstable();
        let targets: Vec<(&str, &str)> = desired.targets.keys().map(|(cluster, name)| (&**cluster, &**name)).collect();
        assert_eq!(targets, wanted, "{context}");
        for one in &expected.namespaces {
            let target = &desired.targets[&(one.cluster.as_str().into(), one.namespace.as_str().into())];
            namespace(&format!("{context}, {}", one.path), &case, &desired, target, one);
            if case.whole {
                let objects: Vec<Value> = read(&format!("{name}/{}/{}.json", one.cluster, one.namespace));
                for (ours, theirs) in target.objects().into_iter().zip(objects) {
                    assert_eq!(desired.marked(ours), theirs, "{context}, {}", ours.name);
                }
            }
        }
    }
}

fn namespace(context: &str, case: &Case, desired: &Desired, target: &Target, expected: &Namespace) {
    assert_eq!(&*target.namespace.path, expected.path, "{context}");
    assert_eq!(&*target.namespace.environment.name, expected.environment, "{context}");
    assert_eq!(Value::Object(target.values()), Value::Object(expected.values.clone()), "{context}");
    let parameters = target.integrations.iter().map(|one| &one.parameters).chain([&target.shared_parameters]);
    for (name, parameter) in parameters.flat_map(|parameters| parameters.iter()) {
        assert_eq!(Some(&parameter.value), expected.parameters.get(name), "{context}, parameter {name}");
    }
    let objects: Vec<(String, String, String)> = target
        .objects()
        .iter()
        .map(|object| (object.kind.kind.to_string(), object.name.clone(), object.hash.clone()))
        .collect();
    assert_eq!(objects, expected.objects, "{context}");
    let caller = case.upstream.as_deref().unwrap_or("https://github.com/app-sre/qontract-reconcile");
    for object in target.objects() {
        let marked = desired.marked(object);
        let annotations = &marked["metadata"]["annotations"];
        assert_eq!(annotations["qontract.caller_name"], caller, "{context}");
        assert_eq!(annotations["qontract.sha256sum"], object.hash.as_str(), "{context}");
        assert_eq!(annotations["qontract.integration"], "integrations-manager", "{context}");
        assert_eq!(annotations["qontract.integration_version"], "0.1.0", "{context}");
    }
}

#[test]
fn a_directory_becomes_what_the_original_made_of_it() {
    compare("directory", &from_directory());
}

#[test]
fn a_bundle_becomes_what_the_original_made_of_it() {
    compare("bundle", &from_bundle());
}

#[test]
fn a_server_becomes_what_the_original_made_of_it() {
    compare("server", &from_server());
}

/// The real one, when there is one: it serves the data without data/integrations/beyond.
#[cfg(feature = "qontract")]
#[test]
fn a_qontract_server_becomes_what_the_original_made_of_it() {
    use switchboard_integrations::source::graphql::{Server, network::Http};

    let address = std::env::var("SWITCHBOARD_QONTRACT_SERVER").expect("SWITCHBOARD_QONTRACT_SERVER names the server");
    let server = Server::new(&address).unwrap().reading_as("integrations-manager");
    compare("qontract-server", &server.fetch(&Http::default()).unwrap());
}

/// Without being told to be as the original, everything that is right today keeps its hash. What differs is said here.
#[test]
fn by_default_only_what_was_wrong_is_made_otherwise() {
    let index = |desired: &Desired| -> BTreeMap<String, String> {
        let objects = desired.targets.iter().flat_map(|((cluster, namespace), target)| {
            let named = move |kind: &str, name: &str| format!("{cluster}/{namespace} {kind} {name}");
            let objects = target.objects().into_iter();
            objects.map(move |object| (named(&object.kind.kind, &object.name), object.hash.clone())).collect::<Vec<_>>()
        });
        objects.collect()
    };
    // Flags and nulls among parameters are Python's words for them to the original, and change every object there.
    let mut data: Value = read("../bundle.json");
    let production = data.pointer_mut("/data/~1products~1platform~1environments~1production.yml/parameters").unwrap();
    production.as_object_mut().unwrap().retain(|_, value| value.is_string() || value.is_number());
    let bundle = bundle::parse("example", data.to_string().as_bytes()).unwrap();
    let case = &cases()["all"];
    let (compat, ours) = (index(&built(&bundle, case, true)), index(&built(&bundle, case, false)));
    let mut differ: Vec<String> = Vec::new();
    for name in compat.keys().chain(ours.keys()).collect::<std::collections::BTreeSet<_>>() {
        match (compat.get(name), ours.get(name)) {
            (Some(a), Some(b)) if a == b => {}
            (Some(_), Some(_)) => differ.push(format!("~ {name}")),
            (Some(_), None) => differ.push(format!("- {name}")),
            (None, _) => differ.push(format!("+ {name}")),
        }
    }
    let expected = [
        // No digest is no digest: the original writes `image:tag@`, which nobody can pull.
        "~ edge-01/integrations-edge Deployment qontract-reconcile-openshift-namespaces-prod-01",
        "~ edge-01/integrations-edge Deployment qontract-reconcile-openshift-namespaces-prod-02",
        "~ edge-01/integrations-edge Deployment qontract-reconcile-openshift-namespaces-stage-01",
        // Jobs have shards, and images of their own.
        "- prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo",
        "+ prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo-prod-01",
        "+ prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo-prod-02",
        "+ prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo-prod-03",
        "+ prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo-stage-01",
        // An organization can disable an integration, as clusters and accounts can.
        "- prod-01/integrations Deployment qontract-reconcile-ocm-upgrade-scheduler-org-2cxhwholesaleorg",
        // A parameter that two integrations declare can be set all the same.
        "~ stage-01/integrations Deployment qontract-reconcile-openshift-saas-deploy-trigger-configs",
        "~ stage-01/integrations Deployment qontract-reconcile-terraform-resources-app-int-example-01",
        "~ stage-01/integrations Deployment qontract-reconcile-terraform-resources-app-int-example-02",
        "~ stage-01/integrations Deployment qontract-reconcile-terraform-resources-data-lake",
    ];
    assert_eq!(differ, expected);
}
