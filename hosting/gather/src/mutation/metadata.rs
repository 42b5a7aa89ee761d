//! Metadata file of a mutation.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_object::name::path_segment;
use switchboard_object::yaml;

use super::lossless::to_yaml;
use super::{Action, Mutation, NameKey};

/// Returns the content of a metadata file, with library-go's keys.
pub(super) fn text(mutation: &Mutation, key: NameKey) -> String {
    let resource = match mutation.subresource.as_str() {
        "" => mutation.resource.clone(),
        subresource => format!("{}/{subresource}", mutation.resource),
    };
    let mut metadata = json!({
        "action": mutation.action.to_string(),
        "controllerInstanceName": mutation.controller_instance_name,
        "generateName": mutation.generate_name,
        "resourceType": {"Group": mutation.group, "Resource": resource, "Version": mutation.version},
    });
    let optional = [
        ("fieldManager", &mutation.field_manager),
        ("namespace", &mutation.namespace),
        ("patchType", &mutation.patch_type),
    ];
    for (key, value) in optional.into_iter().filter(|(_, value)| !value.is_empty()) {
        metadata[key] = value.as_str().into();
    }
    for key in key.keys() {
        metadata[*key] = mutation.name.as_str().into();
    }
    to_yaml(&metadata)
}

/// Content of a metadata file. As in Go, keys are matched in any case and unknown ones are ignored.
pub(super) struct MutationMetadata {
    pub action: Option<Action>,
    pub group: String,
    pub version: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub generate_name: String,
    pub field_manager: String,
    pub patch_type: String,
    pub controller_instance_name: String,
}

pub(super) fn read(text: &str) -> Result<MutationMetadata, String> {
    let document = yaml::read(text).map_err(|error| error.message)?;
    let Value::Object(_) = document.value else { return Err("not an object".into()) };
    let fields = MetadataFields::of(&document.value);
    let of = fields.0.get("resourcetype").map_or_else(|| MetadataFields(BTreeMap::new()), |of| MetadataFields::of(of));
    let resource = of.text("resource");
    if resource.is_empty() {
        return Err("resourceType.Resource is missing".into());
    }
    let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
    // Older versions of library-go write the object's name as `mame`.
    let name = Some(fields.text("name")).filter(|name| !name.is_empty()).unwrap_or_else(|| fields.text("mame"));
    let (group, version) = (of.text("group"), of.text("version"));
    // The type is looked up by its parts, and the subresource is appended to a path, so neither may lead elsewhere.
    for (what, text) in
        [("Group", &*group), ("Version", &*version), ("Resource", resource), ("subresource", subresource)]
    {
        if let Some(why) = path_segment(text).first() {
            return Err(format!("its {what} {text:?} {why}"));
        }
    }
    Ok(MutationMetadata {
        action: Action::from_name(&fields.text("action")),
        group,
        version,
        resource: resource.into(),
        subresource: subresource.into(),
        namespace: fields.text("namespace"),
        name,
        generate_name: fields.text("generatename"),
        field_manager: fields.text("fieldmanager"),
        patch_type: fields.text("patchtype"),
        controller_instance_name: fields.text("controllerinstancename"),
    })
}

struct MetadataFields<'a>(BTreeMap<String, &'a Value>);

impl<'a> MetadataFields<'a> {
    fn of(value: &'a Value) -> Self {
        let fields = value.as_object().into_iter().flatten();
        Self(fields.map(|(key, value)| (key.to_lowercase(), value)).collect())
    }

    fn text(&self, key: &str) -> String {
        match self.0.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Bool(truth)) => truth.to_string(),
            _ => String::new(),
        }
    }
}
