//! Conversion of run results to a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use switchboard_gather::contract::{ContractRules, ControllerResult, ControllerStatus, is_cut_short_by_panic};
use switchboard_gather::mutation::{self, Action};
use switchboard_kernel::plan::{DeleteOptions, Mutation, PatchType, Plan, Preconditions, UnitStatus, WriteOp};

use crate::contract::Contract;
use crate::declaration::{ContractKinds, cluster_type};
use crate::generated::{CreateDecision, GeneratedObjects};
use crate::known_errors;
use crate::run_result::{ProgramWrite, RunResult};

/// Maximum number of reasons in a message.
const MAX_REASONS: usize = 3;
/// Maximum length of one reason.
const MAX_REASON_BYTES: usize = 400;
/// Delay before a program runs again after a conflict between two of its updates.
const CONFLICT_REQUEUE: Duration = Duration::from_secs(1);

/// Returns the plan of one or two results: of the offline command, and of the live command.
pub(crate) fn plan(answers: &[RunResult], contract: &Contract, kinds: &ContractKinds, made: &GeneratedObjects) -> Plan {
    let mut planning = PlanBuilder {
        contract,
        kinds,
        made,
        plan: Plan::nothing(),
        reasons: Vec::new(),
        limit: None,
        updates: BTreeMap::new(),
        conflicting_updates: Vec::new(),
    };
    for answer in answers {
        planning.add_result(answer);
    }
    planning.finish()
}

struct PlanBuilder<'a> {
    contract: &'a Contract,
    kinds: &'a ContractKinds,
    made: &'a GeneratedObjects,
    plan: Plan,
    reasons: Vec<String>,
    /// Known error of the program's library that requires a change by the user.
    limit: Option<String>,
    /// Updates of the run, by object.
    updates: BTreeMap<String, (usize, String)>,
    /// Updates that would overwrite another one of the same run.
    conflicting_updates: Vec<String>,
}

impl PlanBuilder<'_> {
    fn add_result(&mut self, answer: &RunResult) {
        self.limit = self.limit.take().or_else(|| known_errors::find(answer));
        self.reasons.extend(answer.results.iter().filter_map(failure));
        self.reasons.extend(answer.problems.iter().map(|problem| format!("wrote invalid output: {problem}")));
        let refused = answer.attempts.iter().filter(|attempt| !attempt.allowed);
        self.reasons.extend(refused.map(|attempt| format!("may not connect to {}", attempt.to)));
        for wanted in &answer.mutations {
            let half = is_cut_short_by_panic(&answer.results, &wanted.controller, wanted.is_event());
            if !half && !wanted.is_dry_run() {
                self.add_write(wanted);
            }
        }
    }

    fn add_write(&mut self, wanted: &ProgramWrite) {
        let Some(bare) = wanted.without_body() else {
            return self
                .reasons
                .push(format!("may not {}: cluster type `{}` is unknown", wanted.action, wanted.cluster_type));
        };
        if let Some(why) = bare.invalid_reason(&wanted.body) {
            return self.reasons.push(format!("may not {bare}: {why}"));
        }
        // Writes without a cluster type may be declared under the more permissive rules of native operators.
        let places = match cluster_type(bare.cluster) {
            Some(place) => vec![place],
            None => self
                .contract
                .outputs
                .clusters_for(&bare, ContractRules::Native)
                .into_iter()
                .filter_map(cluster_type)
                .collect(),
        };
        if places.is_empty() {
            return self.reasons.push(format!("may not {bare}: it is not among the declared outputs"));
        }
        for place in places {
            // The kernel refuses undeclared writes by name, but a create with `generateName` has no name yet.
            let undeclared = self
                .contract
                .outputs
                .list(contract_place(place))
                .is_none_or(|list| !list.allows(&bare, ContractRules::Native));
            if undeclared && wanted.name.is_empty() {
                self.reasons.push(format!("may not {bare}: it is not among the declared outputs"));
                continue;
            }
            match mutation(wanted, self.kinds) {
                Ok(mutation) => self.add_mutation(mutation.on(place), wanted),
                Err(why) => self.reasons.push(why),
            }
        }
    }

    fn add_mutation(&mut self, mutation: Mutation, wanted: &ProgramWrite) {
        match self.made.decide(&mutation, &self.plan.mutations) {
            CreateDecision::Create => {}
            CreateDecision::Exists => return,
            CreateDecision::TooMany(why) => return self.reasons.push(why),
        }
        // A program that declares an object for two cluster types writes it twice, even if both are the same cluster.
        if self.made.is_planned(&mutation, &self.plan.mutations) {
            return;
        }
        if let WriteOp::Update(_) = mutation.operation {
            let (cluster, namespace) = self.made.real_namespace(mutation.cluster_type, &mutation.namespace);
            let object = format!("{cluster} {namespace} {mutation}");
            if let Some((_, first)) = self.updates.get(&object) {
                let (second, what) = (&wanted.controller, &mutation);
                self.conflicting_updates.push(format!("{first} and {second} both {what}"));
                return;
            }
            self.updates.insert(object, (self.plan.mutations.len(), wanted.controller.clone()));
        }
        self.plan.push(mutation);
    }

    fn finish(self) -> Plan {
        let Self { mut plan, mut reasons, limit, conflicting_updates: late, .. } = self;
        if let Some(first) = late.first() {
            // The second update was computed without the first one. The next run recomputes it.
            plan = plan
                .requeue_after(CONFLICT_REQUEUE)
                .waiting(format!("the first of two updates of one run to be observed: {first}"));
        }
        if let Some(limit) = limit {
            // A retry cannot fix a known error. Other failures are retried, and their message includes it.
            match (reasons.is_empty(), &plan.status) {
                (false, _) => reasons.insert(0, limit),
                (true, UnitStatus::Ready) => plan = plan.blocked(truncated(&limit)),
                (true, _) => {}
            }
        }
        let more = reasons.len().saturating_sub(MAX_REASONS);
        let mut named: Vec<String> = reasons.iter().take(MAX_REASONS).map(|reason| truncated(reason)).collect();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        if named.is_empty() { plan } else { plan.failing(named.join("; ")) }
    }
}

