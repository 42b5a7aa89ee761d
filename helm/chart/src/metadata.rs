//! Metadata of a chart in `Chart.yaml`.

use crate::version_range::is_version;
use switchboard_object::quote::quote;
use switchboard_object::{Map, Value};

use crate::typed::{DecodeError, StructFields, mismatch};

/// Older format of `Chart.yaml`, with dependencies in `requirements.yaml`.
pub const V1: &str = "v1";

/// Content of `Chart.yaml`.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // The fields have the names that Helm gives them.
pub struct ChartMetadata {
    pub name: String,
    pub home: String,
    pub sources: Vec<String>,
    pub version: String,
    pub description: String,
    pub keywords: Vec<String>,
    pub maintainers: Vec<Option<Maintainer>>,
    pub icon: String,
    pub api_version: String,
    pub condition: String,
    pub tags: String,
    pub app_version: String,
    pub deprecated: bool,
    pub annotations: Option<Vec<(String, String)>>,
    pub kube_version: String,
    pub dependencies: Option<Vec<Dependency>>,
    pub kind: String,
    /// Whether a dependency is null, which Helm rejects.
    null_dependency: bool,
}

/// Maintainer of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Maintainer {
    pub name: String,
    pub email: String,
    pub url: String,
}

/// Dependency of a chart on another one.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    pub repository: String,
    pub condition: String,
    pub tags: Vec<String>,
    pub enabled: bool,
    pub import_values: Vec<Value>,
    pub alias: String,
}

/// Error for a `Chart.yaml` that Helm rejects, with Helm's text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("validation: {0}")]
pub struct ValidationError(String);

fn refused<T>(text: impl Into<String>) -> Result<T, ValidationError> {
    Err(ValidationError(text.into()))
}

impl ChartMetadata {
    /// Reads fields and overrides those already set: `requirements.yaml` extends `Chart.yaml`.
    ///
    /// # Errors
    /// If a field has the wrong type.
    pub fn read(&mut self, document: &Value) -> Result<(), DecodeError> {
        let map = match document {
            Value::Null => return Ok(()),
            Value::Object(map) => map,
            other => return Err(mismatch(other, "Go value", "v2.Metadata")),
        };
        let mut fields = StructFields::new(map, "Metadata");
        let mut text = |slot: &mut String, name: &str| {
            if fields.get(name).is_some() {
                *slot = fields.text(name);
            }
        };
        text(&mut self.name, "name");
        text(&mut self.home, "home");
        text(&mut self.version, "version");
        text(&mut self.description, "description");
        text(&mut self.icon, "icon");
        text(&mut self.api_version, "apiVersion");
        text(&mut self.condition, "condition");
        text(&mut self.tags, "tags");
        text(&mut self.app_version, "appVersion");
        text(&mut self.kube_version, "kubeVersion");
        text(&mut self.kind, "type");
        if fields.get("sources").is_some() {
            self.sources = fields.texts("sources");
        }
        if fields.get("keywords").is_some() {
            self.keywords = fields.texts("keywords");
        }
        if fields.get("deprecated").is_some() {
            self.deprecated = fields.flag("deprecated");
        }
        if let Some(annotations) = fields.text_map("annotations") {
            self.annotations = Some(annotations);
        }
        if let Some(list) = fields.list("maintainers", "[]*v2.Maintainer") {
            self.maintainers = list.iter().map(|item| maintainer(item, &mut fields)).collect();
        }
        if let Some(list) = fields.list("dependencies", "[]*v2.Dependency") {
            self.null_dependency = list.iter().any(Value::is_null);
            self.dependencies = Some(list.iter().filter_map(|item| dependency(item, &mut fields)).collect());
        }
        fields.finish()
    }

