//! One run for one plug: its record, its plan, and how it stands in the end.

use serde_json::{Value, json};
use switchboard_kernel::operator::{ServiceAccount, Stop};
use switchboard_kernel::plan::{Mutation, PatchForm, Plan};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::{Outside, Refusal, View};

use super::Options;
use super::halt::{Halt, Onward};
use super::reading::Reading;
use crate::apparatus::Caller;
use crate::coupling::{Identity, Notice, Record, SECRETS, Shown, Stand, StorageError, load, notice, shown, stored};
use crate::model::{Event, FINALIZER, Meta, PLUGS, Plug};
use crate::refusal;
use crate::render::{Engine, Roots, Who, objects};

/// The way to programs that take part.
#[derive(Clone, Copy)]
pub(super) struct Door<'a> {
    pub outside: &'a Outside<'a>,
    pub caller: &'a Caller,
}

/// What a run has in its hands.
pub(super) struct Work<'a> {
    pub options: Options,
    pub view: &'a View,
    pub door: Door<'a>,
    /// The plug as it was read; absent when it is gone.
    pub object: Option<Value>,
    pub meta: Meta,
    pub record: Record,
    /// The record's Secret as it is after what was planned so far.
    saved: Option<Value>,
    pub plan: Plan,
    /// It is being taken apart: where its namespaces go as well, nothing can be made any more.
    pub parting: bool,
    pub shown: Shown,
    pub now: String,
}

impl<'a> Work<'a> {
    pub fn begin(
        options: Options,
        view: &'a View,
        door: Door<'a>,
        object: Value,
        meta: &Meta,
        secret: Option<Value>,
    ) -> Result<Self, StorageError> {
        let now = now(view);
        let record = match &secret {
            Some(secret) => load(secret)?,
            None => Record::new(meta, &now),
        };
        Ok(Self {
            options,
            view,
            door,
            object: Some(object),
            meta: meta.clone(),
            record,
            saved: secret,
            plan: Plan::in_order(),
            parting: false,
            shown: Shown::default(),
            now,
        })
    }

    /// For a plug that is gone, of which only the record is left.
    pub fn orphaned(options: Options, view: &'a View, door: Door<'a>, record: Record, secret: Value) -> Self {
        let meta = Meta {
            name: record.plug.name.clone(),
            namespace: record.plug.namespace.clone(),
            uid: record.plug.uid.clone(),
            deleting: true,
            ..Meta::default()
        };
        let (plan, shown, now) = (Plan::in_order(), Shown::default(), now(view));
        let (object, saved, parting) = (None, Some(secret), false);
        Self { options, view, door, object, meta, record, saved, plan, parting, shown, now }
    }

    /// The record cannot be read: says so on the plug.
    pub fn unreadable(view: &View, object: Value, meta: &Meta, words: &str) -> Plan {
        let status = shown(
            &Stand::Failing(words.to_string()),
            &Record::default(),
            meta,
            &Shown::default(),
            &object["status"],
            &now(view),
        );
        let mut plan = Plan::in_order();
        push_status(&mut plan, object, status);
        plan.blocked(words)
    }

    /// The record of a plug that goes cannot be read: it is told to people, and the plug let go.
    pub fn given_up(view: &View, object: &Value, meta: &Meta, error: &StorageError, home: &str) -> Plan {
        let message = format!("nothing was taken apart: {error}");
        let warning = Notice::Warning { reason: "TeardownIncomplete", message: &message };
        let mut plan = Plan::in_order();
        plan.push(notice(Who::Plug, &Identity::of(meta), warning, "", &now(view)));
        if let StorageError::Broken(name, _) = error {
            plan.push(Mutation::delete(&SECRETS, home, name).regardless());
        }
        super::deletion::let_go(&mut plan, object, meta);
        plan
    }

    /// The life of a plug that is not being deleted.
    pub fn live(mut self, plug: &Plug) -> Result<Plan, Stop> {
        self.disown_former()?;
        let halted = match self.show_refusal() {
            Some(halt) => Err(halt),
            None => self.keep().and_then(|()| self.create(plug)).and_then(|()| self.integrate(plug)),
        };
        self.end(halted)
    }

    /// The plug itself cannot be read: what is coupled stays as it is.
    pub fn wrong(mut self, words: &str) -> Result<Plan, Stop> {
        let halt = Halt::Here(Stand::Failing(words.to_string()), Onward::Blocked(words.to_string()));
        let halted = self.keep().and(Err(halt));
        self.end(halted)
    }

