//! The operator of sockets: one unit for each, which tells of the socket itself, sums up its plugs, and gives out places where
//! there is a limit.
//!
//! Who is coupled follows from the records of the plugs. They are found by label, so that a plug of another socket wakes
//! nobody here; and the sum is written by this unit alone, however many plugs come at once.

mod admission;
mod burial;
mod calls;
mod objects;
mod sum;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::{
    Declaration, Declared, Operator, Outward, Reaching, ServiceAccount, Stop, Unit, Units,
};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Mutation, PatchForm, Plan};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::{Outside, View};

use crate::apparatus::{Apparatus, Attendant, Caller};
use crate::coupling::{Identity, Made, Notice, RECORD_TYPE, SECRETS, SOCKET_LABEL, conditions, notice};
use crate::model::{Event, FINALIZER, Meta, SOCKETS, Socket};
use crate::plug::Options;
use crate::refusal;
use crate::render::Who;
use sum::{Sum, differ_in_numbers_alone, status};

pub use sum::MAX_LISTED_PLUGS;

/// How long the number of plugs rests before another is written, for each of them: where there are few, it is told at once.
pub const SUM_REST: Duration = Duration::from_millis(20);
/// And how long at most.
pub const MAX_SUM_REST: Duration = Duration::from_secs(1);

/// The operator of sockets.
pub struct Sockets {
    options: Options,
    caller: Caller,
}

impl Sockets {
    /// With these options.
    pub fn new(options: Options) -> Self {
        Self { options, caller: Caller::default() }
    }

    /// As the kernel hosts it.
    pub fn operator(options: Options) -> Arc<dyn Operator> {
        Arc::new(Reaching(Self::new(options)))
    }
}

impl Outward for Sockets {
    fn name(&self) -> &str {
        "sockets"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([Declared::every_kind()]),
            outputs: BTreeSet::from([Declared::every_kind()]),
            service_account: None,
            units: Units::Each { place: Place::Configuration, resource: SOCKETS, selection: Selection::all() },
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
        let Some(object) = view.get(&SOCKETS, unit.namespace(), unit.name())? else { return Ok(Plan::nothing()) };
        let object = object.value();
        let meta = Meta::of(&object);
        if meta.deleting && !meta.kept {
            return Ok(Plan::nothing());
        }
        // Records are believed where nobody else writes, and nowhere else.
        let of_it = Selection::namespace(&self.options.home).labelled(&format!("{SOCKET_LABEL}={}", meta.uid));
        // Who they are and how they stand is in their metadata: what they hold is not even read.
        let head = |record: &Object| {
            let head = record.typed::<Head>().ok().filter(|head| head.of_type == RECORD_TYPE)?;
            Some(json!({"metadata": head.metadata}))
        };
        let records: Vec<Value> = view.list(&SECRETS, &of_it)?.iter().filter_map(head).collect();
        let now = crate::plug::now(view);
        let attendant = Attendant { view, outside, caller: &self.caller };
        let unit = Ground { view, attendant, object: &object, meta: &meta, now: &now, strict: self.options.strict };
        match (meta.deleting, Socket::read(&object)) {
            (true, socket) => unit.bury(&records, socket.ok().as_ref()),
            (false, Ok(socket)) => unit.live(&records, &socket),
            (false, Err(error)) => unit.wrong(&records, &error.to_string()),
        }
    }
}

#[derive(serde::Deserialize)]
struct Head {
    metadata: Value,
    #[serde(rename = "type", default)]
    of_type: String,
}

/// What a run has in its hands.
struct Ground<'a> {
    view: &'a View,
    attendant: Attendant<'a>,
    object: &'a Value,
    meta: &'a Meta,
    now: &'a str,
    strict: bool,
}

