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

mod binding;
mod calls;
mod couple;
mod deletion;
mod former;
mod halt;
mod hidden;
mod objects;
mod part;
mod reading;
#[cfg(test)]
mod tests;
mod work;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::operator::{Declaration, Declared, Operator, Outward, Reaching, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::{Outside, View};

use crate::apparatus::Caller;
use crate::coupling::{SECRETS, load, record_name};
use crate::model::{Meta, PLUGS, Plug};

pub(crate) use calls::Patience;
pub use calls::{PARTING_PATIENCE, PARTING_TRIES};
use work::{Door, Work};
pub(crate) use work::{NAMESPACES, now};

/// How the operators of this crate behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// A socket that does not say who may use it is closed to other namespaces.
    pub strict: bool,
    /// The namespace of records. What stands in them is believed, so nobody else may write Secrets there.
    pub home: Arc<str>,
}

/// The namespace of records unless another is named: it is on every cluster, and no user's.
pub const DEFAULT_HOME: &str = "kube-system";

impl Options {
    /// As the settings of a configuration say; what they do not say is as it is by default.
    pub fn of(settings: &Value) -> Self {
        let home = settings["namespace"].as_str().map(Arc::from);
        Self { strict: settings["strict"] == true, home: home.unwrap_or_else(|| Self::default().home) }
    }

    /// The same as settings, for records; null when nothing is but as it is by default.
    pub(crate) fn settings(&self) -> Value {
        match *self == Self::default() {
            true => Value::Null,
            false => json!({"namespace": &*self.home, "strict": self.strict}),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { strict: false, home: Arc::from(DEFAULT_HOME) }
    }
}

/// The operator of plugs.
pub struct Plugs {
    options: Options,
    caller: Caller,
}

impl Plugs {
    /// With these options.
    pub fn new(options: Options) -> Self {
        Self { options, caller: Caller::default() }
    }

    /// As the kernel hosts it.
    pub fn operator(options: Options) -> Arc<dyn Operator> {
        Arc::new(Reaching(Self::new(options)))
    }
}

impl Outward for Plugs {
    fn name(&self) -> &str {
        "plugs"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([Declared::every_kind()]),
            outputs: BTreeSet::from([Declared::every_kind()]),
            service_account: None,
            units: Units::Each { place: Place::Configuration, resource: PLUGS, selection: Selection::all() },
        }
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        self.caller.reach(request)
    }

    fn acts(&self, request: &Value) -> bool {
        Caller::acts(request)
    }

    fn settings(&self) -> Value {
        self.options.settings()
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let (namespace, name) = (unit.namespace(), unit.name());
        let door = Door { outside, caller: &self.caller };
        let object = view.get(&PLUGS, namespace, name)?.map(|object| object.value());
        let home = &self.options.home;
        let secret = view.get(&SECRETS, home, &record_name(namespace, name))?.map(|secret| secret.value());
        let Some(object) = object else {
            let Some(secret) = secret else { return Ok(Plan::nothing()) };
            // Somebody took the finalizer away: what was recorded is taken apart all the same.
            return match load(&secret) {
                Ok(record) => Work::orphaned(self.options.clone(), view, door, record, secret).bury(),
                Err(_) => Ok(Plan::nothing()),
            };
        };
        let meta = Meta::of(&object);
        if meta.deleting && !meta.kept {
            return Ok(Plan::nothing());
        }
        let work = match Work::begin(self.options.clone(), view, door, object.clone(), &meta, secret) {
            Ok(work) => work,
            // What cannot be read is no reason to keep anybody.
            Err(error) if meta.deleting => return Ok(Work::given_up(view, &object, &meta, &error, home)),
            Err(error) => return Ok(Work::unreadable(view, object, &meta, &error.to_string())),
        };
        if meta.deleting {
            return work.bury();
        }
        match Plug::read(&object) {
            Ok(plug) => work.live(&plug),
            Err(error) => work.wrong(&error.to_string()),
        }
    }
}
