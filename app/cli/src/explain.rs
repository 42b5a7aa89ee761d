//! `why`, `why-not`, `top` and `replay`: what the journal and a running kernel tell.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use switchboard_kernel::config::Config;
use switchboard_kernel::decision::{Decision, DecisionId, Outcome};
use switchboard_kernel::explain::{self, FieldPath, ReplayReport, Target};
use switchboard_kernel::journal::Entry;
use switchboard_kernel::operator::Unit;
use switchboard_kernel::replay::{Replayed, replay_within};
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::State;

use crate::again::Watch;
use crate::failure::Failure;
pub use crate::form::{Form, print};
use crate::kernel::StateDir;
use crate::talk::say;
use crate::{DIFFERS, limits, operators, paint};

/// Says why an object is as it is.
#[derive(Args)]
pub struct WhyObject {
    /// The object, as `configmap/web` or `deployments.apps/web`
    #[arg(value_name = "KIND/NAME", value_parser = target)]
    object: (String, String),
    /// Its namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Its cluster, as the configuration names it
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Only this field, as `.spec.replicas`
    #[arg(long, value_name = "PATH")]
    field: Option<FieldPath>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    state: StateDir,
}

fn target(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((kind.to_string(), name.to_string()))
        }
        _ => Err("write it as KIND/NAME, for example configmap/web".to_string()),
    }
}

impl WhyObject {
    /// Prints the report.
    pub async fn run(self) -> Result<(), Failure> {
        self.watch.show(|| self.look()).await
    }

    async fn look(&self) -> Result<String, Failure> {
        // Asked first: what it tells of stands in the journal by then.
        let state = self.state.state().await.ok();
        let journal = self.state.journal()?;
        let state = state.unwrap_or_else(|| {
            say("note: no kernel runs here; this is what its journal tells");
            State { now: now(), ..State::default() }
        });
        let (kind, name) = self.object.clone();
        let target = Target { cluster: self.cluster.clone(), kind, namespace: self.namespace.clone(), name };
        let entries: Vec<Entry> = journal.newest().collect();
        check_known(&target, &entries, &state)?;
        let live = self.live(&target, &entries, &state).await?;
        let read = |id: DecisionId, key: &ObjectKey| {
            let kept = journal.contents(id)?.objects.into_iter().find(|kept| kept.key == *key);
            kept.map(|kept| kept.value)
        };
        let reach = journal.reach();
        let report = explain::why(&target, self.field.as_ref(), &entries, &reach, &state, live.as_ref(), &read);
        shown(&report, self.output)
    }

    /// Who wrote the object, as it says itself; null when there is none.
    async fn live(&self, target: &Target, entries: &[Entry], state: &State) -> Result<Option<Value>, Failure> {
        let known = explain::explained(target, entries);
        let certain = known.is_some() || target.namespace.is_some();
        let Some(key) = known.or_else(|| watched(target, state)) else { return Ok(None) };
        let body = serde_json::to_string(&key)?;
        let answer = match self.state.ask::<Value>("POST", "/api/v1/fields", body).await {
            Ok(answer) => answer,
            Err(error) => {
                if !state.operators.is_empty() {
                    say(format_args!("note: {error}"));
                }
                return Ok(None);
            }
        };
        // An object that is not in a guessed namespace may be in another.
        Ok(Some(answer).filter(|answer| certain || !answer.is_null()))
    }
}

/// The namespace of who names none, as kubectl has it.
const NAMESPACE: &str = "default";

/// The object somebody means, when its kind is among the watched ones.
fn watched(target: &Target, state: &State) -> Option<ObjectKey> {
    let key = |table: &TableKey| {
        let namespace = target.namespace.as_deref().unwrap_or(NAMESPACE);
        let namespace = if table.resource.namespaced { namespace } else { "" };
        ObjectKey { table: table.clone(), namespace: namespace.into(), name: target.name.as_str().into() }
    };
    state.tables.iter().map(|table| key(&table.table)).find(|key| target.is(key))
}

/// How many kinds or clusters a hint names.
const MAX_NAMED: usize = 12;

/// A kind or a cluster that nobody here has heard of is a slip of the pen more often than not.
fn check_known(target: &Target, entries: &[Entry], state: &State) -> Result<(), Failure> {
    let decisions = entries.iter().filter_map(|entry| match entry {
        Entry::Decision(decision) => Some(decision),
        Entry::Finding(_) => None,
    });
    let of = |decision: &Decision| -> Vec<TableKey> {
        let written = match &decision.outcome {
            Outcome::Decided { writes, .. } => writes.as_slice(),
            _ => &[],
        };
        let gets = decision.gets.iter().map(|(key, _)| &key.table);
        let lists = decision.lists.iter().map(|(query, _)| &query.table);
        written.iter().map(|write| &write.object.table).chain(gets).chain(lists).cloned().collect()
    };
    let watched = state.tables.iter().map(|table| table.table.clone());
    let known: BTreeSet<TableKey> = decisions.flat_map(|decision| of(decision)).chain(watched).collect();
    if known.is_empty() {
        return Ok(());
    }
    let named = |names: BTreeSet<String>| names.into_iter().take(MAX_NAMED).collect::<Vec<_>>().join(", ");
    if let Some(cluster) = target.cluster.as_ref().filter(|_| !known.iter().any(|table| target.is_on(&table.cluster))) {
        let names = named(known.iter().map(|table| table.cluster.to_string()).collect());
        return Err(format!("no operator here reads or writes on a cluster {cluster}\nhint: there are: {names}").into());
    }
    let known: BTreeSet<&Arc<Resource>> = known.iter().map(|table| &table.resource).collect();
    if target.is_built_in() || known.iter().any(|resource| target.is_of(resource)) {
        return Ok(());
    }
    let names: Vec<String> = known.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let names = names.join(", ");
    Err(format!("no operator here reads or writes a kind {}\nhint: they read and write {names}", target.kind).into())
}