    /// Checks and sanitizes the metadata.
    ///
    /// # Errors
    /// If Helm would not load the chart.
    pub fn validate(&mut self) -> Result<(), ValidationError> {
        let texts = [&mut self.name, &mut self.description, &mut self.home, &mut self.icon, &mut self.condition];
        let more = [&mut self.tags, &mut self.app_version, &mut self.kube_version];
        let lists = self.sources.iter_mut().chain(&mut self.keywords);
        texts.into_iter().chain(more).chain(lists).for_each(sanitize);
        if self.api_version.is_empty() {
            return refused("chart.metadata.apiVersion is required");
        }
        self.check_name()?;
        if self.version.is_empty() {
            return refused("chart.metadata.version is required");
        }
        if !is_version(&self.version) {
            return refused(format!("chart.metadata.version {} is invalid", quote(&self.version)));
        }
        if !matches!(self.kind.as_str(), "" | "application" | "library") {
            return refused("chart.metadata.type must be application or library");
        }
        for maintainer in &mut self.maintainers {
            let Some(person) = maintainer else {
                return refused("maintainers must not contain empty or null nodes");
            };
            [&mut person.name, &mut person.email, &mut person.url].into_iter().for_each(sanitize);
        }
        self.check_dependencies()
    }

    fn check_name(&self) -> Result<(), ValidationError> {
        let name = &self.name;
        if name.is_empty() {
            return refused("chart.metadata.name is required");
        }
        if name == "." || name == ".." {
            return refused(format!("chart.metadata.name {} is not allowed", quote(name)));
        }
        if name.contains('/') {
            return refused(format!("chart.metadata.name {} is invalid", quote(name)));
        }
        Ok(())
    }

    fn check_dependencies(&mut self) -> Result<(), ValidationError> {
        if self.null_dependency {
            return refused("dependencies must not contain empty or null nodes");
        }
        let mut seen = std::collections::BTreeSet::new();
        for dependency in self.dependencies.iter_mut().flatten() {
            let texts = [&mut dependency.name, &mut dependency.version, &mut dependency.repository];
            texts.into_iter().chain([&mut dependency.condition]).chain(&mut dependency.tags).for_each(sanitize);
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if !dependency.alias.chars().all(legal) {
                return refused(format!(
                    "dependency {} has disallowed characters in the alias",
                    quote(&dependency.name)
                ));
            }
            let key = dependency.effective_name();
            if !seen.insert(key.to_string()) {
                return refused(format!("more than one dependency with name or alias {}", quote(key)));
            }
        }
        Ok(())
    }

    /// Whether the chart is a library, which only provides partials for other charts.
    pub fn is_library(&self) -> bool {
        self.kind.eq_ignore_ascii_case("library")
    }
}

impl Dependency {
    /// Returns the alias, or else the name.
    pub fn effective_name(&self) -> &str {
        if self.alias.is_empty() { &self.name } else { &self.alias }
    }
}

fn object<'a>(item: &'a Value, fields: &mut StructFields<'_>, wanted: &str, place: &str) -> Option<&'a Map> {
    match item {
        Value::Null => None,
        Value::Object(map) => Some(map),
        other => {
            fields.record_error(mismatch(other, &format!("Go struct field Metadata.{place}"), wanted));
            None
        }
    }
}

fn maintainer(item: &Value, fields: &mut StructFields<'_>) -> Option<Maintainer> {
    let map = object(item, fields, "v2.Maintainer", "maintainers")?;
    let mut own = StructFields::new(map, "Maintainer.maintainers");
    let read = Maintainer { name: own.text("name"), email: own.text("email"), url: own.text("url") };
    if let Err(error) = own.finish() {
        fields.record_error(error);
    }
    Some(read)
}

fn dependency(item: &Value, fields: &mut StructFields<'_>) -> Option<Dependency> {
    let map = object(item, fields, "v2.Dependency", "dependencies")?;
    let mut own = StructFields::new(map, "Dependency.dependencies");
    let read = Dependency {
        name: own.text("name"),
        version: own.text("version"),
        repository: own.text("repository"),
        condition: own.text("condition"),
        tags: own.texts("tags"),
        enabled: own.flag("enabled"),
        import_values: own.list("import-values", "[]interface {}").unwrap_or_default().to_vec(),
        alias: own.text("alias"),
    };
    if let Err(error) = own.finish() {
        fields.record_error(error);
    }
    Some(read)
}

/// Replaces every space character by a plain space and removes unprintable characters.
fn sanitize(text: &mut String) {
    if text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return;
    }
    let printable = |c: char| !c.is_control() && c != '\u{feff}' && c != '\u{200b}';
    *text =
        text.chars().filter_map(|c| if c.is_whitespace() { Some(' ') } else { printable(c).then_some(c) }).collect();
}
