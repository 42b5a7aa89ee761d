//! A cluster that is asked while a chart is rendered: what it is, what it holds.

use std::collections::BTreeMap;

use http::Request;
use kube::config::Kubeconfig;
use kube::{Client, Config};
use serde_json::Value;
use switchboard_chart::capabilities::{Capabilities, KubeVersion};
use switchboard_chart::render::View;
use tokio::runtime::Handle;

use super::flags::Access;
use crate::reach::{Reach, ReachError};
use crate::talk::say;

/// How many API versions a cluster may have.
const MAX_GROUP_VERSIONS: usize = 2_000;
/// How everything that is served is asked for at once, and, of a server that cannot, one by one.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// A cluster that answered.
pub struct Asked {
    pub client: Client,
    /// What a chart sees of it.
    pub capabilities: Capabilities,
    pub kinds: Kinds,
}

/// What is served, by API version.
#[derive(Clone, Default)]
pub struct Kinds(BTreeMap<String, Vec<Resource>>);

/// A type of objects.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    pub kind: String,
    pub plural: String,
    pub namespaced: bool,
    /// Whether objects of it can be patched, which means that the server judges their fields itself.
    pub patched: bool,
}

impl Kinds {
    /// Whether anything of this version is served.
    pub fn serves(&self, api_version: &str) -> bool {
        self.0.contains_key(api_version)
    }

    /// A kind by its name.
    pub fn find(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        self.0.get(api_version)?.iter().find(|resource| resource.kind == kind)
    }

    /// What objects of a kind are mapped to: lists are known too, and kinds in small letters.
    pub fn mapped(&self, api_version: &str, kind: &str) -> Option<Resource> {
        let all = self.0.get(api_version)?;
        let list = Resource { kind: kind.to_string(), ..Resource::default() };
        if kind == "List" {
            return Some(list);
        }
        let named = |resource: &&Resource| resource.kind == kind || resource.kind.to_lowercase() == kind;
        all.iter().find(named).cloned().or_else(|| {
            let of_list = kind.strip_suffix("List")?;
            all.iter().any(|resource| resource.kind == of_list).then_some(list)
        })
    }
}

impl Asked {
    /// Connects, and asks for the version and everything that is served.
    ///
    /// # Errors
    /// In Helm's words, when nobody answers.
    pub async fn connect(access: &Access) -> Result<Self, String> {
        let config = config(access).await.map_err(unreachable)?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| unreachable(root(&error)))?;
        let version = get(&client, "/version").await.map_err(|error| unreachable(refused(&server, &error)))?;
        let text = |name: &str| version[name].as_str().unwrap_or_default().to_string();
        let given = text("gitVersion");
        // A cluster's own words are taken as they are; constraints see the whole of it.
        let kube_version =
            KubeVersion { version: given.clone(), normalized: given, major: text("major"), minor: text("minor") };
        let capabilities = Capabilities { kube_version, api_versions: Vec::new() };
        let mut asked = Self { client, capabilities, kinds: Kinds::default() };
        asked
            .discover()
            .await
            .map_err(|error| format!("could not get apiVersions from Kubernetes: {}", told(&error)))?;
        Ok(asked)
    }

    async fn discover(&mut self) -> Result<(), kube::Error> {
        for root in ["/api", "/apis"] {
            let answer = get_as(&self.client, root, DISCOVERY).await?;
            match answer["kind"] == "APIGroupDiscoveryList" {
                true => self.note_all(&answer),
                false => self.one_by_one(&answer).await,
            }
        }
        Ok(())
    }

    /// Notes what a server told at once.
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

    /// Asks a server for one version after the other.
    async fn one_by_one(&mut self, answer: &Value) {
        let core = list(&answer["versions"]).iter().filter_map(Value::as_str).map(|v| (v.to_string(), "/api"));
        let versions = list(&answer["groups"]).iter().flat_map(|group| list(&group["versions"]));
        let others = versions.filter_map(|version| version["groupVersion"].as_str()).map(|v| (v.to_string(), "/apis"));
        let all: Vec<(String, &str)> = core.chain(others).take(MAX_GROUP_VERSIONS).collect();
        for (version, root) in all {
            self.note_version(&version);
            // A group whose server is away is left out, as Helm does.
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
        // Parts of other resources are no objects of their own; charts see their kinds all the same.
        if plural.is_empty() || plural.contains('/') {
            return;
        }
        let patched = list(verbs).iter().any(|verb| verb == "patch");
        let resource = Resource { kind: kind.to_string(), plural: plural.to_string(), namespaced, patched };
        self.kinds.0.entry(version.to_string()).or_default().push(resource);
    }

    /// What `lookup` asks.
    pub fn view(&self) -> LiveView {
        LiveView { client: self.client.clone(), kinds: self.kinds.clone(), runtime: Handle::current() }
    }
}

