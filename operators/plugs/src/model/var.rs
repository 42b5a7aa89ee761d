//! Fields of other objects.

use super::field::{ModelError, SpecField};

/// A named field of another object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Name of the value in templates.
    pub name: String,
    /// Reference to the object.
    pub object: ObjectRef,
    /// Path of the field; `metadata.name` by default, as in kustomize.
    pub field_path: String,
    /// Default value if the field is absent.
    pub default: Option<String>,
    /// Path of the var in the spec, such as `spec.vars[0]`.
    pub path: String,
}

/// Reference to an object by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRef {
    /// `apiVersion` of the object, composed of `group` and `version` if those are specified instead.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Namespace of the object; the owner's namespace if empty.
    pub namespace: String,
    /// Template that renders the name.
    pub template_name: String,
    /// Template that renders the namespace.
    pub template_namespace: String,
}

impl Var {
    pub(super) fn read(field: &SpecField<'_>) -> Result<Self, ModelError> {
        let objref = field.at("objref");
        let path = field.at("fieldref").at("fieldPath").non_empty_text()?;
        let text = |name: &str| objref.at(name).text().map(Option::unwrap_or_default);
        let object = ObjectRef {
            api_version: api_version(&objref)?,
            kind: objref.at("kind").required_text("the kind of the object to read")?,
            name: text("name")?,
            namespace: text("namespace")?,
            template_name: text("templateName")?,
            template_namespace: text("templateNamespace")?,
        };
        if object.name.is_empty() && object.template_name.is_empty() {
            return Err(objref.at("name").error("is missing: set name or templateName"));
        }
        Ok(Self {
            name: field.at("name").required_text("the name of the value in templates")?,
            object,
            field_path: path.unwrap_or_else(|| "metadata.name".to_string()),
            default: field.at("default").text()?,
            path: field.path().to_string(),
        })
    }
}

/// Returns `apiVersion`, or a value composed of `group` and `version`; `v1` by default.
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