fn now() -> switchboard_kernel::moment::Moment {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    switchboard_kernel::moment::Moment(0).after(since)
}

/// Says why an operator does nothing.
#[derive(Args)]
pub struct WhyNot {
    /// The operator
    operator: String,
    /// Only this unit, as `shop/web`
    #[arg(long, value_name = "UNIT")]
    unit: Option<Unit>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    state: StateDir,
}

/// A report as it is shown: with colours when it is for people at a terminal.
fn shown(report: &(impl std::fmt::Display + serde::Serialize), form: Form) -> Result<String, Failure> {
    let text = form.text(report)?;
    Ok(if form.is_for_people() { paint::on_stdout(&text) } else { text })
}

impl WhyNot {
    /// Prints the report.
    pub async fn run(self) -> Result<(), Failure> {
        self.watch.show(|| self.look()).await
    }

    async fn look(&self) -> Result<String, Failure> {
        let mut state = self.state.state().await?;
        if let Some(unit) = &self.unit
            && let Some(hosted) = state.operators.iter_mut().find(|hosted| hosted.name == self.operator)
        {
            // The state names only those that wait, and not all of them when there are many.
            let body = json!({"operator": self.operator, "unit": unit}).to_string();
            hosted.units =
                vec![self.state.ask("POST", "/api/v1/unit", body).await.map_err(|error| self.hinted(error))?];
        }
        let report = explain::why_not(&self.operator, None, &state);
        if report.word.is_none() {
            let known = if report.known.is_empty() { "none".to_string() } else { report.known.join(", ") };
            return Err(format!("no operator {} is hosted\nhint: there are: {known}", self.operator).into());
        }
        shown(&report, self.output)
    }

    fn hinted(&self, error: Failure) -> Failure {
        format!("{error}\nhint: `switchboard why-not {}` names those that wait", self.operator).into()
    }
}

/// Shows what every operator does.
#[derive(Args)]
pub struct Top {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    state: StateDir,
}

impl Top {
    /// Prints the report.
    pub async fn run(self) -> Result<(), Failure> {
        self.watch.show(|| async { shown(&explain::top(&self.state.state().await?), self.output) }).await
    }
}

/// Decides again what was decided, from what was read then.
#[derive(Args)]
pub struct Replay {
    /// The number of the decision, as `why` shows it
    decision: u64,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    state: StateDir,
}

impl Replay {
    /// Prints the report. The exit code says whether something else is decided now, or cannot be told.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let journal = self.state.journal()?;
        let id = DecisionId(self.decision);
        let decision = journal.get(id);
        let replayed = match &decision {
            None => Replayed::Gone,
            Some(decision) => {
                let name = &decision.unit.operator.0;
                let known = operators::recalled(name, &decision.settings).await;
                let known = known.or_else(|| crate::guests::recalled(name, &self.state.path().ok()?));
                let operator = known.ok_or_else(|| {
                    format!("this binary has no operator {name}\nhint: replay with the binary that decided")
                })?;
                replay_within(operator, &journal, id, &[], patience(decision))
            }
        };
        if let Replayed::TooMuch { why } = &replayed {
            return Err(format!("decision {id} cannot be replayed: {why}").into());
        }
        if replayed == Replayed::Gone {
            return Err(format!(
                "decision {id} cannot be replayed: it, or what it read, is not kept\nhint: `switchboard why` shows the numbers of decisions; `journal` in the configuration says how long they are kept"
            )
            .into());
        }
        let code = match &replayed {
            Replayed::Same | Replayed::Redacted { alike: true, .. } => ExitCode::SUCCESS,
            Replayed::Different { .. } => ExitCode::from(DIFFERS),
            // A difference that masks may have made is none that anybody can act on.
            Replayed::Redacted { alike: false, .. } | Replayed::Undecided { .. } => ExitCode::FAILURE,
            Replayed::TooMuch { .. } | Replayed::Gone => ExitCode::FAILURE,
        };
        print(&ReplayReport::of(id, decision.as_ref(), replayed), self.output)?;
        Ok(code)
    }
}

/// How long an operator may take to decide again: what it has by itself, as the configuration of then is not known here, and
/// several times what it took then.
fn patience(decision: &Decision) -> Duration {
    let then = Duration::from_micros(decision.decide_us);
    limits::of(&Config::default(), &decision.unit.operator.0).timeout.max(then * 4)
}
