//! Cluster used while a chart is rendered: its capabilities and objects.

use std::collections::BTreeMap;

use http::Request;
use kube::config::Kubeconfig;
use kube::{Client, Config};
use serde_json::Value;
use switchboard_chart::capabilities::{Capabilities, KubeVersion};
use switchboard_chart::render::ClusterLookup;
use switchboard_kernel::config::ClusterConfig;
use switchboard_object::causes::root_cause;
use switchboard_object::quote::quote;
use switchboard_runtime::cluster_access::{ClusterAccess, ClusterAccessError};
use switchboard_runtime::stderr::print_stderr;
use tokio::runtime::Handle;

use super::flags::ClusterAccessArgs;

/// Maximum number of API versions of a cluster.
const MAX_GROUP_VERSIONS: usize = 2_000;
/// Accept header for aggregated discovery, with a fallback to discovery by version.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// Reachable cluster with its capabilities and kinds.
pub struct ClusterInfo {
    pub client: Client,
    /// Capabilities for the chart.
    pub capabilities: Capabilities,
    pub kinds: ServedKinds,
}

/// Served kinds by API version.
#[derive(Clone, Default)]
pub struct ServedKinds(BTreeMap<String, Vec<ServedResource>>);

/// Served resource type.
#[derive(Clone, Debug, Default)]
pub struct ServedResource {
    pub kind: String,
    pub plural: String,
    pub namespaced: bool,
    /// Whether objects can be patched; the server then validates their fields itself.
    pub patched: bool,
}

impl ServedKinds {
    /// Whether the API version is served.
    pub fn serves(&self, api_version: &str) -> bool {
        self.0.contains_key(api_version)
    }

    /// Finds a kind by name.
    pub fn find(&self, api_version: &str, kind: &str) -> Option<&ServedResource> {
        self.0.get(api_version)?.iter().find(|resource| resource.kind == kind)
    }

    /// Finds the resource of a kind like Helm: also for lists, and for kinds in lower case.
    pub fn rest_mapping(&self, api_version: &str, kind: &str) -> Option<ServedResource> {
        let all = self.0.get(api_version)?;
        let list = ServedResource { kind: kind.to_string(), ..ServedResource::default() };
        if kind == "List" {
            return Some(list);
        }
        let named = |resource: &&ServedResource| resource.kind == kind || resource.kind.to_lowercase() == kind;
        all.iter().find(named).cloned().or_else(|| {
            let of_list = kind.strip_suffix("List")?;
            all.iter().any(|resource| resource.kind == of_list).then_some(list)
        })
    }
}

