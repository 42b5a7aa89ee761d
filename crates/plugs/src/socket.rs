//! The operator of sockets: one unit for each, which tells of the socket itself, sums up its plugs, and gives out places where
//! there is a limit.
//!
//! Who is coupled follows from the records of the plugs. They are found by label, so that a plug of another socket wakes
//! nobody here; and the sum is written by this unit alone, however many plugs come at once.

mod admission;
mod calls;
mod sum;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::{
    Declaration, Declared, Operator, Outward, Reaching, ServiceAccount, Stop, Unit, Units,
};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Act, Mutation, PatchForm, Plan};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::{Outside, View};

use crate::apparatus::{Apparatus, Attendant, Caller};
use crate::coupling::{Identity, Made, Notice, SECRETS, SOCKET_LABEL, notice};
use crate::kinds;
use crate::model::{Action, Event, FINALIZER, Meta, PLUGS, SOCKETS, Socket};
use crate::plug::Options;
use crate::refusal;
use crate::render::{Engine, Rendered, Roots, Who, objects};
use sum::{Sum, status};

pub use sum::MAX_LISTED_PLUGS;

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

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let Some(object) = view.get(&SOCKETS, unit.namespace(), unit.name())? else { return Ok(Plan::nothing()) };
        let object = object.value();
        let meta = Meta::of(&object);
        if meta.deleting && !meta.kept {
            return Ok(Plan::nothing());
        }
        let of_it = Selection::all().labelled(&format!("{SOCKET_LABEL}={}", meta.uid));
        // Who they are and how they stand is in their metadata: what they hold is not even read.
        let head = |record: &Object| record.typed::<Head>().ok().map(|head| json!({"metadata": head.metadata}));
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
        let refused = self.refused();
        let made = match self.create(&mut plan, socket) {
            Ok(made) => made,
            Err(Problem::Stop(stop)) => return Err(stop),
            Err(Problem::Words(words)) => return self.wrong(records, &words),
        };
        if let Some(limit) = socket.limit {
            admission::admit(&mut plan, records, limit);
        }
        let shown = refused.as_deref().filter(|words| !self.shows(words));
        self.show(&mut plan, &Sum::of(records), &made, shown);
        if let Some(apparatus) = Apparatus::of(Who::Socket, &socket.seen) {
            self.attendant.rest(&apparatus, &mut plan)?;
        }
        Ok(match shown {
            Some(words) => plan.failing(words),
            None => plan,
        })
    }

    fn wrong(&self, records: &[Value], words: &str) -> Result<Plan, Stop> {
        let mut plan = Plan::in_order();
        self.keep(&mut plan);
        self.show(&mut plan, &Sum::of(records), &self.known(), Some(words));
        Ok(plan.blocked(words))
    }

    /// What was refused of the run before, with the field that asked for it.
    fn refused(&self) -> Option<String> {
        let first = self.view.refused().first()?;
        let account = self.object["spec"]["serviceAccountName"].as_str().unwrap_or("default").to_string();
        let account = ServiceAccount { namespace: self.meta.namespace.clone(), name: account };
        Some(refusal::words(first, &self.known(), &self.meta.name, &account))
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

    /// Tells of the socket itself, once: what it shows says whether that was.
    fn create(&self, plan: &mut Plan, socket: &Socket) -> Result<Vec<Made>, Problem> {
        if self.condition("Coupled").is_some() {
            return Ok(self.known());
        }
        let all = self.rendered(socket, Event::Created)?;
        let made: Vec<Made> = all.iter().map(|one| self.made(one, socket)).collect::<Result<_, _>>()?;
        if !made.is_empty() {
            let mut object = self.object.clone();
            object["status"]["made"] = json!(made);
            plan.push(Mutation::update(&SOCKETS, object).status());
        }
        self.perform(plan, &all, socket)?;
        let about = Identity::of(self.meta);
        plan.push(notice(Who::Socket, &about, Notice::Came(Event::Created), "", self.now));
        for (reason, message) in warnings(socket, self.strict) {
            plan.push(notice(Who::Socket, &about, Notice::Warning { reason, message }, "", self.now));
        }
        Ok(made)
    }

    fn known(&self) -> Vec<Made> {
        serde_json::from_value(self.object["status"]["made"].clone()).unwrap_or_default()
    }

    /// The plugs first, then the socket.
    fn bury(&self, records: &[Value], socket: Option<&Socket>) -> Result<Plan, Stop> {
        let mut plan = Plan::in_order();
        if !records.is_empty() {
            if socket.is_some_and(|socket| socket.deletes_plugs) {
                for plug in Sum::of(records).all {
                    plan.push(Mutation::delete(&PLUGS, &plug.namespace, &plug.name).regardless());
                }
            }
            self.show(&mut plan, &Sum::of(records), &self.known(), None);
            let count = records.len();
            return Ok(plan.waiting(format!("{count} {} to be decoupled", if count == 1 { "plug" } else { "plugs" })));
        }
        if let Some(first) = socket.map(|socket| self.call_deleted(socket)).transpose()?.flatten() {
            return Ok(first);
        }
        let mut refusals = self.view.refused().iter();
        let refused = refusals.find(|one| refusal::is_final(&one.message)).map(|one| one.message.clone());
        if let Some(socket) = socket.filter(|_| refused.is_none()) {
            match self.rendered(socket, Event::Deleted).and_then(|all| self.perform(&mut plan, &all, socket)) {
                Ok(()) | Err(Problem::Words(_)) => {}
                Err(Problem::Stop(stop)) => return Err(stop),
            }
            for one in self.known().iter().rev().filter(|one| one.goes) {
                self.remove(&mut plan, one)?;
            }
        }
        let about = Identity::of(self.meta);
        if let Some(words) = &refused {
            let message = format!("gave up on what was made for the socket: {words}");
            plan.push(notice(
                Who::Socket,
                &about,
                Notice::Warning { reason: "TeardownIncomplete", message: &message },
                "",
                self.now,
            ));
        }
        plan.push(notice(Who::Socket, &about, Notice::Came(Event::Deleted), "", self.now));
        let all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        self.set_finalizers(&mut plan, &all.into_iter().filter(|one| one != FINALIZER).collect::<Vec<_>>());
        Ok(plan)
    }

    fn show(&self, plan: &mut Plan, sum: &Sum, made: &[Made], failed: Option<&str>) {
        let status = status(sum, made, failed, self.meta.generation, &self.object["status"], self.now);
        if self.object["status"] != status {
            let mut object = self.object.clone();
            object["status"] = status;
            plan.push(Mutation::update(&SOCKETS, object).status());
        }
    }

    fn rendered(&self, socket: &Socket, event: Event) -> Result<Vec<Rendered>, Problem> {
        let since = self.meta.created.parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let engine = Engine::new(since, self.meta.uid.as_str());
        let root = Roots::alone(Who::Socket, &socket.seen).value();
        let all = objects(&engine, self.meta, &socket.side.resources, |entry| entry.when.contains(&event), &root);
        all.map_err(|trouble| Problem::Words(trouble.to_string()))
    }

    fn made(&self, one: &Rendered, socket: &Socket) -> Result<Made, Problem> {
        let text = |pointer: &str| one.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let Some(resource) = kinds::kind(self.view, &api_version, &kind)? else {
            return Err(Problem::Words(format!("no matches for kind \"{kind}\" in version \"{api_version}\"")));
        };
        let namespace = if resource.namespaced { text("/metadata/namespace") } else { String::new() };
        let account = (self.meta.namespace.clone(), socket.side.service_account.clone());
        let (name, goes, place) = (text("/metadata/name"), one.goes, one.place.clone());
        Ok(Made { api_version, kind, namespace, name, account, goes, place })
    }

    fn perform(&self, plan: &mut Plan, all: &[Rendered], socket: &Socket) -> Result<(), Problem> {
        for one in all {
            let made = self.made(one, socket)?;
            if one.action == Action::Delete {
                self.remove(plan, &made)?;
                continue;
            }
            let Some(resource) = kinds::kind(self.view, &made.api_version, &made.kind)? else { continue };
            let account = ServiceAccount { namespace: made.account.0.clone(), name: made.account.1.clone() };
            let manager = format!("socket:{}", crate::coupling::hash(&(&self.meta.namespace, &self.meta.name)));
            let write = Mutation::apply(&resource, one.object.clone()).acting_as(account).managed_by(manager);
            plan.push(if one.force { write.forced() } else { write });
        }
        Ok(())
    }

    fn remove(&self, plan: &mut Plan, made: &Made) -> Result<(), Stop> {
        let Some(resource) = kinds::kind(self.view, &made.api_version, &made.kind)? else { return Ok(()) };
        if self.view.get(&resource, &made.namespace, &made.name)?.is_some() {
            let account = ServiceAccount { namespace: made.account.0.clone(), name: made.account.1.clone() };
            let mut write = Mutation::delete(&resource, &made.namespace, &made.name).acting_as(account);
            write.act = Act::Delete { propagation: Some("Background".to_string()) };
            plan.push(write);
        }
        Ok(())
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
}

impl From<Stop> for Problem {
    fn from(stop: Stop) -> Self {
        Problem::Stop(stop)
    }
}
