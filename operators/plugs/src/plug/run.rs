//! One run for one plug: its record, its plan, and its final state.

use serde_json::{Value, json};
use switchboard_kernel::operator::{DecideError, ServiceAccount};
use switchboard_kernel::plan::{Mutation, PatchType, Plan};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::{View, WriteRejection};

use super::PlugOptions;
use super::authorized_reader::AuthorizedReader;
use super::halt::{Continuation, Halt};
use crate::apparatus::ApparatusCaller;
use crate::coupling::{
    CouplingRecord, EventKind, ObjectIdentity, PlugState, SECRETS, StatusExtras, StorageError, from_secret,
    kubernetes_event, plug_status, to_secret,
};
use crate::model::{CouplingEvent, FINALIZER, PLUGS, Plug, PlugMeta};
use crate::refusal;
use crate::render::{CouplingSide, TemplateEngine, TemplateRoot, objects};

/// State of a run.
pub(super) struct PlugRun<'a> {
    pub options: PlugOptions,
    pub view: &'a View,
    pub caller: &'a ApparatusCaller,
    /// Plug as it was read; absent if it is deleted.
    pub object: Option<Value>,
    pub meta: PlugMeta,
    pub record: CouplingRecord,
    /// Secret of the record after the planned writes.
    saved: Option<Value>,
    pub plan: Plan,
    /// Whether the plug is being decoupled or deleted. If its namespace is being deleted too, no object can be created
    /// there.
    pub is_ending: bool,
    pub shown: StatusExtras,
    pub now: String,
}

impl<'a> PlugRun<'a> {
    pub fn begin(
        options: PlugOptions,
        view: &'a View,
        caller: &'a ApparatusCaller,
        object: Value,
        meta: &PlugMeta,
        secret: Option<Value>,
    ) -> Result<Self, StorageError> {
        let now = now(view);
        let record = match &secret {
            Some(secret) => from_secret(secret)?,
            None => CouplingRecord::new(meta, &now),
        };
        Ok(Self {
            options,
            view,
            caller,
            object: Some(object),
            meta: meta.clone(),
            record,
            saved: secret,
            plan: Plan::ordered(),
            is_ending: false,
            shown: StatusExtras::default(),
            now,
        })
    }

    /// Begins a run for a deleted plug of which only the record is left.
    pub fn orphaned(
        options: PlugOptions,
        view: &'a View,
        caller: &'a ApparatusCaller,
        record: CouplingRecord,
        secret: Value,
    ) -> Self {
        let meta = PlugMeta {
            name: record.plug.name.clone(),
            namespace: record.plug.namespace.clone(),
            uid: record.plug.uid.clone(),
            is_deleting: true,
            ..PlugMeta::default()
        };
        let (plan, shown, now) = (Plan::ordered(), StatusExtras::default(), now(view));
        let (object, saved, parting) = (None, Some(secret), false);
        Self { options, view, caller, object, meta, record, saved, plan, is_ending: parting, shown, now }
    }

    /// Returns the plan for an unreadable record: an error in the plug's status.
    pub fn unreadable(view: &View, object: Value, meta: &PlugMeta, words: &str) -> Plan {
        let status = plug_status(
            &PlugState::Failing(words.to_string()),
            &CouplingRecord::default(),
            meta,
            &StatusExtras::default(),
            &object["status"],
            &now(view),
        );
        let mut plan = Plan::ordered();
        push_status(&mut plan, object, status);
        plan.blocked(words)
    }

    /// Returns the plan for a deleted plug with an unreadable record: a warning, and removal of the finalizer.
    pub fn abandon(
        view: &View,
        object: &Value,
        meta: &PlugMeta,
        error: &StorageError,
        records_namespace: &str,
    ) -> Plan {
        let message = format!("could not decouple: {error}");
        let warning = EventKind::Warning { reason: "TeardownIncomplete", message: &message };
        let mut plan = Plan::ordered();
        plan.push(kubernetes_event(CouplingSide::Plug, &ObjectIdentity::of(meta), warning, "", &now(view)));
        if let StorageError::Broken(name, _) = error {
            plan.push(Mutation::delete(&SECRETS, records_namespace, name).unconditional());
        }
        super::finalize::remove_finalizer(&mut plan, object, meta);
        plan
    }

    /// Reconciles a plug that is not being deleted.
    pub fn reconcile(mut self, plug: &Plug) -> Result<Plan, DecideError> {
        self.delete_legacy_record()?;
        let halted = match self.show_refusal() {
            Some(halt) => Err(halt),
            None => self.ensure_finalizer().and_then(|()| self.create(plug)).and_then(|()| self.integrate(plug)),
        };
        self.end(halted)
    }

    /// Returns the plan for an invalid plug. An existing coupling is kept.
    pub fn reject(mut self, words: &str) -> Result<Plan, DecideError> {
        let halt = Halt::At(PlugState::Failing(words.to_string()), Continuation::Blocked(words.to_string()));
        let halted = self.ensure_finalizer().and(Err(halt));
        self.end(halted)
    }

