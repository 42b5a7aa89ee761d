//! Drives an apparatus from within a decision: starts, pings, calls and stops it.
//!
//! A call cannot be undone. No write that may fail stands between a call and the record of that call: writes for the
//! pod are made in earlier runs.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, PatchType, Plan};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::View;

use super::answer::{AnswerError, CallAnswer, config_answer};
use super::call::{ApparatusCall, ApparatusCaller, CALL_TIMEOUT};
use super::endpoint::{base_url, display_url, url};
use super::lifecycle::{self, PodStep};
use super::pod::{self, ANSWERED_ANNOTATION, ApparatusNames, IDLE_ANNOTATION, names};
use super::{Apparatus, deadline_after, renewed_deadline};
use crate::coupling::CouplingSnapshot;
use crate::model::PlugMeta;
use crate::render::CouplingSide;

/// Resource of Pods.
pub(crate) const PODS: Resource = Resource::namespaced("", "v1", "Pod", "pods");
/// Resource of Services.
pub(crate) const SERVICES: Resource = Resource::namespaced("", "v1", "Service", "services");
/// Field manager of an apparatus' objects.
const MANAGER: &str = "switchboard-apparatus";
/// Upper bound for the timeout of one call, because a decision waits for the response.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(25);

/// Delay before a call to a busy apparatus is retried.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Outcome of a step with an apparatus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome<T> {
    /// The step is done.
    Done(T),
    /// The step waits for the writes of the plan, or for a change that triggers the unit.
    Waiting(String),
    /// The step failed and can be retried.
    Failed(String),
    /// The configuration is invalid, and the user must change it.
    Invalid(String),
}

impl<T> CallOutcome<T> {
    /// Adds the socket's name to messages about the socket's fields, for the status of the plug.
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

/// Drives apparatuses within one run.
#[derive(Clone, Copy)]
pub struct ApparatusDriver<'a> {
    /// View of the cluster.
    pub view: &'a View,
    /// Sender of the calls.
    pub caller: &'a ApparatusCaller,
}

/// URL of a call as it may be displayed, and the response body.
type CallReply = (String, Option<Vec<u8>>);

/// Apparatus that can be called.
struct ReadyApparatus {
    base: String,
    pod: Option<Value>,
    names: ApparatusNames,
}

impl ApparatusDriver<'_> {
    /// Sends an event. `mark` is the same for every attempt to send this event.
    ///
    /// # Errors
    /// [`DecideError`] if objects are not cached yet.
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

    /// Requests the config values that the apparatus adds.
    ///
    /// # Errors
    /// [`DecideError`] if objects are not cached yet, or in a replay, because response bodies are not recorded.
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

    /// Stops the apparatus if its idle deadline has passed or its spec has changed. Otherwise requeues at the deadline.
    ///
    /// # Errors
    /// [`DecideError`] if objects are not cached yet.
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

    /// Makes a call once the apparatus is ready.
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
        let said = self.caller.call(self.view, &asked).map_err(DecideError::Failed)?;
        match said.answer.check(&what, &at, timeout) {
            Ok(()) => Ok(CallOutcome::Done((at, said.body))),
            Err(error @ AnswerError::Busy { .. }) => {
                self.requeue_at(self.view.now() + BUSY_WAIT, plan);
                Ok(CallOutcome::Waiting(error.to_string()))
            }
            Err(error @ AnswerError::NotRunning { .. }) if ready.pod.is_some() => {
                // The program answered before and has stopped since: start over.
                self.annotate(apparatus, &ready.names, json!({ANSWERED_ANNOTATION: null}), plan);
                Ok(CallOutcome::Waiting(error.to_string()))
            }
            // The state of an external program is unknown beyond this error.
            Err(error @ AnswerError::NotRunning { .. }) => {
                Ok(CallOutcome::Failed(format!("spec.apparatus.endpoint: {error}; start it, or set another endpoint")))
            }
            Err(error) => Ok(CallOutcome::Failed(error.to_string())),
        }
    }

    /// Brings the apparatus into a state in which it can be called.
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
        // Apply instead of create: several plugs of a socket may start the same apparatus at once.
        for (kind, body) in [(&SERVICES, service), (&PODS, pod)] {
            plan.push(Mutation::apply(kind, body).managed_by(MANAGER).forced().unconditional());
        }
        CallOutcome::Waiting("the apparatus to start".to_string())
    }

    /// Pings a pod until it answers once. Extends the idle deadline before a call, never after it.
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
            let said = self.caller.call(self.view, &ApparatusCall::ping(&base)).map_err(DecideError::Failed)?;
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