/// Returns the reason of a controller's failure.
fn failure(result: &ControllerResult) -> Option<String> {
    let name = &result.controller_name;
    match &result.status {
        ControllerStatus::Succeeded | ControllerStatus::Skipped => None,
        ControllerStatus::Panicked => {
            let first = result.panic_stack.lines().next().unwrap_or("without a word");
            Some(format!("controller {name} panicked, and its writes are skipped: {first}"))
        }
        ControllerStatus::Failed => {
            let errors: Vec<&str> = result.errors.iter().map(|error| error.message.as_str()).collect();
            Some(format!(
                "controller {name} failed: {}",
                if errors.is_empty() { "without a word".into() } else { errors.join(", ") }
            ))
        }
        ControllerStatus::Unknown => Some(format!("controller {name} reports no result")),
        ControllerStatus::Other(word) => Some(format!("controller {name} ended {word}")),
    }
}

fn truncated(text: &str) -> String {
    if text.len() <= MAX_REASON_BYTES {
        text.to_string()
    } else {
        format!("{}…", &text[..text.floor_char_boundary(MAX_REASON_BYTES)])
    }
}

fn contract_place(place: switchboard_kernel::topology::ClusterType) -> mutation::OutputCluster {
    use switchboard_kernel::topology::ClusterType;
    match place {
        ClusterType::Configuration => mutation::OutputCluster::Configuration,
        ClusterType::Management => mutation::OutputCluster::Management,
        ClusterType::UserWorkload => mutation::OutputCluster::UserWorkload,
    }
}

fn mutation(wanted: &ProgramWrite, kinds: &ContractKinds) -> Result<Mutation, String> {
    let named = || wanted.without_body().map(|bare| bare.to_string()).unwrap_or_default();
    let resource = kinds
        .resource_for_write(&wanted.of)
        .ok_or_else(|| format!("may not {}: its type is neither declared nor served", named()))?;
    let action = Action::from_name(&wanted.action)
        .ok_or_else(|| format!("may not {}: unknown action `{}`", named(), wanted.action))?;
    let mut body = wanted.body.clone();
    let mut terms = DeleteOptions::default();
    let act = match action {
        Action::Create => WriteOp::Create(body),
        Action::Update | Action::UpdateStatus => WriteOp::Update(body),
        Action::Apply | Action::ApplyStatus => {
            // The API server maintains field ownership; clients must not send it.
            if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
            WriteOp::Apply { body, force: wanted.options["force"].as_bool().unwrap_or(false) }
        }
        Action::Patch | Action::PatchStatus => WriteOp::Patch { patch_type: form(wanted, &named())?, body },
        Action::Delete => {
            let (act, said) =
                DeleteOptions::read(&body, &wanted.options).map_err(|why| format!("may not {}: {why}", named()))?;
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
        cluster_type: Default::default(),
        // Contracts list a Namespace as if it were in itself.
        namespace: if resource.namespaced { wanted.namespace.clone() } else { String::new() },
        name: wanted.name.clone(),
        resource,
        subresource,
        operation: act,
        preconditions: Preconditions::AsRead,
        delete_options: terms,
        field_manager: manager,
        field_validation: wanted.options["fieldValidation"].as_str().map(str::to_string),
        user: None,
    })
}

fn form(wanted: &ProgramWrite, named: &str) -> Result<PatchType, String> {
    match wanted.patch_type.as_str() {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchType::Strategic),
        other => Err(format!("may not {named}: `{other}` is not a patch type")),
    }
}

#[cfg(test)]
mod tests;
