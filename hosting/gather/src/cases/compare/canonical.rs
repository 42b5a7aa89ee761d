//! Canonical form of a mutation for comparison.

use ring::digest::{SHA256, digest};
use serde_json::Value;
use switchboard_object::yaml;

use super::{CompareOptions, Strictness};
use crate::mutation::{Action, Mutation, OutputCluster};

/// All compared parts of a mutation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CanonicalMutation {
    pub key: MutationKey,
    /// Body as it is printed. Unless a part is redacted, this is also the compared form.
    pub body: String,
    /// Digest of the compared body if the printed one is redacted.
    redacted_digest: Option<[u8; 32]>,
    /// Options of the request.
    pub options: String,
}

/// Identity of a write: author, action, object and method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MutationKey {
    pub place: OutputCluster,
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

impl CanonicalMutation {
    pub fn of(mutation: &Mutation, how: CompareOptions<'_>) -> Self {
        let key = MutationKey {
            place: mutation.cluster,
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
        Self { key, body, redacted_digest: hidden, options: options(mutation, how.strictness) }
    }

    /// Whether the bodies differ only in redacted parts.
    pub fn differs_in_redacted(&self, other: &Self) -> bool {
        self.body == other.body && self.redacted_digest != other.redacted_digest
    }

    /// Returns the name for differences: `Management: Apply configmaps/shop/web by web-Config`.
    pub fn name(&self) -> String {
        let MutationKey { place, action, group, resource, namespace, name, generate_name, .. } = &self.key;
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

/// Returns the printed body, and the digest of the compared body if the printed one is redacted.
fn body(mutation: &Mutation, how: CompareOptions<'_>) -> (String, Option<[u8; 32]>) {
    let raw = || String::from_utf8_lossy(&mutation.body).into_owned();
    let Ok(read) = mutation.body_value() else {
        return if is_secret(mutation) { redact(&mutation.body) } else { (raw(), None) };
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
    redact_values(&mut value);
    (yaml::to_string(&value), Some(digest_of(compared.as_bytes())))
}

/// Redacts the whole body, because the positions of the values in it are unknown.
fn redact(body: &[u8]) -> (String, Option<[u8; 32]>) {
    (format!("<redacted {}>\n", short(body)), Some(digest_of(body)))
}

fn options(mutation: &Mutation, strictness: Strictness) -> String {
    let raw = String::from_utf8_lossy(&mutation.options).into_owned();
    match (strictness, mutation.options_value()) {
        (Strictness::Semantic, Ok(Value::Null)) => String::new(),
        (Strictness::Semantic, Ok(value)) => yaml::to_string(&value),
        _ => raw,
    }
}

/// Removes empty fields that old clients write: `creationTimestamp: null`, and the empty status of a new object. In a
/// patch, a null removes a field, so patches stay unchanged.
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

/// Replaces the values of a Secret by their digests, because differences are printed and may be stored.
fn redact_values(body: &mut Value) {
    let hide = |value: &mut Value| *value = format!("<redacted {}>", short(value.to_string().as_bytes())).into();
    // A JSON patch is a list of operations.
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
