//! The metadata file of a mutation.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_object::name::path_segment;
use switchboard_object::yaml;

use super::{Action, Mutation, NameKey};

/// What stands in a metadata file, keys as the original writes them.
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
    yaml::to_string(&metadata)
}

/// What a metadata file says. Keys are read in any case and unknown ones passed over, as Go does.
pub(super) struct Metadata {
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

pub(super) fn read(text: &str) -> Result<Metadata, String> {
    let document = yaml::read(text).map_err(|error| error.message)?;
    let Value::Object(_) = document.value else { return Err("it is no object".into()) };
    let fields = Fields::of(&document.value);
    let of = fields.0.get("resourcetype").map_or_else(|| Fields(BTreeMap::new()), |of| Fields::of(of));
    let resource = of.text("resource");
    if resource.is_empty() {
        return Err("it has no resourceType.Resource".into());
    }
    let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
    // The object's name stands under `mame` in files of older libraries.
    let name = Some(fields.text("name")).filter(|name| !name.is_empty()).unwrap_or_else(|| fields.text("mame"));
    let (group, version) = (of.text("group"), of.text("version"));
    // A type is looked up by its parts, and a subresource is put at the end of a path: neither may lead elsewhere.
    for (what, text) in
        [("Group", &*group), ("Version", &*version), ("Resource", resource), ("subresource", subresource)]
    {
        if let Some(why) = path_segment(text).first() {
            return Err(format!("its {what} {text:?} {why}"));
        }
    }
    Ok(Metadata {
        action: Action::named(&fields.text("action")),
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

struct Fields<'a>(BTreeMap<String, &'a Value>);

impl<'a> Fields<'a> {
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
