//! Checks that Helm runs on a manifest before an installation: it maps each object to a resource of the server,
//! validates what the server does not validate, and checks the ownership of existing objects. Nothing is written, not
//! even as a dry run.

use serde_json::Value;
use switchboard_chart::manifest::split;
use switchboard_chart::output::{OutputOptions, manifests};
use switchboard_chart::render::RenderedChart;
use switchboard_object::quote::quote;
use switchboard_object::{json, json_type, yaml};

use super::cluster::{ClusterInfo, ServedResource, error_message, get, list, path};
use super::openapi_models::OpenApiModels;

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Options of the validation.
pub struct ValidationOptions<'a> {
    pub release: &'a str,
    pub namespace: &'a str,
    /// Whether fields are validated; false with `--disable-openapi-validation`.
    pub validate: bool,
    /// Whether objects may exist, as in an upgrade.
    pub upgrade: bool,
    /// Whether existing objects may belong to another release.
    pub take_ownership: bool,
}

/// Rendered document with its template.
pub struct RenderedDocument {
    source: String,
    object: Value,
}

impl RenderedDocument {
    /// Returns the line with the position that follows Helm's text.
    fn location(&self) -> String {
        place(&self.source, &self.object)
    }
}

fn place(source: &str, object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    let which = match (kind.is_empty(), name.is_empty()) {
        (true, true) => "an object".to_string(),
        (true, false) => quote(&name),
        (false, true) => kind,
        (false, false) => format!("{kind} {}", quote(&name)),
    };
    format!("\n  {source}: rendered {which}")
}

/// Object with its resource on the server.
struct MappedObject {
    source: String,
    object: Value,
    api_version: String,
    resource: ServedResource,
    namespace: String,
    name: String,
}

/// Returns the documents of the output without hooks.
pub fn documents(rendered: &RenderedChart, expected: &OutputOptions) -> Result<Vec<RenderedDocument>, String> {
    let mut documents = Vec::new();
    for (source, text) in manifests(rendered, expected) {
        for (_, text) in split(text) {
            let read = yaml::read(text).map_err(|error| {
                format!("error parsing : error converting YAML to JSON: {error}\n  {source}: rendered it")
            })?;
            if !read.value.is_null() {
                documents.push(RenderedDocument { source: source.to_string(), object: read.value });
            }
        }
    }
    Ok(documents)
}

/// Validates the documents.
///
/// # Errors
/// Returns Helm's text if Helm would stop the release.
pub async fn validate(
    cluster_info: &ClusterInfo,
    documents: Vec<RenderedDocument>,
    look: &ValidationOptions<'_>,
) -> Result<(), String> {
    let mut build = ManifestValidator { cluster_info, look, crds: None, models: None };
    let placed = build.all(documents).await;
    let placed =
        placed.map_err(|error| format!("unable to build kubernetes objects from release manifest: {error}"))?;
    if !look.upgrade {
        for placed in &placed {
            check_ownership(cluster_info, placed, look).await.map_err(|error| {
                format!("unable to continue with install: {error}{}", place(&placed.source, &placed.object))
            })?;
        }
    }
    Ok(())
}

struct ManifestValidator<'a> {
    cluster_info: &'a ClusterInfo,
    look: &'a ValidationOptions<'a>,
    /// Groups and kinds of the server's CRDs, listed on first use.
    crds: Option<Result<Vec<(String, String)>, String>>,
    models: Option<OpenApiModels>,
}

