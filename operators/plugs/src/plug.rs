//! The operator of plugs: one unit for each, from its first sight until what it made was taken apart.
//!
//! ```text
//!            ┌────────────── socket goes, changes, withdraws ──────────────┐
//!            ▼                                                              │
//!  created ─▶ waiting ─▶ coupled: plug, socket ─▶ results ─▶ steady ─▶ decoupled: plug, socket
//!                                       ▲                     │                │
//!                                       └──── updated ◀── content changed      └─▶ deleted
//! ```
//!
//! # Guarantees
//! - Every event tells the plug's side before the socket's. // test: guarantees_the_plug_is_told_first
//! - An event whose steps were all taken is not told again, whatever restarts. // test: guarantees_a_restart_tells_nothing
//! - Nothing is made that the record does not know of before. // test: guarantees_what_is_made_was_recorded

mod authorized_reader;
mod binding;
mod calls;
mod decoupling;
mod finalize;
mod halt;
mod integration;
mod legacy_record;
mod objects;
mod redaction;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::operator::{
    AccessRule, DecideError, Declaration, ExternalAdapter, ExternalOperator, Operator, Unit, Units,
};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::{ExternalClient, View};

use crate::apparatus::ApparatusCaller;
use crate::coupling::{SECRETS, from_secret, record_name};
use crate::model::{PLUGS, Plug, PlugMeta};

pub(crate) use calls::RetryBudget;
pub use calls::{END_CALL_TIMEOUT, END_CALL_TRIES};
use run::{ExternalAccess, PlugRun};
pub(crate) use run::{NAMESPACES, now};

/// How the operators of this crate behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlugOptions {
    /// A socket that does not say who may use it is closed to other namespaces.
    pub strict: bool,
    /// The namespace of records. What stands in them is believed, so nobody else may write Secrets there.
    pub namespace: Arc<str>,
}

/// The namespace of records unless another is named: it is on every cluster, and no user's.
pub const DEFAULT_NAMESPACE: &str = "kube-system";

impl PlugOptions {
    /// As the settings of a configuration say; what they do not say is as it is by default.
    pub fn of(settings: &Value) -> Self {
        let records_namespace = settings["namespace"].as_str().map(Arc::from);
        Self {
            strict: settings["strict"] == true,
            namespace: records_namespace.unwrap_or_else(|| Self::default().namespace),
        }
    }

    /// The same as settings, for records; null when nothing is but as it is by default.
    pub(crate) fn settings(&self) -> Value {
        match *self == Self::default() {
            true => Value::Null,
            false => json!({"namespace": &*self.namespace, "strict": self.strict}),
        }
    }
}

impl Default for PlugOptions {
    fn default() -> Self {
        Self { strict: false, namespace: Arc::from(DEFAULT_NAMESPACE) }
    }
}

/// The operator of plugs.
pub struct PlugOperator {
    options: PlugOptions,
    caller: ApparatusCaller,
}

impl PlugOperator {
    /// With these options.
    pub fn new(options: PlugOptions) -> Self {
        Self { options, caller: ApparatusCaller::default() }
    }

    /// As the kernel hosts it.
    pub fn operator(options: PlugOptions) -> Arc<dyn Operator> {
        Arc::new(ExternalAdapter(Self::new(options)))
    }
}

impl ExternalOperator for PlugOperator {
    fn name(&self) -> &str {
        "plugs"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([AccessRule::every_kind()]),
            outputs: BTreeSet::from([AccessRule::every_kind()]),
            service_account: None,
            units: Units::Each {
                cluster_type: ClusterType::Configuration,
                resource: PLUGS,
                selection: Selection::all(),
            },
        }
    }

    fn call(&self, request: &Value) -> Result<Value, String> {
        self.caller.reach(request)
    }

    fn has_side_effects(&self, request: &Value) -> bool {
        ApparatusCaller::acts(request)
    }

    fn settings(&self) -> Value {
        self.options.settings()
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &ExternalClient<'_>) -> Result<Plan, DecideError> {
        let (namespace, name) = (unit.namespace(), unit.name());
        let access = ExternalAccess { outside, caller: &self.caller };
        let object = view.get(&PLUGS, namespace, name)?.map(|object| object.value());
        let records_namespace = &self.options.namespace;
        let secret = view.get(&SECRETS, records_namespace, &record_name(namespace, name))?.map(|secret| secret.value());
        let Some(object) = object else {
            let Some(secret) = secret else { return Ok(Plan::nothing()) };
            // Somebody took the finalizer away: what was recorded is taken apart all the same.
            return match from_secret(&secret) {
                Ok(record) => PlugRun::orphaned(self.options.clone(), view, access, record, secret).finalize(),
                Err(_) => Ok(Plan::nothing()),
            };
        };
        let meta = PlugMeta::of(&object);
        if meta.is_deleting && !meta.has_finalizer {
            return Ok(Plan::nothing());
        }
        let run = match PlugRun::begin(self.options.clone(), view, access, object.clone(), &meta, secret) {
            Ok(run) => run,
            // What cannot be read is no reason to keep anybody.
            Err(error) if meta.is_deleting => {
                return Ok(PlugRun::abandon(view, &object, &meta, &error, records_namespace));
            }
            Err(error) => return Ok(PlugRun::unreadable(view, object, &meta, &error.to_string())),
        };
        if meta.is_deleting {
            return run.finalize();
        }
        match Plug::read(&object) {
            Ok(plug) => run.reconcile(&plug),
            Err(error) => run.reject(&error.to_string()),
        }
    }
}