    /// What was refused of the run before is shown first, once; then it is tried again.
    fn show_refusal(&mut self) -> Option<Halt> {
        let first = self.view.refused().first()?;
        let message = self.refusal_words(first);
        if message.contains("is forbidden") {
            // A role that comes makes it worth another try at once. What is not read yet is read by the try itself.
            let _ = crate::authority::watch(self.view, &first.object.namespace);
        }
        let shown = self.object.as_ref().map(|object| &object["status"]["conditions"]);
        let known = shown.and_then(Value::as_array).into_iter().flatten();
        if known.into_iter().any(|one| one["type"] == "Failed" && one["message"] == message.as_str()) {
            return None;
        }
        let stand = match message.contains("Apply failed with") {
            true => Stand::Conflict(message.clone()),
            false => Stand::Failing(message.clone()),
        };
        Some(Halt::Here(stand, Onward::Retries(message)))
    }

    /// With the field that asked for it, the plug's own or the socket's.
    fn refusal_words(&self, refusal: &Refusal) -> String {
        let account = self.object.as_ref().and_then(|object| object["spec"]["serviceAccountName"].as_str());
        let account = self.account(&self.meta.namespace, account.unwrap_or("default"));
        let inventory = &self.record.inventory;
        let made = [self.record.own.as_slice(), &inventory.plug, &inventory.socket].concat();
        let words = refusal::words(refusal, &made, &self.meta.name, &account);
        let placed = words.starts_with("spec.") || words.starts_with("socket ");
        // The socket's program may be started for a plug.
        match self.record.socket.as_ref().filter(|_| !placed) {
            None => words,
            Some(socket) => match refusal::words(refusal, &[], &socket.name, &account) {
                of_socket if of_socket == words => words,
                of_socket => format!("socket {}/{}: {of_socket}", socket.namespace, socket.name),
            },
        }
    }

    /// Nothing is done for a plug that could go before it was taken apart.
    fn keep(&mut self) -> Result<(), Halt> {
        if self.meta.kept {
            return Ok(());
        }
        let Some(object) = &self.object else { return Ok(()) };
        let mut finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        finalizers.push(FINALIZER.into());
        let (namespace, name) = (self.meta.namespace.clone(), self.meta.name.clone());
        let body = json!({"metadata": {"finalizers": finalizers}});
        self.plan.push(Mutation::patch(&PLUGS, &namespace, &name, PatchForm::Merge, body));
        Ok(())
    }

    /// Tells of the plug itself, once.
    fn create(&mut self, plug: &Plug) -> Result<(), Halt> {
        if self.record.created {
            return Ok(());
        }
        self.call_created(&plug.seen)?;
        let root = Roots::alone(Who::Plug, &plug.seen).value();
        let engine = self.engine();
        let made =
            objects(&engine, &plug.meta, &plug.side.resources, |entry| entry.when.contains(&Event::Created), &root)?;
        let account = self.account(&plug.meta.namespace, &plug.side.service_account);
        let known: Vec<_> = made.iter().map(|one| self.made(one, &account)).collect::<Result<_, _>>()?;
        self.record.own = known;
        self.intend_to_recreate(&made, Event::Created, &account)?;
        if !made.is_empty() {
            self.save();
        }
        self.perform(&made, Event::Created, &account, &manager(&plug.meta, Who::Plug))?;
        self.tell(Who::Plug, &Identity::of(&plug.meta), Event::Created, 0);
        self.record.created = true;
        Ok(())
    }

    /// Ends the run: saves the record and shows where the plug stands.
    fn end(mut self, halted: Result<(), Halt>) -> Result<Plan, Stop> {
        let (stand, onward) = match halted {
            Ok(()) => (Stand::Coupled, None),
            Err(Halt::Stop(stop)) => return Err(stop),
            Err(Halt::Here(stand, onward)) => (stand, Some(onward)),
        };
        self.record.failing = matches!(stand, Stand::Failing(_) | Stand::Conflict(_));
        self.save();
        self.show(&stand);
        if !matches!(stand, Stand::Apparatus { .. }) {
            self.rest()?;
        }
        Ok(match onward {
            None | Some(Onward::NextRun) => self.plan,
            Some(Onward::Waits(on)) => self.plan.waiting(on),
            Some(Onward::Blocked(needs)) => self.plan.blocked(needs),
            Some(Onward::Retries(why)) => self.plan.failing(why),
        })
    }

    /// Ends a run of a plug that goes.
    pub fn end_gone(mut self, halted: Result<(), Halt>) -> Result<Plan, Stop> {
        match halted {
            Ok(()) => Ok(self.plan),
            Err(Halt::Stop(stop)) => Err(stop),
            Err(Halt::Here(stand, onward)) => {
                self.record.failing = onward != Onward::NextRun;
                self.save();
                self.show(&stand);
                Ok(match onward {
                    Onward::NextRun => self.plan,
                    Onward::Waits(on) => self.plan.waiting(on),
                    Onward::Blocked(words) | Onward::Retries(words) => self.plan.failing(words),
                })
            }
        }
    }