impl ManifestValidator<'_> {
    async fn all(&mut self, documents: Vec<RenderedDocument>) -> Result<Vec<MappedObject>, String> {
        let (mut placed, mut problems, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for document in documents {
            if self.look.validate
                && let Err(problem) = self.validate_object(&document.object).await
            {
                // Helm stops reading the manifest at the first invalid document.
                problems.push(format!("error validating \"\": error validating data: {problem}"));
                places.push(document.location());
                break;
            }
            match self.map_object(&document) {
                Ok(found) => placed.extend(found),
                Err(more) => {
                    problems.extend(more);
                    places.push(document.location());
                }
            }
        }
        if problems.is_empty() { Ok(placed) } else { Err(format!("{}{}", aggregate(&problems), places.concat())) }
    }

    async fn validate_object(&mut self, object: &Value) -> Result<(), String> {
        let (api_version, kind) = checked_type_meta(object).map_err(|problems| aggregate(&problems))?;
        if self.is_validated_by_server(&api_version, &kind).await? {
            return Ok(());
        }
        let mut problems = Vec::new();
        if api_version == "v1" && kind == "List" {
            let Some(items) = object["items"].as_array() else { return Err("invalid object to validate".to_string()) };
            for item in items {
                match checked_type_meta(item) {
                    Ok((api_version, kind)) => problems.extend(self.problems(item, &api_version, &kind).await?),
                    Err(more) => problems.extend(more),
                }
            }
        } else {
            problems = self.problems(object, &api_version, &kind).await?;
        }
        if problems.is_empty() { Ok(()) } else { Err(aggregate(&problems)) }
    }

    /// Servers validate the fields of types they can patch; clients validate the others.
    async fn is_validated_by_server(&mut self, api_version: &str, kind: &str) -> Result<bool, String> {
        if api_version == "v1" && kind == "List" {
            return Ok(false);
        }
        let kinds = &self.cluster_info.kinds;
        let known = kinds.serves(api_version);
        if kinds.find(api_version, kind).is_some_and(|resource| resource.patched) {
            return Ok(true);
        }
        let (group, _) = split_api_version(api_version);
        match self.has_crd(group, kind).await {
            Ok(has) => Ok(has),
            Err(_) if !known => Ok(false),
            Err(error) => Err(format!("failed to check CRD: failed to list CRDs: {error}")),
        }
    }

    async fn has_crd(&mut self, group: &str, kind: &str) -> Result<bool, String> {
        if self.crds.is_none() {
            let listed = get(&self.cluster_info.client, CRDS).await.map_err(|error| error_message(&error));
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            let named = |crd: &Value| (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"]));
            self.crds = Some(listed.map(|listed| list(&listed["items"]).iter().map(named).collect()));
        }
        let crds = self.crds.as_ref().expect("checked above").as_ref().map_err(Clone::clone)?;
        Ok(crds.iter().any(|(of, named)| of == group && named == kind))
    }

    async fn problems(&mut self, object: &Value, api_version: &str, kind: &str) -> Result<Vec<String>, String> {
        let models = match self.models.take() {
            Some(models) => models,
            None => OpenApiModels::new(
                get(&self.cluster_info.client, "/openapi/v2").await.map_err(|error| error_message(&error))?,
            ),
        };
        let (group, version) = split_api_version(api_version);
        let problems = models.problems(object, group, version, kind);
        self.models = Some(models);
        Ok(problems)
    }

    /// Maps an object to its resource, or all objects of a list.
    fn map_object(&self, document: &RenderedDocument) -> Result<Vec<MappedObject>, Vec<String>> {
        let RenderedDocument { source, object } = document;
        let (api_version, kind) = type_meta(object);
        if kind.is_empty() {
            let text = json::to_string(object);
            return Err(vec![format!("unable to decode \"\": Object 'Kind' is missing in '{text}'")]);
        }
        if let Some(problem) = metadata_problem(object) {
            return Err(vec![format!("unable to decode \"\": {problem}")]);
        }
        let is_list = object["items"].is_array();
        let Some(resource) = self.cluster_info.kinds.rest_mapping(&api_version, &kind) else {
            let part = |name: &str| object["metadata"][name].as_str().filter(|_| !is_list).unwrap_or_default();
            let (name, namespace) = (part("name"), part("namespace"));
            let why = no_match(&api_version, &kind);
            return Err(vec![format!(
                "resource mapping not found for name: {} namespace: {} from \"\": {why}\nensure CRDs are installed first",
                quote(name),
                quote(namespace)
            )]);
        };
        match is_list {
            true => self.map_list(source, object),
            false => Ok(vec![self.mapped(source, object.clone(), api_version, resource)]),
        }
    }

    fn map_list(&self, source: &str, whole: &Value) -> Result<Vec<MappedObject>, Vec<String>> {
        let (mut placed, mut problems) = (Vec::new(), Vec::new());
        let mut lists = vec![whole.clone()];
        while let Some(whole) = lists.pop() {
            let (of_version, of_kind) = type_meta(&whole);
            for item in list(&whole["items"]) {
                let mut item = item.clone();
                if type_meta(&item) == (String::new(), String::new()) && item.is_object() {
                    // Items of a typed list may omit apiVersion and kind.
                    item["apiVersion"] = Value::from(of_version.clone());
                    item["kind"] = Value::from(of_kind.trim_end_matches("List"));
                }
                if item["items"].is_array() {
                    lists.push(item);
                    continue;
                }
                let (api_version, kind) = type_meta(&item);
                match self.cluster_info.kinds.rest_mapping(&api_version, &kind) {
                    Some(resource) => placed.push(self.mapped(source, item, api_version, resource)),
                    None => problems.push(format!("unable to recognize {}", no_match(&api_version, &kind))),
                }
            }
        }
        if problems.is_empty() { Ok(placed) } else { Err(problems) }
    }

    fn mapped(&self, source: &str, object: Value, api_version: String, resource: ServedResource) -> MappedObject {
        let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_string();
        let (name, own) = (text("name"), text("namespace"));
        let namespace = match (resource.namespaced, own.is_empty()) {
            (false, _) => String::new(),
            (true, true) => self.look.namespace.to_string(),
            (true, false) => own,
        };
        MappedObject { source: source.to_string(), object, api_version, resource, namespace, name }
    }
}

/// Checks that an object does not exist or belongs to this release.
async fn check_ownership(
    cluster_info: &ClusterInfo,
    placed: &MappedObject,
    look: &ValidationOptions<'_>,
) -> Result<(), String> {
    let generated = placed.object["metadata"]["generateName"].as_str().is_some_and(|name| !name.is_empty());
    match (placed.name.is_empty(), generated) {
        (true, true) => return Ok(()),
        (false, true) => return Err("metadata.name and metadata.generateName cannot both be set".to_string()),
        _ => {}
    }
    let kind = placed.object["kind"].as_str().unwrap_or_default();
    let which = format!("{kind} {} in namespace {}", quote(&placed.name), quote(&placed.namespace));
    let failed = |why: String| Err(format!("could not get information about the resource {which}: {why}"));
    if placed.name.is_empty() {
        return failed("resource name may not be empty".to_string());
    }
    let path = path(&placed.api_version, &placed.resource, &placed.namespace, &placed.name);
    let found = match get(&cluster_info.client, &path).await {
        Ok(found) => found,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        Err(error) => return failed(error_message(&error)),
    };
    let problems = ownership_problems(&found, look);
    match look.take_ownership || problems.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{which} exists and cannot be imported into the current release: invalid ownership metadata; {}",
            problems.join("; ")
        )),
    }
}