/// The namespace a kubeconfig speaks of, where it can be read and does.
pub fn namespace(access: &Access) -> Option<String> {
    let file = kubeconfig(access).ok()?;
    let context = given(&access.kube_context).cloned().or(file.current_context)?;
    let named = file.contexts.into_iter().find(|named| named.name == context)?;
    named.context?.namespace.filter(|namespace| !namespace.is_empty())
}

fn kubeconfig(access: &Access) -> Result<Kubeconfig, kube::config::KubeconfigError> {
    match &access.kubeconfig {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    }
}

/// A flag or variable that says something: an empty one is none.
fn given(text: &Option<String>) -> Option<&String> {
    text.as_ref().filter(|text| !text.is_empty())
}

async fn config(access: &Access) -> Result<Config, String> {
    let reach = Reach { kubeconfig: access.kubeconfig.clone(), context: given(&access.kube_context).cloned() };
    let mut config = match reach.config().await {
        Ok(config) => config,
        Err(ReachError::NoContext { name, .. }) => return Err(format!("context {name:?} does not exist")),
        Err(ReachError::Nowhere | ReachError::Missing(_)) if given(&access.kube_apiserver).is_some() => {
            Config::new(http::Uri::from_static("https://localhost"))
        }
        Err(error) => return Err(root(&error)),
    };
    if let Some(server) = given(&access.kube_apiserver) {
        config.cluster_url = server.parse().map_err(|error| format!("{server:?} is no address: {error}"))?;
    }
    if let Some(file) = &access.kube_ca_file {
        config.root_cert = None;
        config.root_cert_file = Some(file.clone());
    }
    if let Some(token) = given(&access.kube_token) {
        config.auth_info.token = Some(token.clone().into());
    }
    if let Some(user) = given(&access.kube_as_user) {
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

/// What Helm says when nobody answers: once as a log, once as the error.
fn unreachable(cause: String) -> String {
    let told = format!("cluster reachability check failed: kubernetes cluster unreachable: {cause}");
    say(format!("level=ERROR msg={told:?}"));
    told
}

/// The cause all began with.
fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

fn refused(server: &str, error: &kube::Error) -> String {
    if let kube::Error::Api(_) = error {
        return told(error);
    }
    let cause = root(error);
    if !cause.starts_with("Connection refused") {
        return cause;
    }
    let host = server.split("://").last().unwrap_or(server).trim_end_matches('/');
    format!("Get \"{}/version\": dial tcp {host}: connect: connection refused", server.trim_end_matches('/'))
}

/// What an API server says, or why it could not be asked.
pub fn told(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => root(other),
    }
}

/// `lookup` against a live cluster. Templates are rendered on a thread that may wait.
pub struct LiveView {
    client: Client,
    kinds: Kinds,
    runtime: Handle,
}

impl View for LiveView {
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        if !self.kinds.serves(api_version) {
            let missing = "the server could not find the requested resource";
            say(format!(
                "level=ERROR msg=\"unable to retrieve resource list\" GroupVersion={api_version} error={missing:?}"
            ));
            let which = format!("{api_version}, Kind={kind}");
            say(format!("level=ERROR msg=\"unable to get apiresource\" groupVersionKind={which:?} error={missing:?}"));
            return Err(format!("unable to get apiresource from unstructured: {which}: {missing}"));
        }
        let path = match self.kinds.find(api_version, kind) {
            Some(resource) => {
                let namespace = if resource.namespaced { namespace } else { "" };
                path(api_version, resource, namespace, name)
            }
            // Helm asks for a resource without a name then, which is the list of versions, or nothing.
            None => format!("/api/{}", encoded(name)).trim_end_matches('/').to_string(),
        };
        match self.runtime.block_on(get(&self.client, &path)) {
            Ok(mut found) => {
                if let Some(map) = found.as_object_mut().filter(|map| name.is_empty() && !map.contains_key("items")) {
                    map.insert("items".to_string(), Value::Array(Vec::new()));
                }
                Ok(Some(found))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(told(&error)),
        }
    }
}

/// Where a server has an object, or all of them.
pub fn path(api_version: &str, resource: &Resource, namespace: &str, name: &str) -> String {
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let inside = if namespace.is_empty() { String::new() } else { format!("/namespaces/{}", encoded(namespace)) };
    let last = if name.is_empty() { String::new() } else { format!("/{}", encoded(name)) };
    format!("{root}/{api_version}{inside}/{}{last}", resource.plural)
}

/// A part of a path, whatever it holds.
fn encoded(part: &str) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte);
    part.bytes().map(|byte| if safe(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Asks for a path.
pub async fn get(client: &Client, path: &str) -> Result<Value, kube::Error> {
    get_as(client, path, "application/json").await
}

async fn get_as(client: &Client, path: &str, accept: &str) -> Result<Value, kube::Error> {
    let request = Request::get(path).header("accept", accept).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

/// The items of a list; none where there is no list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
