//! Operator of sockets: one unit for each socket, which performs its events, summarizes its plugs, and admits plugs up
//! to a limit.
//!
//! The records of the plugs show which plugs are coupled. They are selected by label, so that plugs of other sockets do
//! not trigger the unit. Only this unit writes the summary, no matter how many plugs change at once.

mod admission;
mod calls;
mod finalize;
mod objects;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, ServiceAccount, Unit, Units};
use switchboard_kernel::plan::{Mutation, PatchType, Plan};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;

use crate::apparatus::{Apparatus, ApparatusCaller, ApparatusDriver};
use crate::coupling::{
    AppliedObject, EventKind, ObjectIdentity, RECORD_TYPE, SECRETS, SOCKET_LABEL, conditions, kubernetes_event,
};
use crate::model::{CouplingEvent, FINALIZER, PlugMeta, SOCKETS, Socket};
use crate::needed_kinds;
use crate::plug::PlugOptions;
use crate::refusal;
use crate::render::CouplingSide;
use summary::{PlugSummary, differ_only_in_counts, status};

pub use summary::MAX_LISTED_PLUGS;

/// Minimum interval between writes of the summary, for each plug. With few plugs, changes are visible at once.
pub const SUMMARY_INTERVAL: Duration = Duration::from_millis(20);
/// Upper bound of the interval.
pub const MAX_SUMMARY_INTERVAL: Duration = Duration::from_secs(1);

/// Operator of sockets.
pub struct SocketOperator {
    options: PlugOptions,
    caller: ApparatusCaller,
}

impl SocketOperator {
    /// Creates the operator with options.
    pub fn new(options: PlugOptions) -> Self {
        Self { options, caller: ApparatusCaller::default() }
    }

    /// Creates the operator as the kernel hosts it.
    pub fn operator(options: PlugOptions) -> Arc<dyn Operator> {
        Arc::new(Self::new(options))
    }
}

impl Operator for SocketOperator {
    fn name(&self) -> &str {
        "sockets"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([AccessRule::every_kind()]),
            outputs: BTreeSet::from([AccessRule::every_kind()]),
            service_account: None,
            units: Units::Each {
                cluster_type: ClusterType::Configuration,
                resource: SOCKETS,
                selection: Selection::all(),
            },
        }
    }

    fn settings(&self) -> Value {
        self.options.settings()
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let plan = self.decide_socket(unit, view);
        if matches!(plan, Err(DecideError::NotCached(_)))
            && let Some(object) = view.get(&SOCKETS, unit.namespace(), unit.name())?
            && let Ok(socket) = Socket::read(&object.value())
        {
            needed_kinds::open_for_socket(view, &socket);
        }
        plan
    }
}

impl SocketOperator {
    fn decide_socket(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let Some(object) = view.get(&SOCKETS, unit.namespace(), unit.name())? else { return Ok(Plan::nothing()) };
        let object = object.value();
        let meta = PlugMeta::of(&object);
        if meta.is_deleting && !meta.has_finalizer {
            return Ok(Plan::nothing());
        }
        // Records are trusted only in the namespace to which no user can write.
        let of_it = Selection::namespace(&self.options.namespace).with_labels(&format!("{SOCKET_LABEL}={}", meta.uid));
        // The metadata contains plug and state; the data of the record is not even parsed.
        let head = |record: &Object| {
            let head = record.typed::<RecordHead>().ok().filter(|head| head.of_type == RECORD_TYPE)?;
            Some(json!({"metadata": head.metadata}))
        };
        let records: Vec<Value> = view.list(&SECRETS, &of_it)?.iter().filter_map(head).collect();
        let now = crate::plug::now(view);
        let driver = ApparatusDriver { view, caller: &self.caller };
        let unit = SocketRun { view, driver, object: &object, meta: &meta, now: &now, strict: self.options.strict };
        match (meta.is_deleting, Socket::read(&object)) {
            (true, socket) => unit.finalize(&records, socket.ok().as_ref()),
            (false, Ok(socket)) => unit.reconcile(&records, &socket),
            (false, Err(error)) => unit.reject(&records, &error.to_string()),
        }
    }
}

#[derive(serde::Deserialize)]
struct RecordHead {
    metadata: Value,
    #[serde(rename = "type", default)]
    of_type: String,
}

/// State of a run.
struct SocketRun<'a> {
    view: &'a View,
    driver: ApparatusDriver<'a>,
    object: &'a Value,
    meta: &'a PlugMeta,
    now: &'a str,
    strict: bool,
}

