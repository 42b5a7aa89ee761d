//! From what a program left to a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use switchboard_gather::contract::{ControllerResult, ControllerStatus, Rules, is_left_of_panic};
use switchboard_gather::mutation::{self, Action};
use switchboard_kernel::plan::{Act, Expect, Mutation, PatchForm, Plan, Standing, Terms};

use crate::answer::{Answer, Wanted};
use crate::contract::Contract;
use crate::declare::{Kinds, place};
use crate::generated::{Made, Verdict};
use crate::telltale;

/// How many reasons are named.
const MAX_REASONS: usize = 3;
/// How much of one reason.
const MAX_REASON_BYTES: usize = 400;
/// When a program runs again that had to take back an update of its own.
const AGAIN: Duration = Duration::from_secs(1);

/// The plan of one or two answers: of the offline command, and of the live one.
pub(crate) fn plan(answers: &[Answer], contract: &Contract, kinds: &Kinds, made: &Made) -> Plan {
    let mut planning = Planning {
        contract,
        kinds,
        made,
        plan: Plan::nothing(),
        reasons: Vec::new(),
        limit: None,
        seen: BTreeMap::new(),
        late: Vec::new(),
    };
    for answer in answers {
        planning.take(answer);
    }
    planning.finish()
}

struct Planning<'a> {
    contract: &'a Contract,
    kinds: &'a Kinds,
    made: &'a Made,
    plan: Plan,
    reasons: Vec<String>,
    /// What the program's library cannot do, and a person must see to.
    limit: Option<String>,
    /// Who replaces an object as a whole.
    seen: BTreeMap<String, (usize, String)>,
    /// Updates that would undo another of the same run.
    late: Vec<String>,
}

impl Planning<'_> {
    fn take(&mut self, answer: &Answer) {
        self.limit = self.limit.take().or_else(|| telltale::found(answer));
        self.reasons.extend(answer.results.iter().filter_map(failure));
        self.reasons.extend(answer.problems.iter().map(|problem| format!("left what cannot be used: {problem}")));
        let refused = answer.attempts.iter().filter(|attempt| !attempt.allowed);
        self.reasons.extend(refused.map(|attempt| format!("may not connect to {}", attempt.to)));
        for wanted in &answer.mutations {
            let half = is_left_of_panic(&answer.results, &wanted.controller, wanted.is_event());
            if !half && !wanted.is_dry_run() {
                self.want(wanted);
            }
        }
    }

    fn want(&mut self, wanted: &Wanted) {
        let Some(bare) = wanted.bare() else {
            return self.reasons.push(format!("wants {} at {}, which is not known", wanted.action, wanted.place));
        };
        if let Some(why) = bare.unfit(&wanted.body) {
            return self.reasons.push(format!("may not {bare}: {why}"));
        }
        // What the program itself did not find declared may be so by wider rules than its own.
        let places = match place(bare.place) {
            Some(place) => vec![place],
            None => self.contract.outputs.places(&bare, Rules::Native).into_iter().filter_map(place).collect(),
        };
        if places.is_empty() {
            return self.reasons.push(format!("may not {bare}: it is not among the declared outputs"));
        }
        for place in places {
            // The arbiter refuses by the declaration; a create by `generateName` has no name yet that it could go by.
            let undeclared =
                self.contract.outputs.list(to_gather(place)).is_none_or(|list| !list.allows(&bare, Rules::Native));
            if undeclared && wanted.name.is_empty() {
                self.reasons.push(format!("may not {bare}: it is not among the declared outputs"));
                continue;
            }
            match mutation(wanted, self.kinds) {
                Ok(mutation) => self.add(mutation.at(place), wanted),
                Err(why) => self.reasons.push(why),
            }
        }
    }

    fn add(&mut self, mutation: Mutation, wanted: &Wanted) {
        match self.made.judge(&mutation, &self.plan.mutations) {
            Verdict::Make => {}
            Verdict::There => return,
            Verdict::TooMany(why) => return self.reasons.push(why),
        }
        // A program that declares an object for two places asks for it twice, also where both are one.
        if self.made.is_among(&mutation, &self.plan.mutations) {
            return;
        }
        if let Act::Update(_) = mutation.act {
            let (cluster, namespace) = self.made.home(mutation.place, &mutation.namespace);
            let object = format!("{cluster} {namespace} {mutation}");
            if let Some((_, first)) = self.seen.get(&object) {
                let (second, what) = (&wanted.controller, &mutation);
                self.late.push(format!("{first} and {second} both {what}"));
                return;
            }
            self.seen.insert(object, (self.plan.mutations.len(), wanted.controller.clone()));
        }
        self.plan.push(mutation);
    }

    fn finish(self) -> Plan {
        let Self { mut plan, mut reasons, limit, late, .. } = self;
        if let Some(first) = late.first() {
            // The second was made without knowing of the first: it is made anew when the first is there.
            plan = plan.again_after(AGAIN).waiting(format!("the first of two updates of one run to be seen: {first}"));
        }
        if let Some(limit) = limit {
            // To run again mends nothing of it; what else went wrong is tried again, and this is said with it.
            match (reasons.is_empty(), &plan.standing) {
                (false, _) => reasons.insert(0, limit),
                (true, Standing::Ready) => plan = plan.blocked(cut(&limit)),
                (true, _) => {}
            }
        }
        let more = reasons.len().saturating_sub(MAX_REASONS);
        let mut named: Vec<String> = reasons.iter().take(MAX_REASONS).map(|reason| cut(reason)).collect();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        if named.is_empty() { plan } else { plan.failing(named.join("; ")) }
    }
}