impl ClusterInfo {
    /// Connects, and reads the version and the served kinds.
    ///
    /// # Errors
    /// Returns Helm's text if the cluster does not answer.
    pub async fn connect(access: &ClusterAccessArgs) -> Result<Self, String> {
        let config = config(access).await.map_err(unreachable)?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| unreachable(root_cause(&error)))?;
        let version = get(&client, "/version").await.map_err(|error| unreachable(connection_error(&server, &error)))?;
        let text = |name: &str| version[name].as_str().unwrap_or_default().to_string();
        let git_version = text("gitVersion");
        // The cluster's version is used verbatim; constraints compare all of it.
        let kube_version = KubeVersion {
            version: git_version.clone(),
            normalized: git_version,
            major: text("major"),
            minor: text("minor"),
        };
        let capabilities = Capabilities { kube_version, api_versions: Vec::new() };
        let mut info = Self { client, capabilities, kinds: ServedKinds::default() };
        info.discover()
            .await
            .map_err(|error| format!("could not get apiVersions from Kubernetes: {}", error_message(&error)))?;
        Ok(info)
    }

    async fn discover(&mut self) -> Result<(), kube::Error> {
        for root in ["/api", "/apis"] {
            let answer = get_as(&self.client, root, DISCOVERY).await?;
            match answer["kind"] == "APIGroupDiscoveryList" {
                true => self.note_all(&answer),
                false => self.discover_each(&answer).await,
            }
        }
        Ok(())
    }

    /// Adds the kinds of aggregated discovery.
    fn note_all(&mut self, answer: &Value) {
        for group in list(&answer["items"]) {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            for version in list(&group["versions"]).iter().filter(|version| version["freshness"] != "Stale") {
                let number = version["version"].as_str().unwrap_or_default();
                let served = if name.is_empty() { number.to_string() } else { format!("{name}/{number}") };
                self.note_version(&served);
                for resource in list(&version["resources"]) {
                    let plural = resource["resource"].as_str().unwrap_or_default();
                    let namespaced = resource["scope"] == "Namespaced";
                    self.note(&served, plural, &resource["responseKind"]["kind"], namespaced, &resource["verbs"]);
                    for part in list(&resource["subresources"]) {
                        self.note(&served, "/", &part["responseKind"]["kind"], namespaced, &part["verbs"]);
                    }
                }
            }
        }
    }

    /// Requests the kinds of one version after the other.
    async fn discover_each(&mut self, answer: &Value) {
        let core = list(&answer["versions"]).iter().filter_map(Value::as_str).map(|v| (v.to_string(), "/api"));
        let versions = list(&answer["groups"]).iter().flat_map(|group| list(&group["versions"]));
        let others = versions.filter_map(|version| version["groupVersion"].as_str()).map(|v| (v.to_string(), "/apis"));
        let all: Vec<(String, &str)> = core.chain(others).take(MAX_GROUP_VERSIONS).collect();
        for (version, root) in all {
            self.note_version(&version);
            // A group whose server does not answer is skipped, as in Helm.
            let Ok(resources) = get(&self.client, &format!("{root}/{version}")).await else { continue };
            for resource in list(&resources["resources"]) {
                let name = resource["name"].as_str().unwrap_or_default();
                self.note(&version, name, &resource["kind"], resource["namespaced"] == true, &resource["verbs"]);
            }
        }
    }

    fn note_version(&mut self, version: &str) {
        self.kinds.0.entry(version.to_string()).or_default();
        self.capabilities.api_versions.push(version.to_string());
    }

    fn note(&mut self, version: &str, plural: &str, kind: &Value, namespaced: bool, verbs: &Value) {
        let Some(kind) = kind.as_str().filter(|kind| !kind.is_empty()) else { return };
        let named = format!("{version}/{kind}");
        if !self.capabilities.api_versions.contains(&named) {
            self.capabilities.api_versions.push(named);
        }
        // Subresources are not objects; charts see their kinds nevertheless.
        if plural.is_empty() || plural.contains('/') {
            return;
        }
        let patched = list(verbs).iter().any(|verb| verb == "patch");
        let resource = ServedResource { kind: kind.to_string(), plural: plural.to_string(), namespaced, patched };
        self.kinds.0.entry(version.to_string()).or_default().push(resource);
    }

    /// Returns the view for `lookup`.
    pub fn view(&self) -> LiveView {
        LiveView { client: self.client.clone(), kinds: self.kinds.clone(), runtime: Handle::current() }
    }
}

/// Returns the namespace of the kubeconfig's context, if it can be read.
pub fn namespace(access: &ClusterAccessArgs) -> Option<String> {
    let file = kubeconfig(access).ok()?;
    let context = non_empty(&access.kube_context).cloned().or(file.current_context)?;
    let named = file.contexts.into_iter().find(|named| named.name == context)?;
    named.context?.namespace.filter(|namespace| !namespace.is_empty())
}

fn kubeconfig(access: &ClusterAccessArgs) -> Result<Kubeconfig, kube::config::KubeconfigError> {
    match &access.kubeconfig {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    }
}

/// Treats an empty flag or variable as not set.
fn non_empty(text: &Option<String>) -> Option<&String> {
    text.as_ref().filter(|text| !text.is_empty())
}

