//! Steps of every write, in kube-apiserver's order: managed fields, admission, preparation, validation.

use switchboard_object::Value;
use switchboard_object::apply::{self, WriteOrigin};
use switchboard_object::field::FieldError;
use switchboard_object::schema::Definitions;
use switchboard_object::status::Status;

use super::create::match_namespace;
use super::list::parse_revision;
use super::{ApiCall, namespace, owners};
use crate::request::write::WriteOptions;

const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

impl ApiCall {
    /// Records the owners of the fields of `new`.
    pub(crate) fn record_managers(&self, live: Option<&Value>, new: &mut Value, options: &WriteOptions) {
        let manager = options.manager(self.user_agent());
        let now = self.inner.clock_and_rng.now_text();
        let definitions = Definitions::built_in();
        let api_version = self.resource.kind.api_version();
        let writer = self.writer(&manager, &api_version, &now);
        let versions = self.versions();
        apply::update(live, new, writer, self.typed(&definitions, &versions), &self.reset_fields());
    }

    /// Returns the origin of this write.
    pub(super) fn writer<'a>(&'a self, manager: &'a str, api_version: &'a str, now: &'a str) -> WriteOrigin<'a> {
        WriteOrigin { manager, api_version, kind: &self.resource.kind.kind, subresource: &self.info.subresource, now }
    }

    /// Returns the `User-Agent`.
    pub(super) fn user_agent(&self) -> &str {
        self.headers.get(http::header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// Runs the steps of a decoded and defaulted new object up to admission, which do not depend on a generated name.
    pub(super) fn admit_new(&self, object: &mut Value, options: &WriteOptions) -> Result<(), Status> {
        owners::dedup(object, &self.warnings);
        self.record_managers(None, object, options);
        self.admit_prepared(object)
    }

    /// Runs admission for a new object whose managers are recorded.
    pub(super) fn admit_prepared(&self, object: &mut Value) -> Result<(), Status> {
        let name = ApiCall::metadata(object, "name");
        namespace::check_create(self, name)?;
        if self.resource.custom.as_ref().is_some_and(|custom| custom.terminating) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(Status::forbidden(&self.resource.group_resource(), name, why));
        }
        self.with_write_context(|env| self.behavior().admit(object, None, env))
    }

    /// Runs the last steps of a create, once name and uid are set.
    pub(super) fn finish_new(&self, object: &mut Value) -> Result<(), Status> {
        self.check_grants(object, None)?;
        let behaviour = self.behavior();
        self.with_write_context(|env| behaviour.prepare_create(object, env))?;
        self.refuse_invalid(object, &behaviour.validate_create(object))?;
        behaviour.warnings(object, None).into_iter().for_each(|w| self.warnings.add(w));
        self.with_write_context(|env| behaviour.review(object, None, env))?;
        Ok(())
    }

    /// Runs all steps of an update except the first: `new` is decoded, defaulted, and its managers are recorded.
    pub(super) fn finish_update(&self, live: &Value, mut new: Value) -> Result<Value, Status> {
        owners::dedup(&mut new, &self.warnings);
        namespace::check_update(self)?;
        let (behaviour, subresource) = (self.behavior(), self.info.subresource.as_str());
        self.with_write_context(|env| behaviour.admit(&mut new, Some(live), env))?;
        self.check_grants(&new, Some(live))?;
        self.check_revision(live, &mut new)?;
        match_namespace(self, &mut new)?;
        self.with_write_context(|env| behaviour.prepare_update(&mut new, live, subresource, env))?;
        self.refuse_invalid(&new, &behaviour.validate_update(&new, live, subresource))?;
        ignore_times_of_managers(live, &mut new);
        if subresource.is_empty() {
            behaviour.warnings(&new, Some(live)).into_iter().for_each(|w| self.warnings.add(w));
            self.with_write_context(|env| behaviour.review(&new, Some(live), env))?;
        }
        Ok(new)
    }

    /// Checks that an update has the stored revision, or none where that is allowed.
    fn check_revision(&self, live: &Value, new: &mut Value) -> Result<(), Status> {
        let name = &self.info.name;
        let given = ApiCall::metadata(new, "resourceVersion").to_string();
        let asked = if given.is_empty() {
            0
        } else {
            parse_revision(&given).map_err(|why| Status::new(500, "", why.number()))?
        };
        let current = ApiCall::metadata(live, "resourceVersion");
        if asked == 0 {
            if !self.behavior().allows_unconditional_update() {
                let mut kind = self.resource.kind.clone();
                kind.kind = self.resource.plural.to_string();
                let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
                return Err(Status::invalid(&kind, name, &[error]));
            }
            new["metadata"]["resourceVersion"] = current.into();
        } else if given != current {
            return Err(Status::conflict(&self.resource.group_resource(), name, MODIFIED));
        }
        Ok(())
    }

    /// Returns the 422 with all errors, if there are any.
    pub(super) fn refuse_invalid(&self, object: &Value, errors: &[FieldError]) -> Result<(), Status> {
        if errors.is_empty() {
            return Ok(());
        }
        let kind = self.behavior().error_kind(&self.resource.kind);
        Err(Status::invalid(&kind, ApiCall::metadata(object, "name"), errors))
    }
}

/// Restores the times of managed fields if nothing else changed, so that such a write is no change.
fn ignore_times_of_managers(live: &Value, new: &mut Value) {
    let timeless = |object: &Value| -> Vec<Value> {
        let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
        entries
            .cloned()
            .map(|mut entry| {
                entry.as_object_mut().map(|e| e.remove("time"));
                entry
            })
            .collect()
    };
    if timeless(live) != timeless(new) {
        return;
    }
    let mut same = new.clone();
    same["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
    if live["metadata"].get("managedFields").is_none() {
        same["metadata"].as_object_mut().map(|m| m.remove("managedFields"));
    }
    if same == *live {
        *new = same;
    }
}
