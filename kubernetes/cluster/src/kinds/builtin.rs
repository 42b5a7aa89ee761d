//! The one [`KindStrategy`] behind all built-in kinds: properties from `data/kinds.txt`, and [`KindRules`] for special
//! cases.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::kind::{GroupVersion, GroupVersionKind};
use switchboard_object::status::Status;

use super::{KindStrategy, WriteContext, defaults, go_struct, rules, subresource};
use crate::metadata::{self, NameRule};

/// Special rules of a kind; the default ones do nothing.
#[derive(Clone, Copy)]
pub(super) struct KindRules {
    pub admit: fn(&mut Value, Option<&Value>, &WriteContext<'_>) -> Result<(), Status>,
    pub review: fn(&Value, Option<&Value>, &WriteContext<'_>) -> Result<(), Status>,
    pub create: fn(&mut Value, &WriteContext<'_>) -> Result<(), Status>,
    pub update: fn(&mut Value, &Value, &WriteContext<'_>) -> Result<(), Status>,
    pub status: fn(&mut Value, &Value, &WriteContext<'_>),
    /// Validation of a new object, without metadata.
    pub validate: fn(&Value) -> Vec<FieldError>,
    /// Validation of an update, without metadata.
    pub validate_update: fn(&Value, &Value) -> Vec<FieldError>,
    pub validate_status: fn(&Value, &Value) -> Vec<FieldError>,
    /// Whether an update is also validated like a new object, including metadata.
    pub whole: bool,
    pub warnings: fn(&Value, Option<&Value>) -> Vec<String>,
}

impl KindRules {
    pub(super) const NONE: KindRules = KindRules {
        admit: |_, _, _| Ok(()),
        review: |_, _, _| Ok(()),
        create: |_, _| Ok(()),
        update: |_, _, _| Ok(()),
        status: |_, _, _| {},
        validate: |_| Vec::new(),
        validate_update: |_, _| Vec::new(),
        validate_status: |_, _| Vec::new(),
        whole: false,
        warnings: |_, _| Vec::new(),
    };
}

/// Built-in kind.
pub(super) struct BuiltinKind {
    definition: &'static str,
    names: NameRule,
    words: Vec<&'static str>,
    rules: KindRules,
}

static KINDS: LazyLock<HashMap<GroupVersionKind, BuiltinKind>> = LazyLock::new(|| {
    include_str!("../../data/kinds.txt").lines().filter(|l| !l.starts_with('#')).filter_map(line).collect()
});

/// Returns the built-in kind.
pub(super) fn find(kind: &GroupVersionKind) -> Option<&'static BuiltinKind> {
    KINDS.get(kind)
}

fn line(line: &'static str) -> Option<(GroupVersionKind, BuiltinKind)> {
    let mut words = line.split(' ');
    let group_version = GroupVersion::parse(words.next()?)?;
    let kind = words.next()?;
    let definition = words.next()?;
    let names = match words.next()? {
        "subdomain" => NameRule::Subdomain,
        "label" => NameRule::Label,
        _ => NameRule::PathSegment,
    };
    let rules = rules::of(definition);
    Some((group_version.kind(kind), BuiltinKind { definition, names, words: words.collect(), rules }))
}

impl BuiltinKind {
    fn is(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn namespaced(&self) -> bool {
        !self.is("cluster")
    }

    /// Whether an update from `old` to `new` increments the generation.
    fn changed(&self, new: &Value, old: &Value) -> bool {
        let ours = |field: &str| !matches!(field, "apiVersion" | "kind" | "metadata" | "status");
        let fields = go_struct::fields(self.definition).iter().map(|f| f.name).filter(|name| ours(name));
        let content = || fields.clone().any(|field| new.get(field) != old.get(field));
        (self.is("generation+annotations") && new["metadata"]["annotations"] != old["metadata"]["annotations"])
            || (self.is("generation+labels") && new["metadata"]["labels"] != old["metadata"]["labels"])
            || (!self.is("generation-first") && content())
    }

    fn count_generation(&self, new: &mut Value, old: &Value) {
        if self.counts_generation() && self.changed(new, old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            new["metadata"]["generation"] = json!(generation);
        }
    }

    fn counts_generation(&self) -> bool {
        self.words.iter().any(|w| w.starts_with("generation"))
    }

    /// Validates finalizers. Core kinds require qualified names, or one of the three names that Kubernetes uses.
    fn finalizers(&self, object: &Value) -> Vec<FieldError> {
        const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
        if self.is("plain") {
            return Vec::new();
        }
        let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let odd = finalizers.enumerate().filter(|(_, f)| !f.contains('/') && !STANDARD.contains(f));
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        odd.map(|(i, f)| FieldError::invalid(format!("metadata.finalizers[{i}]"), f, detail)).collect()
    }

    /// Validates what every kind validates on an update.
    fn validate_any_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let (meta, was) = (&new["metadata"], &old["metadata"]);
        let mut errors = metadata::validate(meta, self.namespaced(), NameRule::PathSegment, "metadata");
        errors.extend(metadata::validate_update(meta, was, "metadata"));
        // The kind's own validation validates metadata again, so kube-apiserver lists the causes twice as well.
        if !self.is("light") {
            errors.extend(metadata::validate_update(meta, was, "metadata"));
            errors.extend(self.finalizers(new));
        }
        errors
    }
}

impl KindStrategy for BuiltinKind {
    fn name_rule(&self) -> NameRule {
        self.names
    }

    fn allow_create_on_update(&self) -> bool {
        self.is("upsert")
    }

    fn allow_unconditional_update(&self) -> bool {
        !self.is("conditional")
    }

    fn reset_fields(&self, subresource: &str) -> Vec<Vec<&'static str>> {
        match subresource {
            "" if self.is("status") || self.is("status-kept") => vec![vec!["status"]],
            "status" if self.is("status-only") => vec![vec!["spec"], vec!["metadata"]],
            "status" if self.definition == "api.apps.v1.Deployment" => vec![vec!["spec"], vec!["metadata", "labels"]],
            "status" => vec![vec!["spec"]],
            _ => Vec::new(),
        }
    }

    fn default(&self, object: &mut Value) {
        defaults::apply(self.definition, object);
    }

    fn admit(&self, object: &mut Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
        (self.rules.admit)(object, old, env)?;
        go_struct::normalize(self.definition, object);
        Ok(())
    }

    fn review(&self, object: &Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
        (self.rules.review)(object, old, env)
    }

    fn prepare_create(&self, object: &mut Value, env: &WriteContext<'_>) -> Result<(), Status> {
        if let (true, Some(map)) = (self.is("status"), object.as_object_mut()) {
            map.remove("status");
        }
        if self.counts_generation() && !self.is("generation-later") {
            object["metadata"]["generation"] = json!(1);
        }
        (self.rules.create)(object, env)?;
        // Objects read from storage are defaulted again.
        defaults::apply(self.definition, object);
        Ok(())
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, env: &WriteContext<'_>) -> Result<(), Status> {
        if self.is("status") || self.is("status-kept") {
            take(new, old, "status");
        }
        take_meta(new, old, "generation");
        (self.rules.update)(new, old, env)?;
        go_struct::normalize(self.definition, new);
        self.count_generation(new, old);
        metadata::keep_system_fields(new, old);
        Ok(())
    }

    fn prepare_status_update(&self, new: &mut Value, old: &Value, env: &WriteContext<'_>) {
        for field in go_struct::fields(self.definition).iter().map(|f| f.name) {
            if !matches!(field, "apiVersion" | "kind" | "metadata" | "status") {
                take(new, old, field);
            }
        }
        take_meta(new, old, "generation");
        if self.is("status-only") {
            for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
                take_meta(new, old, field);
            }
        }
        (self.rules.status)(new, old, env);
        go_struct::normalize(self.definition, new);
        metadata::keep_system_fields(new, old);
    }

    fn prepare_subresource_update(&self, subresource: &str, new: &mut Value, old: &Value, env: &WriteContext<'_>) {
        if !subresource::prepare(self.definition, subresource, new, old, env) {
            return self.prepare_status_update(new, old, env);
        }
        take_meta(new, old, "generation");
        go_struct::normalize(self.definition, new);
        self.count_generation(new, old);
        metadata::keep_system_fields(new, old);
    }

    fn validate_subresource_update(&self, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
        if subresource == "status" {
            return self.validate_status_update(new, old);
        }
        let mut errors = self.validate_any_update(new, old);
        errors.extend(subresource::validate(self.definition, subresource, new, old));
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = metadata::validate(&object["metadata"], self.namespaced(), self.names, "metadata");
        errors.extend(self.finalizers(object));
        errors.extend((self.rules.validate)(object));
        if errors.is_empty() {
            return metadata::validate(&object["metadata"], self.namespaced(), NameRule::PathSegment, "metadata");
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_any_update(new, old);
        if self.is("again") {
            errors.extend(metadata::validate(&new["metadata"], self.namespaced(), self.names, "metadata"));
            errors.extend((self.rules.validate)(new));
        }
        errors.extend((self.rules.validate_update)(new, old));
        if self.rules.whole {
            errors.extend(metadata::validate(&new["metadata"], self.namespaced(), self.names, "metadata"));
            errors.extend(self.finalizers(new));
            errors.extend((self.rules.validate)(new));
        }
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_any_update(new, old);
        errors.extend((self.rules.validate_status)(new, old));
        errors
    }

    fn error_kind(&self, kind: &GroupVersionKind) -> GroupVersionKind {
        match self.definition {
            "api.events.v1.Event" => GroupVersionKind::new("", "v1", "Event"),
            _ => kind.clone(),
        }
    }

    fn deprecation(&self) -> Option<&'static str> {
        match self.definition {
            "api.core.v1.Endpoints" => {
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
            }
            "api.core.v1.ComponentStatus" => Some("v1 ComponentStatus is deprecated in v1.19+"),
            _ => None,
        }
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        (self.rules.warnings)(new, old)
    }
}

/// Copies the old value of a field, or its absence, to the new object.
fn take(new: &mut Value, old: &Value, field: &str) {
    let Some(map) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => map.insert(field.to_string(), value.clone()),
        None => map.remove(field),
    };
}

fn take_meta(new: &mut Value, old: &Value, field: &str) {
    if let Some(metadata) = new.get_mut("metadata") {
        take(metadata, &old["metadata"], field);
    }
}
