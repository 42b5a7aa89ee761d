//! `DeleteOptions`, from the body or, without a body, from the query.

use serde::Deserialize;
use switchboard_object::Value;
use switchboard_object::field::FieldError;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use super::list::invalid_options;
use super::query::UrlQuery;
use super::write::check_dry_run;

/// Propagation policy for dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents are deleted afterwards.
    Background,
    /// Dependents are deleted first.
    Foreground,
    /// Dependents stay.
    Orphan,
}

/// Options of a deletion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteOptions {
    /// Whether `dryRun=All` is set.
    pub dry_run: bool,
    /// `gracePeriodSeconds`.
    pub grace_period_seconds: Option<i64>,
    /// `propagationPolicy`.
    pub propagation: Option<Propagation>,
    /// `orphanDependents`, the deprecated form.
    pub orphan_dependents: Option<bool>,
    /// `preconditions.uid`.
    pub uid: Option<String>,
    /// `preconditions.resourceVersion`.
    pub resource_version: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeleteOptionsBody {
    dry_run: Option<Vec<String>>,
    grace_period_seconds: Option<i64>,
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    preconditions: Option<PreconditionsBody>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PreconditionsBody {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl DeleteOptions {
    /// Reads the options of a decoded body.
    pub fn from_body(body: Value) -> Result<Self, Status> {
        let kind = body.get("kind").and_then(Value::as_str).unwrap_or_default();
        if !kind.is_empty() && kind != "DeleteOptions" {
            let version = body.get("apiVersion").and_then(Value::as_str).filter(|v| !v.is_empty());
            return Err(Status::bad_request(format!(
                "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
                quote(kind),
                quote(version.unwrap_or("meta.k8s.io/v1"))
            )));
        }
        let given = serde_json::from_value(body).map_err(|e| Status::bad_request(e.to_string()))?;
        Self::check(given)
    }

    /// Reads the options of the query.
    pub fn from_query(query: &UrlQuery) -> Result<Self, Status> {
        let dry_run = query.all("dryRun");
        Self::check(DeleteOptionsBody {
            dry_run: Some(dry_run.into_iter().map(Into::into).collect()),
            grace_period_seconds: query.number("gracePeriodSeconds")?,
            propagation_policy: query.get("propagationPolicy").filter(|p| !p.is_empty()).map(Into::into),
            orphan_dependents: query.flag("orphanDependents"),
            preconditions: None,
        })
    }

    fn check(given: DeleteOptionsBody) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let policy = given.propagation_policy.as_deref();
        if let (Some(_), Some(policy)) = (given.orphan_dependents, policy) {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid("propagationPolicy", policy, why));
        }
        let propagation = match policy {
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            None => None,
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported("propagationPolicy", other, &supported));
                None
            }
        };
        let dry_run = given.dry_run.unwrap_or_default();
        errors.extend(check_dry_run(&dry_run.iter().map(String::as_str).collect::<Vec<_>>()));
        if !errors.is_empty() {
            return Err(invalid_options("DeleteOptions", &errors));
        }
        let preconditions = given.preconditions.unwrap_or_default();
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            grace_period_seconds: given.grace_period_seconds,
            propagation,
            orphan_dependents: given.orphan_dependents,
            uid: preconditions.uid,
            resource_version: preconditions.resource_version,
        })
    }
}