impl Ground<'_> {
    fn live(&self, records: &[Value], socket: &Socket) -> Result<Plan, Stop> {
        if let Some(first) = self.call_created(socket)? {
            return Ok(first);
        }
        let mut plan = Plan::in_order();
        self.keep(&mut plan);
        let sum = Sum::of(records);
        if let Some(words) = self.refused()?.filter(|words| !self.shows(words)) {
            // Shown by a run of its own: a run that is refused writes nothing of what stands behind.
            self.show(&mut plan, &sum, &self.object["status"], Some(&words));
            return Ok(plan.failing(words));
        }
        let known = match self.create(&mut plan, socket) {
            Ok(known) => known,
            Err(Problem::Stop(stop)) => return Err(stop),
            Err(Problem::Waits(on)) => return Ok(plan.waiting(on)),
            Err(Problem::Words(words)) => return self.wrong(records, &words),
        };
        if let Some(limit) = socket.limit {
            admission::admit(&mut plan, records, limit);
        }
        self.show(&mut plan, &sum, &known, None);
        if let Some(apparatus) = Apparatus::of(Who::Socket, &socket.seen) {
            self.attendant.rest(&apparatus, &mut plan)?;
        }
        Ok(plan)
    }

    fn wrong(&self, records: &[Value], words: &str) -> Result<Plan, Stop> {
        let mut plan = Plan::in_order();
        self.keep(&mut plan);
        self.show(&mut plan, &Sum::of(records), &self.object["status"], Some(words));
        Ok(plan.blocked(words))
    }

    /// What was refused of the run before, with the field that asked for it.
    fn refused(&self) -> Result<Option<String>, Stop> {
        let Some(first) = self.view.refused().first() else { return Ok(None) };
        let account = self.object["spec"]["serviceAccountName"].as_str().unwrap_or("default").to_string();
        let account = ServiceAccount { namespace: self.meta.namespace.clone(), name: account };
        if first.message.contains("is forbidden") {
            // A role that comes makes it worth another try at once.
            crate::authority::watch(self.view, &self.meta.namespace)?;
        }
        Ok(Some(refusal::words(first, &self.known(), &self.meta.name, &account)))
    }

    fn shows(&self, words: &str) -> bool {
        let all = self.object["status"]["conditions"].as_array();
        all.into_iter().flatten().any(|one| one["type"] == "Failed" && one["message"] == words)
    }

    fn keep(&self, plan: &mut Plan) {
        if !self.meta.kept {
            let mut all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            all.push(FINALIZER.into());
            self.set_finalizers(plan, &all);
        }
    }

    fn set_finalizers(&self, plan: &mut Plan, all: &[Value]) {
        let body = json!({"metadata": {"finalizers": all}});
        plan.push(Mutation::patch(&SOCKETS, &self.meta.namespace, &self.meta.name, PatchForm::Merge, body));
    }

    /// Tells of the socket itself, once: a mark in its status says that this was done. Gives the status with what is known then.
    fn create(&self, plan: &mut Plan, socket: &Socket) -> Result<Value, Problem> {
        let mut known = self.object["status"].clone();
        if known["created"] == true {
            return Ok(known);
        }
        let all = self.rendered(socket, Event::Created)?;
        let made: Vec<Made> = all.iter().map(|one| self.made(one, socket)).collect::<Result<_, _>>()?;
        if !made.is_empty() {
            known["made"] = json!(made);
        }
        self.intend_to_recreate(&mut known, &all, Event::Created, socket)?;
        if self.condition("Coupled").is_none() {
            let wanted = vec![("Coupled", false, "SocketCreated".to_string(), "socket created".to_string())];
            known["conditions"] = conditions(wanted, self.meta.generation, &known["conditions"], self.now);
        }
        self.write(plan, known.clone());
        self.perform(plan, &all, Event::Created, socket, &known)?;
        let about = Identity::of(self.meta);
        plan.push(notice(Who::Socket, &about, Notice::Came(Event::Created), "", self.now));
        for (reason, message) in warnings(socket, self.strict) {
            plan.push(notice(Who::Socket, &about, Notice::Warning { reason, message }, "", self.now));
        }
        known["created"] = true.into();
        Ok(known)
    }

    /// What it says of its plugs. Where only the number of many has changed it is written once in a while: they come by the hundred.
    fn show(&self, plan: &mut Plan, sum: &Sum, known: &Value, failed: Option<&str>) {
        let before = &self.object["status"];
        let mut status = status(sum, known, failed, self.meta.generation, &before["conditions"], self.now);
        let written = before["summed"].as_str().and_then(|time| time.parse().ok());
        let age = written.map(|written| self.view.now().duration_since(written).unsigned_abs());
        let rest = SUM_REST.saturating_mul(u32::try_from(sum.all.len()).unwrap_or(u32::MAX)).min(MAX_SUM_REST);
        if let Some(left) = age.and_then(|age| rest.checked_sub(age)).filter(|left| !left.is_zero())
            && differ_in_numbers_alone(before, &status)
        {
            plan.again = Some(plan.again.map_or(left, |again| again.min(left)));
            return;
        }
        if !before["summed"].is_null() {
            status["summed"] = before["summed"].clone();
        }
        if *before != status {
            status["summed"] = self.view.now().to_string().into();
            self.write(plan, status);
        }
    }

    fn write(&self, plan: &mut Plan, status: Value) {
        if self.object["status"] != status {
            let mut object = self.object.clone();
            object["status"] = status;
            plan.push(Mutation::update(&SOCKETS, object).status());
        }
    }
}

/// What the author of a socket should know.
fn warnings(socket: &Socket, strict: bool) -> Vec<(&'static str, &'static str)> {
    let mut all = Vec::new();
    if socket.interface.is_none() {
        all.push(("NoInterface", "the socket has no interface: config and result of its plugs are not checked"));
    }
    match (socket.consent.is_stated(), strict) {
        (true, _) => {}
        (false, false) => all.push(("OpenSocket", "the socket states no consent: plugs of every namespace may use it")),
        (false, true) => {
            all.push(("ClosedSocket", "the socket states no consent: only plugs of its own namespace may use it"));
        }
    }
    all
}

/// Why a socket cannot be told of.
enum Problem {
    Stop(Stop),
    Words(String),
    Waits(String),
}

impl From<Stop> for Problem {
    fn from(stop: Stop) -> Self {
        Problem::Stop(stop)
    }
}