    /// Whether nothing can be made in a namespace, because it goes or is gone. Asked at a parting alone.
    pub fn cannot_make_in(&self, namespace: &str) -> Result<bool, Stop> {
        if !self.parting || namespace.is_empty() {
            return Ok(false);
        }
        let found = self.view.get(&NAMESPACES, "", namespace)?;
        Ok(found.is_none_or(|object| object.value()["metadata"]["deletionTimestamp"].is_string()))
    }

    /// Whether the record is not yet written down as it is.
    pub fn unsaved(&self) -> bool {
        self.saved.as_ref() != Some(&stored(&self.record, self.saved.as_ref(), &self.options.home))
    }

    /// Writes the record down, if it is not so already.
    pub fn save(&mut self) {
        let wanted = stored(&self.record, self.saved.as_ref(), &self.options.home);
        if self.saved.as_ref() == Some(&wanted) {
            return;
        }
        self.plan.push(match self.saved {
            None => Mutation::create(&SECRETS, wanted.clone()),
            Some(_) => Mutation::update(&SECRETS, wanted.clone()),
        });
        self.saved = Some(wanted);
    }

    /// Removes the record.
    pub fn forget(&mut self) {
        if self.saved.take().is_some() {
            let name = crate::coupling::record_name(&self.meta.namespace, &self.meta.name);
            self.plan.push(Mutation::delete(&SECRETS, &self.options.home, &name).regardless());
        }
    }

    /// Whether there is no record yet.
    pub fn is_new(&self) -> bool {
        self.saved.is_none()
    }

    /// What tells an event that begins now apart from others of its kind.
    pub fn number(&self) -> u64 {
        u64::try_from(self.view.now().as_millisecond()).unwrap_or_default()
    }

    /// Tells an event as a Kubernetes Event.
    pub fn tell(&mut self, who: Who, about: &Identity, event: Event, number: u64) {
        let at = self.record.pending.as_ref().map_or_else(|| self.record.since.clone(), |pending| pending.at.clone());
        let socket = self.record.socket.as_ref().map_or("", |socket| socket.uid.as_str());
        let what = format!("{} {number} {socket}", self.record.plug.uid);
        self.plan.push(notice(who, about, Notice::Came(event), &what, &at));
    }

    /// What templates know of the world: the time of the record, and who the two are.
    pub fn engine(&self) -> Engine {
        let since = self.record.since.parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let socket = self.record.socket.as_ref().map_or("", |socket| socket.uid.as_str());
        Engine::new(since, format!("{}\n{socket}", self.record.plug.uid))
    }

    pub fn account(&self, namespace: &str, name: &str) -> ServiceAccount {
        ServiceAccount { namespace: namespace.to_string(), name: name.to_string() }
    }

    pub fn reading(&self, plug: ServiceAccount, socket: ServiceAccount) -> Reading<'a> {
        Reading::new(self.view, plug, socket)
    }

    pub fn show(&mut self, stand: &Stand) {
        let Some(object) = self.object.clone() else { return };
        self.shown.binding = self.record.binding();
        let status = shown(stand, &self.record, &self.meta, &self.shown, &object["status"], &self.now);
        push_status(&mut self.plan, object, status);
    }
}

fn push_status(plan: &mut Plan, mut object: Value, status: Value) {
    if object["status"] != status {
        object["status"] = status;
        plan.push(Mutation::update(&PLUGS, object).status());
    }
}

/// To the second, as Kubernetes has it.
pub(crate) fn now(view: &View) -> String {
    let now = view.now();
    let whole = now.round(jiff::Unit::Second).unwrap_or(now);
    whole.to_string()
}

/// Who is said to manage the fields of objects that a side makes: each coupling for itself, so that two couplings that want
/// one object otherwise are a conflict and no quarrel.
pub(super) fn manager(plug: &Meta, who: Who) -> String {
    const MAX_MANAGER: usize = 128;
    let name = format!("plug:{}/{}:{}", plug.namespace, plug.name, who.word());
    if name.len() <= MAX_MANAGER {
        return name;
    }
    let hash = &crate::coupling::hash(&name)[..12];
    format!("{}-{hash}", &name[..name.floor_char_boundary(MAX_MANAGER - 13)])
}

/// The kind of namespaces.
pub(crate) const NAMESPACES: Resource = Resource::cluster_wide("", "v1", "Namespace", "namespaces");
