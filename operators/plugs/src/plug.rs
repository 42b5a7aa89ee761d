//! Operator of plugs: one unit for each plug, from its creation until its objects are removed.
//!
//! ```text
//!            ┌──────── socket deleted or changed, consent withdrawn ────────┐
//!            ▼                                                              │
//!  created ─▶ waiting ─▶ coupled: plug, socket ─▶ results ─▶ steady ─▶ decoupled: plug, socket
//!                                       ▲                     │                │
//!                                       └──── updated ◀── content changed      └─▶ deleted
//! ```
//!
//! # Guarantees
//! - Every event notifies the plug's side before the socket's side. // test: guarantees_the_plug_is_told_first
//! - An event is not repeated after all its steps are complete, even across restarts. // test: guarantees_a_restart_tells_nothing
//! - No object is applied before the record contains it. // test: guarantees_what_is_made_was_recorded

mod authorized_reader;
mod binding;
mod calls;
mod decoupling;
mod finalize;
mod halt;
mod integration;
mod legacy_record;
mod objects;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;

use crate::apparatus::ApparatusCaller;
use crate::coupling::{SECRETS, from_secret, record_name};
use crate::model::{PLUGS, Plug, PlugMeta};
use crate::needed_kinds;

pub(crate) use authorized_reader::CONFIG_MAPS;
pub(crate) use calls::RetryBudget;
pub use calls::{END_CALL_TIMEOUT, END_CALL_TRIES};
use run::PlugRun;
pub(crate) use run::{NAMESPACES, now};

/// Options of the operators of this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlugOptions {
    /// Whether a socket without consent rules is closed to other namespaces.
    pub strict: bool,
    /// Namespace of records. Users must not have write access to Secrets there, because records are trusted.
    pub namespace: Arc<str>,
}

/// Default namespace of records. It exists on every cluster and belongs to no user.
pub const DEFAULT_NAMESPACE: &str = "kube-system";

impl PlugOptions {
    /// Reads options from the settings of a configuration, with defaults for missing fields.
    pub fn of(settings: &Value) -> Self {
        let records_namespace = settings["namespace"].as_str().map(Arc::from);
        Self {
            strict: settings["strict"] == true,
            namespace: records_namespace.unwrap_or_else(|| Self::default().namespace),
        }
    }

    /// Returns the options as settings for the journal; null if all options have their defaults.
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

/// Operator of plugs.
pub struct PlugOperator {
    options: PlugOptions,
    caller: ApparatusCaller,
}

impl PlugOperator {
    /// Creates the operator with options.
    pub fn new(options: PlugOptions) -> Self {
        Self { options, caller: ApparatusCaller::default() }
    }

    /// Creates the operator as the kernel hosts it.
    pub fn operator(options: PlugOptions) -> Arc<dyn Operator> {
        Arc::new(Self::new(options))
    }
}

impl Operator for PlugOperator {
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

    fn settings(&self) -> Value {
        self.options.settings()
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let plan = self.decide_plug(unit, view);
        if matches!(plan, Err(DecideError::NotCached(_)))
            && let Some(object) = view.get(&PLUGS, unit.namespace(), unit.name())?
            && let Ok(plug) = Plug::read(&object.value())
        {
            needed_kinds::open_for_plug(view, &plug);
        }
        plan
    }
}

impl PlugOperator {
    fn decide_plug(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let (namespace, name) = (unit.namespace(), unit.name());
        let object = view.get(&PLUGS, namespace, name)?.map(|object| object.value());
        let records_namespace = &self.options.namespace;
        let secret = view.get(&SECRETS, records_namespace, &record_name(namespace, name))?.map(|secret| secret.value());
        let Some(object) = object else {
            let Some(secret) = secret else { return Ok(Plan::nothing()) };
            // The finalizer was removed by another writer: decouple from the record nevertheless.
            return match from_secret(&secret) {
                Ok(record) => PlugRun::orphaned(self.options.clone(), view, &self.caller, record, secret).finalize(),
                Err(_) => Ok(Plan::nothing()),
            };
        };
        let meta = PlugMeta::of(&object);
        if meta.is_deleting && !meta.has_finalizer {
            return Ok(Plan::nothing());
        }
        let run = match PlugRun::begin(self.options.clone(), view, &self.caller, object.clone(), &meta, secret) {
            Ok(run) => run,
            // An invalid record must not block the deletion.
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
