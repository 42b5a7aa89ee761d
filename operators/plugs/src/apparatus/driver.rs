//! Looking after an apparatus from inside a decision: it is started, pinged, called and stopped.
//!
//! A call cannot be taken back, so nothing that may fail stands between a call and the record of it: what the pod needs is
//! written in runs of its own, before.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, PatchType, Plan};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::{ExternalClient, View};

use super::answer::{AnswerError, CallAnswer, config_answer};
use super::call::{ApparatusCall, ApparatusCaller, CALL_TIMEOUT};
use super::endpoint::{base_url, display_url, url};
use super::lifecycle::{self, PodStep};
use super::pod::{self, ANSWERED_ANNOTATION, ApparatusNames, IDLE_ANNOTATION, names};
use super::{Apparatus, deadline_after, renewed_deadline};
use crate::coupling::CouplingSnapshot;
use crate::model::PlugMeta;
use crate::render::CouplingSide;

const PODS: Resource = Resource::namespaced("", "v1", "Pod", "pods");
const SERVICES: Resource = Resource::namespaced("", "v1", "Service", "services");
/// Who manages the objects of an apparatus.
const MANAGER: &str = "switchboard-apparatus";
/// The longest that one call may take, whatever its spec says: a decision waits for it.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(25);

/// When one is asked again that was busy with somebody else's call.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome<T> {
    /// It is done.
    Done(T),
    /// Not yet: the plan brings it about, or something else that is noticed.
    Waiting(String),
    /// It failed, and is worth another try.
    Failed(String),
    /// It is wrong, and a person must change it.
    Invalid(String),
}

impl<T> CallOutcome<T> {
    /// As the plug shows it: a field of the socket with the socket's name before it.
    pub fn with_side(self, side: CouplingSide, both: &CouplingSnapshot) -> Self {
        let meta = PlugMeta::of(&both.socket);
        let named = |words: String| match side == CouplingSide::Socket && words.starts_with("spec.") {
            true => format!("socket {}/{}: {words}", meta.namespace, meta.name),
            false => words,
        };
        match self {
            CallOutcome::Done(done) => CallOutcome::Done(done),
            CallOutcome::Waiting(why) => CallOutcome::Waiting(named(why)),
            CallOutcome::Failed(why) => CallOutcome::Failed(named(why)),
            CallOutcome::Invalid(why) => CallOutcome::Invalid(named(why)),
        }
    }
}

/// Looks after apparatuses in one run.
#[derive(Clone, Copy)]
pub struct ApparatusDriver<'a> {
    /// What is.
    pub view: &'a View,
    /// The door to the outside.
    pub outside: &'a ExternalClient<'a>,
    /// Who goes through it.
    pub caller: &'a ApparatusCaller,
}

/// Where a call went, as it may be shown, and what was said.
type CallReply = (String, Option<Vec<u8>>);

/// A pod that can be called.
struct ReadyApparatus {
    base: String,
    pod: Option<Value>,
    names: ApparatusNames,
}

