//! Looking after an apparatus from inside a decision: it is started, pinged, called and stopped.
//!
//! A call cannot be taken back, so nothing that may fail stands between a call and the record of it: what the pod needs is
//! written in runs of its own, before.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::{Mutation, PatchForm, Plan};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::{Outside, View};

use super::answer::{Answer, AnswerError, config_answer};
use super::call::{CALL_TIMEOUT, Call, Caller};
use super::endpoint::{base_url, shown, url};
use super::life::{self, Step};
use super::pod::{self, ANSWERED_ANNOTATION, IDLE_ANNOTATION, Names, names};
use super::{Apparatus, deadline_after, needs_renewal};
use crate::coupling::Snapshot;
use crate::model::Meta;
use crate::render::Who;

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
pub enum Outcome<T> {
    /// It is done.
    Done(T),
    /// Not yet: the plan brings it about, or something else that is noticed.
    Waits(String),
    /// It failed, and is worth another try.
    Failed(String),
    /// It is wrong, and a person must change it.
    Wrong(String),
}

impl<T> Outcome<T> {
    /// As the plug shows it: a field of the socket with the socket's name before it.
    pub fn named(self, who: Who, both: &Snapshot) -> Self {
        let meta = Meta::of(&both.socket);
        let named = |words: String| match who == Who::Socket && words.starts_with("spec.") {
            true => format!("socket {}/{}: {words}", meta.namespace, meta.name),
            false => words,
        };
        match self {
            Outcome::Done(done) => Outcome::Done(done),
            Outcome::Waits(why) => Outcome::Waits(named(why)),
            Outcome::Failed(why) => Outcome::Failed(named(why)),
            Outcome::Wrong(why) => Outcome::Wrong(named(why)),
        }
    }
}

/// Looks after apparatuses in one run.
#[derive(Clone, Copy)]
pub struct Attendant<'a> {
    /// What is.
    pub view: &'a View,
    /// The door to the outside.
    pub outside: &'a Outside<'a>,
    /// Who goes through it.
    pub caller: &'a Caller,
}

/// Where a call went, as it may be shown, and what was said.
type Heard = (String, Option<Vec<u8>>);

/// A pod that can be called.
struct Standing {
    base: String,
    pod: Option<Value>,
    names: Names,
}

