//! Comparison of values, parameters, objects, annotations and hashes with those of qontract-reconcile.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::desired::{DesiredBuilder, DesiredNamespace, DesiredObjects};
use switchboard_integrations::model::DataScope;
use switchboard_integrations::settings::RenderSettings;
use switchboard_integrations::source::{Bundle, bundle};

use crate::example::{BEYOND_NAMESPACE, folder, from_bundle, from_directory, from_server};

/// Configuration of the integrations manager.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagerCase {
    environment: Option<String>,
    upstream: Option<String>,
    image: Option<String>,
    image_tag_from_ref: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    refs: BTreeMap<String, String>,
    whole: bool,
}

impl ManagerCase {
    fn settings(&self, compat: bool) -> RenderSettings {
        let commits = self.refs.iter().map(|(reference, commit)| {
            let (upstream, reference) = reference.rsplit_once('@').unwrap();
            ((upstream.to_string(), reference.to_string()), commit.clone())
        });
        RenderSettings {
            scope: DataScope { environment: self.environment.clone(), upstream: self.upstream.clone(), compat },
            image: self.image.clone(),
            image_tag_from_ref: self.image_tag_from_ref.clone(),
            variables: self.env.clone(),
            commits: commits.collect(),
            ..RenderSettings::default()
        }
    }
}

#[derive(Deserialize)]
struct ExpectedResult {
    namespaces: Vec<ExpectedNamespace>,
}

#[derive(Deserialize)]
struct ExpectedNamespace {
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

pub fn cases() -> BTreeMap<String, ManagerCase> {
    read("cases.json")
}

pub fn built(bundle: &Bundle, case: &ManagerCase, compat: bool) -> DesiredObjects {
    let mut desired = DesiredBuilder::new(IntegrationsChart::builtin(), case.settings(compat)).build(bundle);
    // qontract-reconcile cannot read the contents.
    desired.namespaces.retain(|(_, namespace), _| **namespace != *BEYOND_NAMESPACE);
    desired
}

fn compare(source: &str, bundle: &Bundle) {
    for (name, case) in cases() {
        let desired = built(bundle, &case, true);
        let expected: ExpectedResult = read(&format!("{name}.json"));
        let context = format!("{source}, {name}");
        let mut wanted: Vec<(&str, &str)> =
            expected.namespaces.iter().map(|one| (one.cluster.as_str(), one.namespace.as_str())).collect();
        wanted.sort_unstable();
        let targets: Vec<(&str, &str)> =
            desired.namespaces.keys().map(|(cluster, name)| (&**cluster, &**name)).collect();
        assert_eq!(targets, wanted, "{context}");
        for one in &expected.namespaces {
            let target = &desired.namespaces[&(one.cluster.as_str().into(), one.namespace.as_str().into())];
            namespace(&format!("{context}, {}", one.path), &case, &desired, target, one);
            if case.whole {
                let objects: Vec<Value> = read(&format!("{name}/{}/{}.json", one.cluster, one.namespace));
                for (ours, theirs) in target.objects().into_iter().zip(objects) {
                    assert_eq!(desired.annotated(ours), theirs, "{context}, {}", ours.name);
                }
            }
        }
    }
}

fn namespace(
    context: &str,
    case: &ManagerCase,
    desired: &DesiredObjects,
    target: &DesiredNamespace,
    expected: &ExpectedNamespace,
) {
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
        let marked = desired.annotated(object);
        let annotations = &marked["metadata"]["annotations"];
        assert_eq!(annotations["qontract.caller_name"], caller, "{context}");
        assert_eq!(annotations["qontract.sha256sum"], object.hash.as_str(), "{context}");
        assert_eq!(annotations["qontract.integration"], "integrations-manager", "{context}");
        assert_eq!(annotations["qontract.integration_version"], "0.1.0", "{context}");
    }
}

#[test]
fn a_directory_renders_like_qontract_reconcile() {
    compare("directory", &from_directory());
}

#[test]
fn a_bundle_renders_like_qontract_reconcile() {
    compare("bundle", &from_bundle());
}

#[test]
fn a_server_renders_like_qontract_reconcile() {
    compare("server", &from_server());
}

/// Uses a real server, which serves the data without data/integrations/beyond.
#[cfg(feature = "qontract")]
#[test]
fn a_qontract_server_renders_like_qontract_reconcile() {
    use switchboard_integrations::source::graphql::{QontractServer, network::HttpTransport};

    let address = std::env::var("SWITCHBOARD_QONTRACT_SERVER").expect("SWITCHBOARD_QONTRACT_SERVER names the server");
    let server = QontractServer::new(&address).unwrap().reading_as("integrations-manager");
    compare("qontract-server", &server.fetch(&HttpTransport::default()).unwrap());
}

/// Outside of compatibility mode, correct objects keep their hashes. All differences are listed here.
#[test]
fn by_default_only_defects_are_rendered_differently() {
    let index = |desired: &DesiredObjects| -> BTreeMap<String, String> {
        let objects = desired.namespaces.iter().flat_map(|((cluster, namespace), target)| {
            let named = move |kind: &str, name: &str| format!("{cluster}/{namespace} {kind} {name}");
            let objects = target.objects().into_iter();
            objects.map(move |object| (named(&object.kind.kind, &object.name), object.hash.clone())).collect::<Vec<_>>()
        });
        objects.collect()
    };
    // qontract-reconcile formats booleans and nulls in parameters as Python, which would change every object.
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
        // Without a digest, qontract-reconcile writes `image:tag@`, which cannot be pulled.
        "~ edge-01/integrations-edge Deployment qontract-reconcile-openshift-namespaces-prod-01",
        "~ edge-01/integrations-edge Deployment qontract-reconcile-openshift-namespaces-prod-02",
        "~ edge-01/integrations-edge Deployment qontract-reconcile-openshift-namespaces-stage-01",
        // CronJobs support shards and their own images.
        "- prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo",
        "+ prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo-prod-01",
        "+ prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo-prod-02",
        "+ prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo-prod-03",
        "+ prod-01/integrations CronJob qontract-reconcile-dashdotdb-dvo-stage-01",
        // Organizations can disable integrations, like clusters and accounts.
        "- prod-01/integrations Deployment qontract-reconcile-ocm-upgrade-scheduler-org-2cxhwholesaleorg",
        // A parameter that two integrations declare can be set.
        "~ stage-01/integrations Deployment qontract-reconcile-openshift-saas-deploy-trigger-configs",
        "~ stage-01/integrations Deployment qontract-reconcile-terraform-resources-app-int-example-01",
        "~ stage-01/integrations Deployment qontract-reconcile-terraform-resources-app-int-example-02",
        "~ stage-01/integrations Deployment qontract-reconcile-terraform-resources-data-lake",
    ];
    assert_eq!(differ, expected);
}