fn ownership_problems(found: &Value, look: &ValidationOptions<'_>) -> Vec<String> {
    let metadata = &found["metadata"];
    let required = [
        ("label", &metadata["labels"], MANAGED_BY, "Helm"),
        ("annotation", &metadata["annotations"], RELEASE_NAME, look.release),
        ("annotation", &metadata["annotations"], RELEASE_NAMESPACE, look.namespace),
    ];
    let problem = |(what, map, key, expected): &(&str, &Value, &str, &str)| {
        let why = match map[*key].as_str() {
            Some(value) if value == *expected => return None,
            Some(value) => {
                format!("key {} must equal {}: current value is {}", quote(key), quote(expected), quote(value))
            }
            None => format!("missing key {}: must be set to {}", quote(key), quote(expected)),
        };
        Some(format!("{what} validation error: {why}"))
    };
    required.iter().filter_map(problem).collect()
}

fn no_match(api_version: &str, kind: &str) -> String {
    format!("no matches for kind {} in version {}", quote(kind), quote(api_version))
}

fn type_meta(object: &Value) -> (String, String) {
    let text = |name: &str| object[name].as_str().unwrap_or_default().to_string();
    (text("apiVersion"), text("kind"))
}

/// Returns apiVersion and kind of an object, or the reasons why they are missing.
fn checked_type_meta(object: &Value) -> Result<(String, String), Vec<String>> {
    if !object.is_object() {
        return Err(vec!["invalid object to validate".to_string()]);
    }
    let mut problems = Vec::new();
    for name in ["apiVersion", "kind"] {
        match &object[name] {
            Value::Null => problems.push(format!("{name} not set")),
            Value::String(text) if name == "apiVersion" && text.matches('/').count() > 1 => {
                problems.push(format!("unexpected GroupVersion string: {text}"));
            }
            Value::String(_) => {}
            _ => problems.push(format!("{name} isn't string type")),
        }
    }
    if problems.is_empty() { Ok(type_meta(object)) } else { Err(problems) }
}

fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Returns the error of Go's encoding/json for the first invalid field of `metadata`.
fn metadata_problem(object: &Value) -> Option<String> {
    let wrong = |value: &Value, field: &str, expected: &str| {
        Some(format!("json: cannot unmarshal {} into Go struct field {field} of type {expected}", json_type(value)))
    };
    let metadata = match &object["metadata"] {
        Value::Null => return None,
        Value::Object(map) => map,
        other => return wrong(other, "metadataOnlyObject.metadata", "v1.ObjectMeta"),
    };
    let mut fields: Vec<_> = metadata.iter().filter(|(_, value)| !value.is_null()).collect();
    fields.sort_by_key(|(name, _)| *name);
    fields.into_iter().find_map(|(name, value)| {
        let field = format!("ObjectMeta.metadata.{name}");
        let odd = |value: &&Value| !value.is_string() && !value.is_null();
        match (name.as_str(), value) {
            ("name" | "generateName" | "namespace" | "selfLink" | "uid" | "resourceVersion", Value::String(_)) => None,
            ("uid", other) => wrong(other, &field, "types.UID"),
            ("name" | "generateName" | "namespace" | "selfLink" | "resourceVersion", other) => {
                wrong(other, &field, "string")
            }
            ("labels" | "annotations", Value::Object(map)) => wrong(map.values().find(odd)?, &field, "string"),
            ("labels" | "annotations", other) => wrong(other, &field, "map[string]string"),
            ("finalizers", Value::Array(items)) => wrong(items.iter().find(odd)?, &field, "string"),
            ("finalizers", other) => wrong(other, &field, "[]string"),
            ("generation" | "deletionGracePeriodSeconds", other) if !other.is_i64() => wrong(other, &field, "int64"),
            _ => None,
        }
    })
}

/// Joins errors like Kubernetes' aggregate errors: each once.
fn aggregate(problems: &[String]) -> String {
    let mut each: Vec<&str> = Vec::new();
    for problem in problems {
        if !each.contains(&problem.as_str()) {
            each.push(problem);
        }
    }
    if each.len() == 1 { each[0].to_string() } else { format!("[{}]", each.join(", ")) }
}