    /// Shows the refusal of the previous run once, before the next attempt.
    fn show_refusal(&mut self) -> Option<Halt> {
        let first = self.view.rejected_writes().first()?;
        let message = self.refusal_message(first);
        if message.contains("is forbidden") {
            // A new role is a reason to retry at once. The next attempt reads objects that are not cached yet.
            let _ = crate::rbac::watch_roles(self.view, &first.object.namespace);
        }
        let shown = self.object.as_ref().map(|object| &object["status"]["conditions"]);
        let known = shown.and_then(Value::as_array).into_iter().flatten();
        if known.into_iter().any(|one| one["type"] == "Failed" && one["message"] == message.as_str()) {
            return None;
        }
        let state = match message.contains("Apply failed with") {
            true => PlugState::Conflict(message.clone()),
            false => PlugState::Failing(message.clone()),
        };
        Some(Halt::At(state, Continuation::Retry(message)))
    }

    /// Returns the message of a refusal, with the field of the plug or socket that requested the object.
    pub fn refusal_message(&self, refusal: &WriteRejection) -> String {
        let account = self.object.as_ref().and_then(|object| object["spec"]["serviceAccountName"].as_str());
        let account = self.account(&self.meta.namespace, account.unwrap_or("default"));
        let inventory = &self.record.inventory;
        let made = [self.record.own.as_slice(), &inventory.plug, &inventory.socket].concat();
        let words = refusal::describe(refusal, &made, &self.meta.name, &account);
        let placed = words.starts_with("spec.") || words.starts_with("socket ");
        // A plug's run may start the socket's apparatus.
        match self.record.socket.as_ref().filter(|_| !placed) {
            None => words,
            Some(socket) => match refusal::describe(refusal, &[], &socket.name, &account) {
                of_socket if of_socket == words => words,
                of_socket => format!("socket {}/{}: {of_socket}", socket.namespace, socket.name),
            },
        }
    }

    /// Adds the finalizer first, so that the plug cannot be deleted before it is decoupled.
    fn ensure_finalizer(&mut self) -> Result<(), Halt> {
        if self.meta.has_finalizer {
            return Ok(());
        }
        let Some(object) = &self.object else { return Ok(()) };
        let mut finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        finalizers.push(FINALIZER.into());
        let (namespace, name) = (self.meta.namespace.clone(), self.meta.name.clone());
        let body = json!({"metadata": {"finalizers": finalizers}});
        self.plan.push(Mutation::patch(&PLUGS, &namespace, &name, PatchType::Merge, body));
        Ok(())
    }

    /// Performs the `created` event, once.
    fn create(&mut self, plug: &Plug) -> Result<(), Halt> {
        if self.record.created {
            return Ok(());
        }
        self.notify_created(&plug.manifest)?;
        let root = TemplateRoot::alone(CouplingSide::Plug, &plug.manifest).value();
        let engine = self.engine();
        let made = objects(
            &engine,
            &plug.meta,
            &plug.side.resources,
            |entry| entry.when.contains(&CouplingEvent::Created),
            &root,
        )?;
        let account = self.account(&plug.meta.namespace, &plug.side.service_account);
        let known: Vec<_> = made.iter().map(|one| self.applied_object(one, &account)).collect::<Result<_, _>>()?;
        self.record.own = known;
        self.record_recreations(&made, CouplingEvent::Created, &account)?;
        if !made.is_empty() {
            self.save();
        }
        self.perform(&made, CouplingEvent::Created, &account, &manager(&plug.meta, CouplingSide::Plug))?;
        self.emit_event(CouplingSide::Plug, &ObjectIdentity::of(&plug.meta), CouplingEvent::Created, 0);
        self.record.created = true;
        Ok(())
    }

    /// Ends the run: saves the record and writes the plug's status.
    fn end(mut self, halted: Result<(), Halt>) -> Result<Plan, DecideError> {
        let (state, continuation) = match halted {
            Ok(()) => (PlugState::Coupled, None),
            Err(Halt::Decide(stop)) => return Err(stop),
            Err(Halt::At(state, continuation)) => (state, Some(continuation)),
        };
        self.record.failing = matches!(state, PlugState::Failing(_) | PlugState::Conflict(_));
        self.save();
        self.show(&state);
        if !matches!(state, PlugState::Apparatus { .. }) {
            self.release_apparatus()?;
        }
        Ok(match continuation {
            None | Some(Continuation::NextRun) => self.plan,
            Some(Continuation::Waiting(on)) => self.plan.waiting(on),
            Some(Continuation::Blocked(needs)) => self.plan.blocked(needs),
            Some(Continuation::Retry(why)) => self.plan.failing(why),
        })
    }