impl SocketRun<'_> {
    fn reconcile(&self, records: &[Value], socket: &Socket) -> Result<Plan, DecideError> {
        if let Some(first) = self.notify_created(socket)? {
            return Ok(first);
        }
        let mut plan = Plan::ordered();
        self.ensure_finalizer(&mut plan);
        let sum = PlugSummary::of(records);
        if let Some(words) = self.refusal()?.filter(|words| !self.is_shown(words)) {
            // In a run of its own: after a refused write, later writes of the run do not happen.
            self.show_summary(&mut plan, &sum, &self.object["status"], Some(&words));
            return Ok(plan.failing(words));
        }
        let known = match self.create(&mut plan, socket) {
            Ok(known) => known,
            Err(SocketHalt::Decide(stop)) => return Err(stop),
            Err(SocketHalt::Waiting(on)) => return Ok(plan.waiting(on)),
            Err(SocketHalt::Invalid(words)) => return self.reject(records, &words),
        };
        if let Some(limit) = socket.limit {
            admission::admit(&mut plan, records, limit);
        }
        self.show_summary(&mut plan, &sum, &known, None);
        if let Some(apparatus) = Apparatus::of(CouplingSide::Socket, &socket.manifest) {
            self.driver.stop_if_idle(&apparatus, &mut plan)?;
        }
        Ok(plan)
    }

    fn reject(&self, records: &[Value], words: &str) -> Result<Plan, DecideError> {
        let mut plan = Plan::ordered();
        self.ensure_finalizer(&mut plan);
        self.show_summary(&mut plan, &PlugSummary::of(records), &self.object["status"], Some(words));
        Ok(plan.blocked(words))
    }

    /// Returns the refusal of the previous run, with the field that requested the object.
    fn refusal(&self) -> Result<Option<String>, DecideError> {
        let Some(first) = self.view.rejected_writes().first() else { return Ok(None) };
        let account = self.object["spec"]["serviceAccountName"].as_str().unwrap_or("default").to_string();
        let account = ServiceAccount { namespace: self.meta.namespace.clone(), name: account };
        if first.message.contains("is forbidden") {
            // A new role is a reason to retry at once.
            crate::rbac::watch_roles(self.view, &self.meta.namespace)?;
        }
        Ok(Some(refusal::describe(first, &self.applied_objects(), &self.meta.name, &account)))
    }

    fn is_shown(&self, words: &str) -> bool {
        let all = self.object["status"]["conditions"].as_array();
        all.into_iter().flatten().any(|one| one["type"] == "Failed" && one["message"] == words)
    }

    fn ensure_finalizer(&self, plan: &mut Plan) {
        if !self.meta.has_finalizer {
            let mut all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            all.push(FINALIZER.into());
            self.set_finalizers(plan, &all);
        }
    }

    fn set_finalizers(&self, plan: &mut Plan, all: &[Value]) {
        let body = json!({"metadata": {"finalizers": all}});
        plan.push(Mutation::patch(&SOCKETS, &self.meta.namespace, &self.meta.name, PatchType::Merge, body));
    }

    /// Performs the `created` event of the socket, once: a field of the status marks it as complete. Returns the new
    /// status.
    fn create(&self, plan: &mut Plan, socket: &Socket) -> Result<Value, SocketHalt> {
        let mut known = self.object["status"].clone();
        if known["created"] == true {
            return Ok(known);
        }
        let all = self.rendered_objects(socket, CouplingEvent::Created)?;
        let made: Vec<AppliedObject> =
            all.iter().map(|one| self.applied_object(one, socket)).collect::<Result<_, _>>()?;
        if !made.is_empty() {
            known["made"] = json!(made);
        }
        self.record_recreations(&mut known, &all, CouplingEvent::Created, socket)?;
        if self.condition("Coupled").is_none() {
            let wanted = vec![("Coupled", false, "SocketCreated".to_string(), "socket created".to_string())];
            known["conditions"] = conditions(wanted, self.meta.generation, &known["conditions"], self.now);
        }
        self.write_status(plan, known.clone());
        self.perform(plan, &all, CouplingEvent::Created, socket, &known)?;
        let about = ObjectIdentity::of(self.meta);
        plan.push(kubernetes_event(
            CouplingSide::Socket,
            &about,
            EventKind::Lifecycle(CouplingEvent::Created),
            "",
            self.now,
        ));
        for (reason, message) in warnings(socket, self.strict) {
            plan.push(kubernetes_event(
                CouplingSide::Socket,
                &about,
                EventKind::Warning { reason, message },
                "",
                self.now,
            ));
        }
        known["created"] = true.into();
        Ok(known)
    }

    /// Writes the summary of the plugs. If only their number has changed, writes are rate-limited, because plugs come
    /// by the hundred.
    fn show_summary(&self, plan: &mut Plan, sum: &PlugSummary, known: &Value, failed: Option<&str>) {
        let before = &self.object["status"];
        let mut status = status(sum, known, failed, self.meta.generation, &before["conditions"], self.now);
        let written = before["summed"].as_str().and_then(|time| time.parse().ok());
        let age = written.map(|written| self.view.now().duration_since(written).unsigned_abs());
        let rest =
            SUMMARY_INTERVAL.saturating_mul(u32::try_from(sum.all.len()).unwrap_or(u32::MAX)).min(MAX_SUMMARY_INTERVAL);
        if let Some(left) = age.and_then(|age| rest.checked_sub(age)).filter(|left| !left.is_zero())
            && differ_only_in_counts(before, &status)
        {
            plan.requeue_after = Some(plan.requeue_after.map_or(left, |again| again.min(left)));
            return;
        }
        if !before["summed"].is_null() {
            status["summed"] = before["summed"].clone();
        }
        if *before != status {
            status["summed"] = self.view.now().to_string().into();
            self.write_status(plan, status);
        }
    }

    fn write_status(&self, plan: &mut Plan, status: Value) {
        if self.object["status"] != status {
            let mut object = self.object.clone();
            object["status"] = status;
            plan.push(Mutation::update(&SOCKETS, object).status());
        }
    }
}

/// Returns warnings for the author of a socket.
fn warnings(socket: &Socket, strict: bool) -> Vec<(&'static str, &'static str)> {
    let mut all = Vec::new();
    if socket.interface.is_none() {
        all.push(("NoInterface", "the socket has no interface: config and result of its plugs are not checked"));
    }
    match (socket.consent.is_stated(), strict) {
        (true, _) => {}
        (false, false) => all.push(("OpenSocket", "spec.consent is not set: plugs of every namespace may use it")),
        (false, true) => {
            all.push(("ClosedSocket", "spec.consent is not set: only plugs of its own namespace may use it"));
        }
    }
    all
}

/// Reason to end a run early.
enum SocketHalt {
    Decide(DecideError),
    Invalid(String),
    Waiting(String),
}

impl From<DecideError> for SocketHalt {
    fn from(stop: DecideError) -> Self {
        SocketHalt::Decide(stop)
    }
}