impl ApparatusDriver<'_> {
    /// Tells an event. `mark` is the same however often this one is told.
    ///
    /// # Errors
    /// [`Stop`] when not all was read yet.
    pub fn event(
        &self,
        apparatus: &Apparatus<'_>,
        event: &str,
        mark: &str,
        body: Value,
        plan: &mut Plan,
    ) -> Result<CallOutcome<()>, DecideError> {
        Ok(match self.post(apparatus, event, Some(mark), body, plan)? {
            CallOutcome::Done(_) => CallOutcome::Done(()),
            CallOutcome::Waiting(why) => CallOutcome::Waiting(why),
            CallOutcome::Failed(why) => CallOutcome::Failed(why),
            CallOutcome::Invalid(why) => CallOutcome::Invalid(why),
        })
    }

    /// Asks for the config that it adds.
    ///
    /// # Errors
    /// [`Stop`] when not all was read yet, or in a replay: what it said is not recorded.
    pub fn config(
        &self,
        apparatus: &Apparatus<'_>,
        body: Value,
        plan: &mut Plan,
    ) -> Result<CallOutcome<BTreeMap<String, String>>, DecideError> {
        let (at, said) = match self.post(apparatus, "config", None, body, plan)? {
            CallOutcome::Done(done) => done,
            CallOutcome::Waiting(why) => return Ok(CallOutcome::Waiting(why)),
            CallOutcome::Failed(why) => return Ok(CallOutcome::Failed(why)),
            CallOutcome::Invalid(why) => return Ok(CallOutcome::Invalid(why)),
        };
        let said = said.ok_or_else(|| DecideError::unrecorded("what an apparatus said"))?;
        Ok(match config_answer(&at, &said) {
            Ok(values) => CallOutcome::Done(values),
            Err(error) => CallOutcome::Failed(error.to_string()),
        })
    }

    /// Nobody calls it now: it is stopped when its time has come, or its spec is another. Looks again at its deadline.
    ///
    /// # Errors
    /// [`Stop`] when not all was read yet.
    pub fn stop_if_idle(&self, apparatus: &Apparatus<'_>, plan: &mut Plan) -> Result<(), DecideError> {
        if !apparatus.has_pod() {
            return Ok(());
        }
        let (names, pod) = self.pod(apparatus)?;
        match lifecycle::decide(apparatus, pod.as_ref(), false, self.view.now()) {
            PodStep::Stop => drop(plan.push(Mutation::delete(&PODS, apparatus.namespace(), &names.name))),
            PodStep::Idle { until } => self.requeue_at(until, plan),
            _ => {}
        }
        Ok(())
    }

    /// Makes a call, once the program can be called.
    fn post(
        &self,
        apparatus: &Apparatus<'_>,
        call: &str,
        mark: Option<&str>,
        body: Value,
        plan: &mut Plan,
    ) -> Result<CallOutcome<CallReply>, DecideError> {
        let ready = match self.ensure_ready(apparatus, plan)? {
            CallOutcome::Done(ready) => ready,
            CallOutcome::Waiting(why) => return Ok(CallOutcome::Waiting(why)),
            CallOutcome::Failed(why) => return Ok(CallOutcome::Failed(why)),
            CallOutcome::Invalid(why) => return Ok(CallOutcome::Invalid(why)),
        };
        let timeout = timeout(apparatus);
        let at = display_url(&url(&ready.base, call));
        let what = if mark.is_some() { format!("event {call}") } else { call.to_string() };
        let asked = ApparatusCall::post(&ready.base, call, body, timeout).with_mark(mark);
        let said = self.caller.call(self.outside, asked).map_err(DecideError::Failed)?;
        match said.answer.check(&what, &at, timeout) {
            Ok(()) => Ok(CallOutcome::Done((at, said.body))),
            Err(error @ AnswerError::Busy { .. }) => {
                self.requeue_at(self.view.now() + BUSY_WAIT, plan);
                Ok(CallOutcome::Waiting(error.to_string()))
            }
            Err(error @ AnswerError::NotRunning { .. }) if ready.pod.is_some() => {
                // It answered once and is gone: from the beginning.
                self.annotate(apparatus, &ready.names, json!({ANSWERED_ANNOTATION: null}), plan);
                Ok(CallOutcome::Waiting(error.to_string()))
            }
            // Of a program that runs elsewhere nothing else is known.
            Err(error @ AnswerError::NotRunning { .. }) => {
                Ok(CallOutcome::Failed(format!("spec.apparatus.endpoint: {error}; start it, or name another endpoint")))
            }
            Err(error) => Ok(CallOutcome::Failed(error.to_string())),
        }
    }

    /// Brings it about that it can be called.
    fn ensure_ready(
        &self,
        apparatus: &Apparatus<'_>,
        plan: &mut Plan,
    ) -> Result<CallOutcome<ReadyApparatus>, DecideError> {
        let now = self.view.now();
        if !apparatus.has_pod() {
            let names = names(apparatus, None);
            return Ok(match base_url(apparatus, &names, None) {
                Ok(base) => CallOutcome::Done(ReadyApparatus { base, pod: None, names }),
                Err(error) => CallOutcome::Invalid(error.to_string()),
            });
        }
        let (names, pod) = self.pod(apparatus)?;
        Ok(match (lifecycle::decide(apparatus, pod.as_ref(), true, now), pod) {
            (PodStep::Ping, Some(pod)) => self.ping(apparatus, names, pod, plan)?,
            (PodStep::Wait { until, why }, _) => {
                self.requeue_at(until, plan);
                CallOutcome::Waiting(format!("the apparatus to start: {why}"))
            }
            (PodStep::Replace { why }, _) => {
                plan.push(Mutation::delete(&PODS, apparatus.namespace(), &names.name));
                CallOutcome::Waiting(format!("the apparatus to be replaced: {why}"))
            }
            _ => self.start(apparatus, &names, now, plan),
        })
    }

    fn start(
        &self,
        apparatus: &Apparatus<'_>,
        names: &ApparatusNames,
        now: Timestamp,
        plan: &mut Plan,
    ) -> CallOutcome<ReadyApparatus> {
        let deadline = deadline_after(apparatus, now).to_string();
        let made =
            pod::service(apparatus, names).and_then(|service| Ok((service, pod::pod(apparatus, names, &deadline)?)));
        let (service, pod) = match made {
            Ok(made) => made,
            Err(error) => return CallOutcome::Invalid(error.to_string()),
        };
        // Applied, not created: several plugs of a socket may want it at once.
        for (kind, body) in [(&SERVICES, service), (&PODS, pod)] {
            plan.push(Mutation::apply(kind, body).managed_by(MANAGER).forced().unconditional());
        }
        CallOutcome::Waiting("the apparatus to start".to_string())
    }

    /// A pod that answered is not pinged again; its deadline is moved before a call, never behind one.
    fn ping(
        &self,
        apparatus: &Apparatus<'_>,
        names: ApparatusNames,
        pod: Value,
        plan: &mut Plan,
    ) -> Result<CallOutcome<ReadyApparatus>, DecideError> {
        let now = self.view.now();
        let base = match base_url(apparatus, &names, Some(&pod)) {
            Ok(base) => base,
            Err(error) => return Ok(CallOutcome::Invalid(error.to_string())),
        };
        let answered = pod.pointer("/metadata/annotations").is_some_and(|all| all.get(ANSWERED_ANNOTATION).is_some());
        let renewed = renewed_deadline(apparatus, &pod, now).map(|until| until.to_string());
        if answered && renewed.is_none() {
            return Ok(CallOutcome::Done(ReadyApparatus { base, pod: Some(pod), names }));
        }
        if !answered {
            let said = self.caller.call(self.outside, ApparatusCall::ping(&base)).map_err(DecideError::Failed)?;
            if !matches!(said.answer, CallAnswer::Status(status) if status < 400) {
                return Ok(self.wait_for_answer(apparatus, &names, &pod, &said.answer, plan));
            }
        }
        let until = renewed.unwrap_or_else(|| deadline_after(apparatus, now).to_string());
        self.annotate(apparatus, &names, json!({ANSWERED_ANNOTATION: "true", IDLE_ANNOTATION: until}), plan);
        Ok(CallOutcome::Waiting("the apparatus to be kept for a while".to_string()))
    }

    fn wait_for_answer(
        &self,
        apparatus: &Apparatus<'_>,
        names: &ApparatusNames,
        pod: &Value,
        answer: &CallAnswer,
        plan: &mut Plan,
    ) -> CallOutcome<ReadyApparatus> {
        match lifecycle::step_after_failed_ping(apparatus, pod, answer, self.view.now()) {
            PodStep::Wait { until, why } => {
                self.requeue_at(until, plan);
                CallOutcome::Waiting(format!("the apparatus to answer: {why}"))
            }
            PodStep::Replace { why } => {
                plan.push(Mutation::delete(&PODS, apparatus.namespace(), &names.name));
                CallOutcome::Waiting(format!("the apparatus to be replaced: {why}"))
            }
            _ => CallOutcome::Waiting("the apparatus to answer".to_string()),
        }
    }

    fn annotate(&self, apparatus: &Apparatus<'_>, names: &ApparatusNames, annotations: Value, plan: &mut Plan) {
        let body = json!({"metadata": {"annotations": annotations}});
        plan.push(Mutation::patch(&PODS, apparatus.namespace(), &names.name, PatchType::Merge, body));
    }

    fn pod(&self, apparatus: &Apparatus<'_>) -> Result<(ApparatusNames, Option<Value>), DecideError> {
        let first = names(apparatus, None);
        let service = self.view.get(&SERVICES, apparatus.namespace(), &first.name)?.map(|object| object.value());
        let names = names(apparatus, service.as_ref());
        let pod = self.view.get(&PODS, apparatus.namespace(), &names.name)?.map(|object| object.value());
        Ok((names, pod))
    }

    fn requeue_at(&self, until: Timestamp, plan: &mut Plan) {
        let wait = Duration::try_from(until.duration_since(self.view.now())).unwrap_or_default();
        plan.requeue_after = Some(plan.requeue_after.map_or(wait, |again| again.min(wait)));
    }
}

fn timeout(apparatus: &Apparatus<'_>) -> Duration {
    let said = apparatus.spec["timeout"].as_u64().map(|seconds| Duration::from_secs(seconds.max(1)));
    said.unwrap_or(CALL_TIMEOUT).min(MAX_CALL_TIMEOUT)
}