    /// Ends the run of a plug that is being deleted.
    pub fn end_deletion(mut self, halted: Result<(), Halt>) -> Result<Plan, DecideError> {
        match halted {
            Ok(()) => Ok(self.plan),
            Err(Halt::Decide(stop)) => Err(stop),
            Err(Halt::At(state, continuation)) => {
                self.record.failing = continuation != Continuation::NextRun;
                self.save();
                self.show(&state);
                Ok(match continuation {
                    Continuation::NextRun => self.plan,
                    Continuation::Waiting(on) => self.plan.waiting(on),
                    Continuation::Blocked(words) | Continuation::Retry(words) => self.plan.failing(words),
                })
            }
        }
    }

    /// Whether objects cannot be created in a namespace because it is being deleted or does not exist. Always false
    /// before decoupling.
    pub fn is_terminating(&self, namespace: &str) -> Result<bool, DecideError> {
        if !self.is_ending || namespace.is_empty() {
            return Ok(false);
        }
        let found = self.view.get(&NAMESPACES, "", namespace)?;
        Ok(found.is_none_or(|object| object.value()["metadata"]["deletionTimestamp"].is_string()))
    }

    /// Whether the record has unsaved changes.
    pub fn is_unsaved(&self) -> bool {
        self.saved.as_ref() != Some(&to_secret(&self.record, self.saved.as_ref(), &self.options.namespace))
    }

    /// Saves the record if it has changed.
    pub fn save(&mut self) {
        let wanted = to_secret(&self.record, self.saved.as_ref(), &self.options.namespace);
        if self.saved.as_ref() == Some(&wanted) {
            return;
        }
        self.plan.push(match self.saved {
            None => Mutation::create(&SECRETS, wanted.clone()),
            Some(_) => Mutation::update(&SECRETS, wanted.clone()),
        });
        self.saved = Some(wanted);
    }

    /// Deletes the record.
    pub fn delete_record(&mut self) {
        if self.saved.take().is_some() {
            let name = crate::coupling::record_name(&self.meta.namespace, &self.meta.name);
            self.plan.push(Mutation::delete(&SECRETS, &self.options.namespace, &name).unconditional());
        }
    }

    /// Whether the record does not exist yet.
    pub fn is_new(&self) -> bool {
        self.saved.is_none()
    }

    /// Returns a number that distinguishes a new event from others of its kind.
    pub fn event_number(&self) -> u64 {
        u64::try_from(self.view.now().as_millisecond()).unwrap_or_default()
    }

    /// Emits a Kubernetes Event for an event of the coupling.
    pub fn emit_event(&mut self, side: CouplingSide, about: &ObjectIdentity, event: CouplingEvent, number: u64) {
        let at = self.record.pending.as_ref().map_or_else(|| self.record.since.clone(), |pending| pending.at.clone());
        let socket = self.record.socket.as_ref().map_or("", |socket| socket.uid.as_str());
        let what = format!("{} {number} {socket}", self.record.plug.uid);
        self.plan.push(kubernetes_event(side, about, EventKind::Lifecycle(event), &what, &at));
    }

    /// Returns the template engine, with the record's time, and a seed from the uids of both sides.
    pub fn engine(&self) -> TemplateEngine {
        let since = self.record.since.parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let socket = self.record.socket.as_ref().map_or("", |socket| socket.uid.as_str());
        TemplateEngine::new(since, format!("{}\n{socket}", self.record.plug.uid))
    }

    pub fn account(&self, namespace: &str, name: &str) -> ServiceAccount {
        ServiceAccount { namespace: namespace.to_string(), name: name.to_string() }
    }

    pub fn authorized_reader(&self, plug: ServiceAccount, socket: ServiceAccount) -> AuthorizedReader<'a> {
        AuthorizedReader::new(self.view, plug, socket)
    }

    pub fn show(&mut self, state: &PlugState) {
        let Some(object) = self.object.clone() else { return };
        self.shown.binding = self.record.binding();
        let status = plug_status(state, &self.record, &self.meta, &self.shown, &object["status"], &self.now);
        push_status(&mut self.plan, object, status);
    }
}

fn push_status(plan: &mut Plan, mut object: Value, status: Value) {
    if object["status"] != status {
        object["status"] = status;
        plan.push(Mutation::update(&PLUGS, object).status());
    }
}

/// Returns the time of the run in seconds, as in Kubernetes.
pub(crate) fn now(view: &View) -> String {
    let now = view.now();
    let whole = now.round(jiff::Unit::Second).unwrap_or(now);
    whole.to_string()
}

/// Returns the field manager of a side's objects. Each coupling has its own, so that two couplings with different
/// values for one object cause a conflict instead of a hot loop.
pub(super) fn manager(plug: &PlugMeta, side: CouplingSide) -> String {
    const MAX_MANAGER: usize = 128;
    let name = format!("plug:{}/{}:{}", plug.namespace, plug.name, side.as_str());
    if name.len() <= MAX_MANAGER {
        return name;
    }
    let hash = &crate::coupling::hash(&name)[..12];
    format!("{}-{hash}", &name[..name.floor_char_boundary(MAX_MANAGER - 13)])
}

/// Resource of Namespaces.
pub(crate) const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
