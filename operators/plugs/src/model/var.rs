//! Fields of other objects.

use super::field::{ModelError, SpecField};

/// A field of another object, by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// The name templates know it by.
    pub name: String,
    /// Which object.
    pub object: ObjectRef,
    /// Which field; `metadata.name` when not said, as in kustomize.
    pub field_path: String,
    /// What it is when the field is absent.
    pub default: Option<String>,
    /// Where it is written, such as `spec.vars[0]`.
    pub path: String,
}

/// An object by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRef {
    /// Its `apiVersion`, made of `group` and `version` when those are given instead.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace; that of the owner when empty.
    pub namespace: String,
    /// A template that gives the name.
    pub template_name: String,
    /// A template that gives the namespace.
    pub template_namespace: String,
}

impl Var {
    pub(super) fn read(field: &SpecField<'_>) -> Result<Self, ModelError> {
        let objref = field.at("objref");
        let path = field.at("fieldref").at("fieldPath").non_empty_text()?;
        let text = |name: &str| objref.at(name).text().map(Option::unwrap_or_default);
        let object = ObjectRef {
            api_version: api_version(&objref)?,
            kind: objref.at("kind").required_text("says which kind to read")?,
            name: text("name")?,
            namespace: text("namespace")?,
            template_name: text("templateName")?,
            template_namespace: text("templateNamespace")?,
        };
        if object.name.is_empty() && object.template_name.is_empty() {
            return Err(objref.at("name").error("is missing: give name or templateName"));
        }
        Ok(Self {
            name: field.at("name").required_text("is how templates name the value")?,
            object,
            field_path: path.unwrap_or_else(|| "metadata.name".to_string()),
            default: field.at("default").text()?,
            path: field.path().to_string(),
        })
    }
}

/// `apiVersion`, or `group` and `version`; `v1` when nothing is said.
pub(super) fn api_version(field: &SpecField<'_>) -> Result<String, ModelError> {
    if let Some(given) = field.at("apiVersion").non_empty_text()? {
        return Ok(given);
    }
    let version = field.at("version").non_empty_text()?.unwrap_or_else(|| "v1".to_string());
    Ok(match field.at("group").non_empty_text()? {
        Some(group) => format!("{group}/{version}"),
        None => version,
    })
}