/// Why a controller failed, in its own words.
fn failure(result: &ControllerResult) -> Option<String> {
    let name = &result.controller_name;
    match &result.status {
        ControllerStatus::Succeeded | ControllerStatus::Skipped => None,
        ControllerStatus::Panicked => {
            let first = result.panic_stack.lines().next().unwrap_or("without a word");
            Some(format!("controller {name} panicked, and what it wrote before is left out: {first}"))
        }
        ControllerStatus::Failed => {
            let errors: Vec<&str> = result.errors.iter().map(|error| error.message.as_str()).collect();
            Some(format!(
                "controller {name} failed: {}",
                if errors.is_empty() { "without a word".into() } else { errors.join(", ") }
            ))
        }
        ControllerStatus::Unknown => Some(format!("controller {name} does not say how it did")),
        ControllerStatus::Other(word) => Some(format!("controller {name} ended {word}")),
    }
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_REASON_BYTES {
        text.to_string()
    } else {
        format!("{}…", &text[..text.floor_char_boundary(MAX_REASON_BYTES)])
    }
}

fn to_gather(place: switchboard_kernel::place::Place) -> mutation::Place {
    use switchboard_kernel::place::Place;
    match place {
        Place::Configuration => mutation::Place::Configuration,
        Place::Management => mutation::Place::Management,
        Place::UserWorkload => mutation::Place::UserWorkload,
    }
}

fn mutation(wanted: &Wanted, kinds: &Kinds) -> Result<Mutation, String> {
    let named = || wanted.bare().map(|bare| bare.to_string()).unwrap_or_default();
    let resource = kinds
        .written(&wanted.of)
        .ok_or_else(|| format!("may not {}: its type is neither declared nor served", named()))?;
    let action = Action::named(&wanted.action).ok_or_else(|| format!("knows no action {}", wanted.action))?;
    let mut body = wanted.body.clone();
    let mut terms = Terms::default();
    let act = match action {
        Action::Create => Act::Create(body),
        Action::Update | Action::UpdateStatus => Act::Update(body),
        Action::Apply | Action::ApplyStatus => {
            // Whose fields are whose is the server's to say; a client must not send it.
            if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
            Act::Apply { body, force: wanted.options["force"].as_bool().unwrap_or(false) }
        }
        Action::Patch | Action::PatchStatus => Act::Patch { form: form(wanted, &named())?, body },
        Action::Delete => {
            let (act, said) =
                Terms::read(&body, &wanted.options).map_err(|why| format!("may not {}: {why}", named()))?;
            terms = said;
            act
        }
    };
    let manager = Some(&wanted.field_manager).filter(|manager| !manager.is_empty()).cloned();
    let manager = manager.or_else(|| wanted.options["fieldManager"].as_str().map(str::to_string));
    let subresource = match (&*wanted.subresource, action.is_status()) {
        ("", false) => None,
        ("", true) => Some("status".to_string()),
        (other, _) => Some(other.to_string()),
    };
    Ok(Mutation {
        place: Default::default(),
        // A Namespace is written as if it were in itself.
        namespace: if resource.namespaced { wanted.namespace.clone() } else { String::new() },
        name: wanted.name.clone(),
        resource,
        subresource,
        act,
        expect: Expect::Seen,
        terms,
        field_manager: manager,
        field_validation: wanted.options["fieldValidation"].as_str().map(str::to_string),
        user: None,
    })
}

fn form(wanted: &Wanted, named: &str) -> Result<PatchForm, String> {
    match wanted.patch_type.as_str() {
        "application/json-patch+json" => Ok(PatchForm::Json),
        "application/merge-patch+json" => Ok(PatchForm::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchForm::Strategic),
        other => Err(format!("may not {named}: {other:?} is no kind of patch")),
    }
}

#[cfg(test)]
mod tests;