async fn config(access: &ClusterAccessArgs) -> Result<Config, String> {
    let cluster =
        ClusterConfig { kubeconfig: access.kubeconfig.clone(), context: non_empty(&access.kube_context).cloned() };
    let mut config = match ClusterAccess(cluster).config().await {
        Ok(config) => config,
        Err(ClusterAccessError::NoContext { name, .. }) => {
            return Err(format!("context {} does not exist", quote(&name)));
        }
        Err(ClusterAccessError::Nowhere | ClusterAccessError::Missing(_))
            if non_empty(&access.kube_apiserver).is_some() =>
        {
            Config::new(http::Uri::from_static("https://localhost"))
        }
        Err(error) => return Err(root_cause(&error)),
    };
    if let Some(server) = non_empty(&access.kube_apiserver) {
        config.cluster_url =
            server.parse().map_err(|error| format!("{} is not a valid URL: {error}", quote(server)))?;
    }
    if let Some(file) = &access.kube_ca_file {
        config.root_cert = None;
        config.root_cert_file = Some(file.clone());
    }
    if let Some(token) = non_empty(&access.kube_token) {
        config.auth_info.token = Some(token.clone().into());
    }
    if let Some(user) = non_empty(&access.kube_as_user) {
        config.auth_info.impersonate = Some(user.clone());
    }
    let groups: Vec<String> = access.kube_as_group.iter().filter(|group| !group.is_empty()).cloned().collect();
    if !groups.is_empty() {
        config.auth_info.impersonate_groups = Some(groups);
    }
    config.tls_server_name = access.kube_tls_server_name.clone().or(config.tls_server_name);
    config.accept_invalid_certs |= access.kube_insecure_skip_tls_verify;
    Ok(config)
}

/// Returns Helm's error for an unreachable cluster, and logs it as Helm does.
fn unreachable(cause: String) -> String {
    let error_text = format!("cluster reachability check failed: kubernetes cluster unreachable: {cause}");
    print_stderr(format!("level=ERROR msg={}", quote(&error_text)));
    error_text
}

fn connection_error(server: &str, error: &kube::Error) -> String {
    if let kube::Error::Api(_) = error {
        return error_message(error);
    }
    let cause = root_cause(error);
    if !cause.starts_with("Connection refused") {
        return cause;
    }
    let host = server.split("://").last().unwrap_or(server).trim_end_matches('/');
    format!("Get \"{}/version\": dial tcp {host}: connect: connection refused", server.trim_end_matches('/'))
}

/// Returns the message of the API server, or of the failed connection.
pub fn error_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => root_cause(other),
    }
}

/// `lookup` against a live cluster. It blocks, so templates are rendered on a separate thread.
pub struct LiveView {
    client: Client,
    kinds: ServedKinds,
    runtime: Handle,
}

impl ClusterLookup for LiveView {
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        if !self.kinds.serves(api_version) {
            let missing = "the server could not find the requested resource";
            print_stderr(format!(
                "level=ERROR msg=\"unable to retrieve resource list\" GroupVersion={api_version} error={}",
                quote(missing)
            ));
            let which = format!("{api_version}, Kind={kind}");
            print_stderr(format!(
                "level=ERROR msg=\"unable to get apiresource\" groupVersionKind={} error={}",
                quote(&which),
                quote(missing)
            ));
            return Err(format!("unable to get apiresource from unstructured: {which}: {missing}"));
        }
        let path = match self.kinds.find(api_version, kind) {
            Some(resource) => {
                let namespace = if resource.namespaced { namespace } else { "" };
                path(api_version, resource, namespace, name)
            }
            // Helm then requests a resource without a name, which returns the list of versions or nothing.
            None => format!("/api/{}", percent_encode(name)).trim_end_matches('/').to_string(),
        };
        match self.runtime.block_on(get(&self.client, &path)) {
            Ok(mut found) => {
                if let Some(map) = found.as_object_mut().filter(|map| name.is_empty() && !map.contains_key("items")) {
                    map.insert("items".to_string(), Value::Array(Vec::new()));
                }
                Ok(Some(found))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error_message(&error)),
        }
    }
}

/// Returns the path of an object, or of all objects.
pub fn path(api_version: &str, resource: &ServedResource, namespace: &str, name: &str) -> String {
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let inside =
        if namespace.is_empty() { String::new() } else { format!("/namespaces/{}", percent_encode(namespace)) };
    let last = if name.is_empty() { String::new() } else { format!("/{}", percent_encode(name)) };
    format!("{root}/{api_version}{inside}/{}{last}", resource.plural)
}

/// Percent-encodes a path segment.
fn percent_encode(part: &str) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte);
    part.bytes().map(|byte| if safe(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Reads a path.
pub async fn get(client: &Client, path: &str) -> Result<Value, kube::Error> {
    get_as(client, path, "application/json").await
}

async fn get_as(client: &Client, path: &str, accept: &str) -> Result<Value, kube::Error> {
    let request = Request::get(path).header("accept", accept).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

/// Returns the items of a list, or none for another value.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
