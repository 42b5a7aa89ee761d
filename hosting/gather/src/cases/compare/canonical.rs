//! A mutation as it is compared.

use ring::digest::{SHA256, digest};
use serde_json::Value;
use switchboard_object::yaml;

use super::{Comparison, Strictness};
use crate::mutation::{Action, Mutation, Place};

/// Everything of a mutation that is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Canonical {
    pub key: Key,
    /// What is written, in the form it is shown in; that is also the one it is compared in, unless something is hidden in it.
    pub body: String,
    /// The digest of what is compared, where something is hidden in what is shown.
    hidden: Option<[u8; 32]>,
    /// With which options.
    pub options: String,
}

/// Who does what to which object, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub place: Place,
    pub action: Action,
    pub group: String,
    pub version: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub generate_name: String,
    pub patch_type: String,
    pub field_manager: String,
    pub controller: String,
}

impl Canonical {
    pub fn of(mutation: &Mutation, how: Comparison<'_>) -> Self {
        let key = Key {
            place: mutation.place,
            action: mutation.action,
            group: mutation.group.clone(),
            version: mutation.version.clone(),
            resource: mutation.resource.clone(),
            subresource: mutation.subresource.clone(),
            namespace: mutation.namespace.clone(),
            name: mutation.name.clone(),
            generate_name: mutation.generate_name.clone(),
            patch_type: mutation.patch_type.clone(),
            field_manager: mutation.field_manager.clone(),
            controller: mutation.controller_instance_name.clone(),
        };
        let (body, hidden) = body(mutation, how);
        Self { key, body, hidden, options: options(mutation, how.strictness) }
    }

    /// Whether they differ in what is not shown.
    pub fn differs_hidden(&self, other: &Self) -> bool {
        self.body == other.body && self.hidden != other.hidden
    }

    /// As differences name it: `Management: Apply configmaps/shop/web by web-Config`.
    pub fn name(&self) -> String {
        let Key { place, action, group, resource, namespace, name, generate_name, .. } = &self.key;
        let mut text = format!("{place}: {action} {resource}");
        for (sign, part) in
            [('.', group), ('/', namespace), ('/', &format!("{name}{generate_name}")), ('/', &self.key.subresource)]
        {
            if !part.is_empty() {
                text.push(sign);
                text.push_str(part);
            }
        }
        for (word, part) in
            [("by", &self.key.controller), ("as", &self.key.field_manager), ("with", &self.key.patch_type)]
        {
            if !part.is_empty() {
                text.push_str(&format!(" {word} {part}"));
            }
        }
        text
    }
}

/// What is shown, and the digest of what is compared where that is something else.
fn body(mutation: &Mutation, how: Comparison<'_>) -> (String, Option<[u8; 32]>) {
    let raw = || String::from_utf8_lossy(&mutation.body).into_owned();
    let Ok(read) = mutation.body_value() else {
        return if is_secret(mutation) { hide(&mutation.body) } else { (raw(), None) };
    };
    let mut value = read.clone();
    how.masks.iter().for_each(|mask| mask.apply(mutation, &mut value));
    let compared = if how.strictness == Strictness::Bytes && value == read {
        raw()
    } else {
        if how.strictness == Strictness::Semantic && !mutation.action.is_patch() {
            without_empty(&mut value, matches!(mutation.action, Action::Create | Action::Update));
        }
        yaml::to_string(&value)
    };
    if !is_secret(mutation) {
        return (compared, None);
    }
    hide_values(&mut value);
    (yaml::to_string(&value), Some(digest_of(compared.as_bytes())))
}

/// Nothing of it can be shown: nobody knows where in it the values are.
fn hide(body: &[u8]) -> (String, Option<[u8; 32]>) {
    (format!("<hidden {}>\n", short(body)), Some(digest_of(body)))
}

fn options(mutation: &Mutation, strictness: Strictness) -> String {
    let raw = String::from_utf8_lossy(&mutation.options).into_owned();
    match (strictness, mutation.options_value()) {
        (Strictness::Semantic, Ok(Value::Null)) => String::new(),
        (Strictness::Semantic, Ok(value)) => yaml::to_string(&value),
        _ => raw,
    }
}

/// Takes out what old clients write for nothing: `creationTimestamp: null`, and the empty status of a new object. In a patch
/// a null removes a field, so patches are left alone.
fn without_empty(value: &mut Value, whole: bool) {
    if whole && let Some(fields) = value.as_object_mut() {
        fields.retain(|name, field| name != "status" || field.as_object().is_none_or(|status| !status.is_empty()));
    }
    drop_nulls(value);
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn is_secret(mutation: &Mutation) -> bool {
    mutation.group.is_empty() && mutation.resource == "secrets"
}

/// A secret value is shown by its digest: differences are printed, and printed things are kept.
fn hide_values(body: &mut Value) {
    let hide = |value: &mut Value| *value = format!("<hidden {}>", short(value.to_string().as_bytes())).into();
    // A JSON patch is a list of steps.
    for step in body.as_array_mut().into_iter().flatten() {
        let of_metadata = step["path"].as_str().is_some_and(|path| path.starts_with("/metadata/"));
        step.get_mut("value").filter(|_| !of_metadata).into_iter().for_each(hide);
    }
    for section in ["data", "stringData"] {
        let fields = body.get_mut(section).and_then(Value::as_object_mut);
        fields.into_iter().flat_map(|fields| fields.values_mut()).for_each(hide);
    }
}

fn digest_of(bytes: &[u8]) -> [u8; 32] {
    let mut whole = [0; 32];
    whole.copy_from_slice(digest(&SHA256, bytes).as_ref());
    whole
}

fn short(bytes: &[u8]) -> String {
    digest_of(bytes).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
