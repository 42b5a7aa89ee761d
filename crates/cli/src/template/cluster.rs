//! A cluster that is asked while a chart is rendered: what it is, what it holds, what it would take.

use std::collections::BTreeMap;
use std::path::Path;

use http::Request;
use kube::Client;
use serde_json::Value;
use switchboard_chart::capabilities::{Capabilities, KubeVersion};
use switchboard_chart::manifest::Manifest;
use switchboard_chart::render::{Rendered, View};
use tokio::runtime::Handle;

use crate::reach::Reach;

/// How many API versions a cluster may have; each is asked for once.
const MAX_GROUP_VERSIONS: usize = 2_000;

/// A cluster that answered.
pub struct Asked {
    client: Client,
    /// What a chart sees of it.
    pub capabilities: Capabilities,
    kinds: BTreeMap<(String, String), Resource>,
    namespace: String,
}

#[derive(Clone)]
struct Resource {
    plural: String,
    namespaced: bool,
}

/// What Helm says when nobody answers: with the cause all began with.
fn unreachable(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("cluster reachability check failed: kubernetes cluster unreachable: {cause}")
}

impl Asked {
    /// Connects, and asks for the version and everything that is served.
    pub async fn connect(kubeconfig: Option<&Path>, namespace: &str) -> Result<Self, String> {
        let reach = Reach { kubeconfig: kubeconfig.map(Path::to_path_buf), context: None };
        let config = reach.config().await.map_err(|error| unreachable(&error))?;
        let client = Client::try_from(config).map_err(|error| unreachable(&error))?;
        let version = get(&client, "/version").await.map_err(|error| unreachable(&error))?;
        let version = version["gitVersion"].as_str().unwrap_or_default();
        let kube_version = KubeVersion::read(version).map_err(|error| error.to_string())?;
        let capabilities = Capabilities { kube_version, api_versions: Vec::new() };
        let mut asked = Self { client, capabilities, kinds: BTreeMap::new(), namespace: namespace.to_string() };
        asked.discover().await.map_err(|error| format!("could not get apiVersions from Kubernetes: {error}"))?;
        Ok(asked)
    }

    async fn discover(&mut self) -> Result<(), kube::Error> {
        let core = get(&self.client, "/api").await?;
        let groups = get(&self.client, "/apis").await?;
        let core = texts(&core["versions"]).into_iter().map(|version| (version.clone(), format!("/api/{version}")));
        let listed = groups["groups"].as_array().cloned().unwrap_or_default();
        let versions = listed.iter().flat_map(|group| group["versions"].as_array().cloned().unwrap_or_default());
        let named = versions.filter_map(|version| version["groupVersion"].as_str().map(str::to_string));
        let others = named.map(|version| (version.clone(), format!("/apis/{version}")));
        for (version, path) in core.chain(others).take(MAX_GROUP_VERSIONS) {
            self.capabilities.api_versions.push(version.clone());
            // A group whose server is away is left out, as Helm does.
            let Ok(resources) = get(&self.client, &path).await else { continue };
            for resource in resources["resources"].as_array().into_iter().flatten() {
                self.note(&version, resource);
            }
        }
        Ok(())
    }

    fn note(&mut self, version: &str, resource: &Value) {
        let (name, kind) =
            (resource["name"].as_str().unwrap_or_default(), resource["kind"].as_str().unwrap_or_default());
        if name.is_empty() || name.contains('/') {
            return;
        }
        let named = format!("{version}/{kind}");
        if !self.capabilities.api_versions.contains(&named) {
            self.capabilities.api_versions.push(named);
        }
        let namespaced = resource["namespaced"] == true;
        let resource = Resource { plural: name.to_string(), namespaced };
        self.kinds.entry((version.to_string(), kind.to_string())).or_insert(resource);
    }

    /// What `lookup` asks.
    pub fn view(&self) -> LiveView {
        LiveView { client: self.client.clone(), kinds: self.kinds.clone(), runtime: Handle::current() }
    }

    /// Whether the cluster knows all kinds and would take all objects.
    pub async fn check(&self, rendered: &Rendered) -> Result<(), String> {
        for manifest in rendered.sorted.manifests.iter().filter(|manifest| !manifest.kind.is_empty()) {
            self.check_one(manifest).await?;
        }
        Ok(())
    }

    async fn check_one(&self, manifest: &Manifest) -> Result<(), String> {
        let Manifest { api_version, kind, name, object, .. } = manifest;
        let failed = |text: String| {
            format!("unable to build kubernetes objects from release manifest: {text}\n  {}", manifest.source)
        };
        let own = object["metadata"]["namespace"].as_str();
        let Some(resource) = self.kinds.get(&(api_version.clone(), kind.clone())) else {
            let namespace = own.unwrap_or_default();
            return Err(failed(format!(
                "resource mapping not found for name: {name:?} namespace: {namespace:?} from \"\": no matches for kind {kind:?} in version {api_version:?}\nensure CRDs are installed first"
            )));
        };
        let namespace = if resource.namespaced { own.unwrap_or(&self.namespace) } else { "" };
        let path = path(api_version, resource, namespace, "");
        let query = "dryRun=All&fieldValidation=Strict&fieldManager=helm";
        let body = serde_json::to_vec(object).map_err(|error| error.to_string())?;
        let request = Request::post(format!("{path}?{query}")).header("content-type", "application/json").body(body);
        match self.client.request::<Value>(request.map_err(|error| error.to_string())?).await {
            Ok(_) => Ok(()),
            // Helm does not create the namespace to look at what is in it.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => Err(format!(
                "unable to continue with install: {kind} {name:?} in namespace {namespace:?} exists and cannot be imported into the current release"
            )),
            Err(kube::Error::Api(status)) => Err(failed(format!("error validating \"\": {}", status.message))),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// `lookup` against a live cluster. Templates are rendered on a thread that may wait.
pub struct LiveView {
    client: Client,
    kinds: BTreeMap<(String, String), Resource>,
    runtime: Handle,
}

impl View for LiveView {
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        let Some(resource) = self.kinds.get(&(api_version.to_string(), kind.to_string())) else {
            return Err(format!(
                "unable to get apiresource from unstructured: {api_version}, Kind={kind}: the server could not find the requested resource"
            ));
        };
        let path = path(api_version, resource, if resource.namespaced { namespace } else { "" }, name);
        match self.runtime.block_on(get(&self.client, &path)) {
            Ok(found) => Ok(Some(found)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(kube::Error::Api(status)) => Err(status.message.clone()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn path(api_version: &str, resource: &Resource, namespace: &str, name: &str) -> String {
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let inside = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
    let last = if name.is_empty() { String::new() } else { format!("/{name}") };
    format!("{root}/{api_version}{inside}/{}{last}", resource.plural)
}

async fn get(client: &Client, path: &str) -> Result<Value, kube::Error> {
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_string)).collect()
}