impl Attendant<'_> {
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
    ) -> Result<Outcome<()>, Stop> {
        Ok(match self.post(apparatus, event, Some(mark), body, plan)? {
            Outcome::Done(_) => Outcome::Done(()),
            Outcome::Waits(why) => Outcome::Waits(why),
            Outcome::Failed(why) => Outcome::Failed(why),
            Outcome::Wrong(why) => Outcome::Wrong(why),
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
    ) -> Result<Outcome<BTreeMap<String, String>>, Stop> {
        let (at, said) = match self.post(apparatus, "config", None, body, plan)? {
            Outcome::Done(done) => done,
            Outcome::Waits(why) => return Ok(Outcome::Waits(why)),
            Outcome::Failed(why) => return Ok(Outcome::Failed(why)),
            Outcome::Wrong(why) => return Ok(Outcome::Wrong(why)),
        };
        let said = said.ok_or_else(|| Stop::unrecorded("what an apparatus said"))?;
        Ok(match config_answer(&at, &said) {
            Ok(values) => Outcome::Done(values),
            Err(error) => Outcome::Failed(error.to_string()),
        })
    }

    /// Nobody calls it now: it is stopped when its time has come, or its spec is another. Looks again at its deadline.
    ///
    /// # Errors
    /// [`Stop`] when not all was read yet.
    pub fn rest(&self, apparatus: &Apparatus<'_>, plan: &mut Plan) -> Result<(), Stop> {
        if !apparatus.has_pod() {
            return Ok(());
        }
        let (names, pod) = self.pod(apparatus)?;
        match life::decide(apparatus, pod.as_ref(), false, self.view.now()) {
            Step::Stop => drop(plan.push(Mutation::delete(&PODS, apparatus.namespace(), &names.name))),
            Step::Idle { until } => self.look_again(until, plan),
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
    ) -> Result<Outcome<Heard>, Stop> {
        let standing = match self.ready(apparatus, plan)? {
            Outcome::Done(standing) => standing,
            Outcome::Waits(why) => return Ok(Outcome::Waits(why)),
            Outcome::Failed(why) => return Ok(Outcome::Failed(why)),
            Outcome::Wrong(why) => return Ok(Outcome::Wrong(why)),
        };
        let timeout = timeout(apparatus);
        let at = shown(&url(&standing.base, call));
        let what = if mark.is_some() { format!("event {call}") } else { call.to_string() };
        let asked = Call::post(&standing.base, call, body, timeout).marked(mark);
        let said = self.caller.call(self.outside, asked).map_err(Stop::Failed)?;
        match said.answer.check(&what, &at, timeout) {
            Ok(()) => Ok(Outcome::Done((at, said.body))),
            Err(error @ AnswerError::Busy { .. }) => {
                self.look_again(self.view.now() + BUSY_WAIT, plan);
                Ok(Outcome::Waits(error.to_string()))
            }
            Err(error @ AnswerError::NotRunning { .. }) if standing.pod.is_some() => {
                // It answered once and is gone: from the beginning.
                self.mark(apparatus, &standing.names, json!({ANSWERED_ANNOTATION: null}), plan);
                Ok(Outcome::Waits(error.to_string()))
            }
            // Of a program that runs elsewhere nothing else is known.
            Err(error @ AnswerError::NotRunning { .. }) => {
                Ok(Outcome::Failed(format!("spec.apparatus.endpoint: {error}; start it, or name another endpoint")))
            }
            Err(error) => Ok(Outcome::Failed(error.to_string())),
        }
    }

    /// Brings it about that it can be called.
    fn ready(&self, apparatus: &Apparatus<'_>, plan: &mut Plan) -> Result<Outcome<Standing>, Stop> {
        let now = self.view.now();
        if !apparatus.has_pod() {
            let names = names(apparatus, None);
            return Ok(match base_url(apparatus, &names, None) {
                Ok(base) => Outcome::Done(Standing { base, pod: None, names }),
                Err(error) => Outcome::Wrong(error.to_string()),
            });
        }
        let (names, pod) = self.pod(apparatus)?;
        Ok(match (life::decide(apparatus, pod.as_ref(), true, now), pod) {
            (Step::Ping, Some(pod)) => self.ping(apparatus, names, pod, plan)?,
            (Step::Wait { until, why }, _) => {
                self.look_again(until, plan);
                Outcome::Waits(format!("the apparatus to start: {why}"))
            }
            (Step::Replace { why }, _) => {
                plan.push(Mutation::delete(&PODS, apparatus.namespace(), &names.name));
                Outcome::Waits(format!("the apparatus to be replaced: {why}"))
            }
            _ => self.start(apparatus, &names, now, plan),
        })
    }

    fn start(&self, apparatus: &Apparatus<'_>, names: &Names, now: Timestamp, plan: &mut Plan) -> Outcome<Standing> {
        let deadline = deadline_after(apparatus, now).to_string();
        let made =
            pod::service(apparatus, names).and_then(|service| Ok((service, pod::pod(apparatus, names, &deadline)?)));
        let (service, pod) = match made {
            Ok(made) => made,
            Err(error) => return Outcome::Wrong(error.to_string()),
        };
        // Applied, not created: several plugs of a socket may want it at once.
        for (kind, body) in [(&SERVICES, service), (&PODS, pod)] {
            plan.push(Mutation::apply(kind, body).managed_by(MANAGER).forced().regardless());
        }
        Outcome::Waits("the apparatus to start".to_string())
    }

    /// A pod that answered is not pinged again; its deadline is moved before a call, never behind one.
    fn ping(
        &self,
        apparatus: &Apparatus<'_>,
        names: Names,
        pod: Value,
        plan: &mut Plan,
    ) -> Result<Outcome<Standing>, Stop> {
        let now = self.view.now();
        let base = match base_url(apparatus, &names, Some(&pod)) {
            Ok(base) => base,
            Err(error) => return Ok(Outcome::Wrong(error.to_string())),
        };
        let answered = pod.pointer("/metadata/annotations").is_some_and(|all| all.get(ANSWERED_ANNOTATION).is_some());
        let renewed = needs_renewal(apparatus, &pod, now).map(|until| until.to_string());
        if answered && renewed.is_none() {
            return Ok(Outcome::Done(Standing { base, pod: Some(pod), names }));
        }
        if !answered {
            let said = self.caller.call(self.outside, Call::ping(&base)).map_err(Stop::Failed)?;
            if !matches!(said.answer, Answer::Status(status) if status < 400) {
                return Ok(self.silent(apparatus, &names, &pod, &said.answer, plan));
            }
        }
        let until = renewed.unwrap_or_else(|| deadline_after(apparatus, now).to_string());
        self.mark(apparatus, &names, json!({ANSWERED_ANNOTATION: "true", IDLE_ANNOTATION: until}), plan);
        Ok(Outcome::Waits("the apparatus to be kept for a while".to_string()))
    }

    fn silent(
        &self,
        apparatus: &Apparatus<'_>,
        names: &Names,
        pod: &Value,
        answer: &Answer,
        plan: &mut Plan,
    ) -> Outcome<Standing> {
        match life::unanswered(apparatus, pod, answer, self.view.now()) {
            Step::Wait { until, why } => {
                self.look_again(until, plan);
                Outcome::Waits(format!("the apparatus to answer: {why}"))
            }
            Step::Replace { why } => {
                plan.push(Mutation::delete(&PODS, apparatus.namespace(), &names.name));
                Outcome::Waits(format!("the apparatus to be replaced: {why}"))
            }
            _ => Outcome::Waits("the apparatus to answer".to_string()),
        }
    }

    fn mark(&self, apparatus: &Apparatus<'_>, names: &Names, annotations: Value, plan: &mut Plan) {
        let body = json!({"metadata": {"annotations": annotations}});
        plan.push(Mutation::patch(&PODS, apparatus.namespace(), &names.name, PatchForm::Merge, body));
    }

    fn pod(&self, apparatus: &Apparatus<'_>) -> Result<(Names, Option<Value>), Stop> {
        let first = names(apparatus, None);
        let service = self.view.get(&SERVICES, apparatus.namespace(), &first.name)?.map(|object| object.value());
        let names = names(apparatus, service.as_ref());
        let pod = self.view.get(&PODS, apparatus.namespace(), &names.name)?.map(|object| object.value());
        Ok((names, pod))
    }

    fn look_again(&self, until: Timestamp, plan: &mut Plan) {
        let wait = Duration::try_from(until.duration_since(self.view.now())).unwrap_or_default();
        plan.again = Some(plan.again.map_or(wait, |again| again.min(wait)));
    }
}

fn timeout(apparatus: &Apparatus<'_>) -> Duration {
    let said = apparatus.spec["timeout"].as_u64().map(|seconds| Duration::from_secs(seconds.max(1)));
    said.unwrap_or(CALL_TIMEOUT).min(MAX_CALL_TIMEOUT)
}
