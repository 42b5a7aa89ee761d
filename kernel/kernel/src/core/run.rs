//! A run of a unit: from its start to what is recorded of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Core;
use super::caught::decide_caught;
use super::secrecy::{without_echoes, without_secrets};
use super::writes::{hold_back, split};
use crate::applier::Carried;
use crate::arbiter::Judging;
use crate::cache::Snapshot;
use crate::decision::{Cause, Decision, DecisionId, Outcome, Write, WriteResult};
use crate::moment::Moment;
use crate::operator::{Declared, Operator, ServiceAccount, Stop, UnitId, Units};
use crate::place::Topology;
use crate::plan::{Plan, Standing};
use crate::resource::TableKey;
use crate::scheduler::{Ended, Started};
use crate::state::{Finding, Word};
use crate::view::{Picture, Reads, Refusal, View};
use crate::wake;

/// How many refusals of a run are remembered for the next.
pub const MAX_REFUSALS: usize = 8;

/// What is said of a run whose writes ended in the kernel itself. Why it did may hold what was to be written.
const UNWRITTEN: &str = "the kernel itself failed while it wrote, and cannot tell what of it was written";

/// An operator is to decide for a unit.
pub struct Run {
    /// Which unit.
    pub unit: UnitId,
    /// The number the decision will have.
    pub id: DecisionId,
    /// When.
    pub now: Moment,
    /// How long it may take.
    pub timeout: Duration,
    pub(crate) operator: Arc<dyn Operator>,
    pub(crate) picture: Arc<Snapshot>,
    topology: Arc<Topology>,
    inputs: Arc<BTreeSet<Declared>>,
    refused: Vec<Refusal>,
    pretending: bool,
}

/// What an operator answered, and what it had read.
pub struct Answered {
    /// The plan, or why there is none.
    pub plan: Result<Plan, Stop>,
    /// What was read.
    pub reads: Reads,
    /// How long it took.
    pub decide_us: u64,
}

impl Run {
    /// Lets the operator decide, here and now. A panic is an answer too.
    pub fn decide(&self) -> (Result<Plan, Stop>, Reads) {
        let picture: Arc<dyn Picture> = self.picture.clone();
        let view = View::new(picture, self.topology.clone(), self.inputs.clone(), self.now)
            .after(self.refused.clone())
            .pretending(self.pretending);
        let plan = decide_caught(&*self.operator, &self.unit.unit, &view);
        let plan = whole(plan, &view);
        let reads = view.into_reads();
        // Here, on the operator's own time: who read ten thousand Secrets holds up nobody else.
        (without_secrets(plan, &reads, &*self.picture), reads)
    }
}

/// What was decided without an answer that only a real run gets is no decision, unless the operator itself says that
/// something is missing.
fn whole(plan: Result<Plan, Stop>, view: &View) -> Result<Plan, Stop> {
    match (plan, view.withheld()) {
        (Ok(Plan { standing, .. }), Some(withheld)) if !matches!(standing, Standing::Failing(_)) => {
            Err(Stop::Failed(withheld))
        }
        (plan, _) => plan,
    }
}

/// A unit that runs.
pub(super) struct Running {
    id: DecisionId,
    causes: Vec<Cause>,
    woken: Moment,
    started: Moment,
    picture: Arc<Snapshot>,
    refused: Vec<Refusal>,
    /// The last change that is in the picture.
    seen: u64,
    answered: Option<Pending>,
}

struct Pending {
    reads: Reads,
    refused: Vec<Write>,
    held: Vec<Write>,
    /// Writes the budget was charged for, and when.
    granted: (usize, Moment),
    standing: Standing,
    again: Option<Duration>,
    decide_us: u64,
}

/// What the core makes of an answer.
pub enum Judgement {
    /// These are to be carried out in this order; report with [`Core::carried`].
    Write {
        /// The writes.
        writes: Vec<Write>,
        /// As whom.
        user: Option<ServiceAccount>,
        /// What was decided on: the objects before the writes, where they are bound to what was read.
        picture: Arc<Snapshot>,
    },
    /// The run is over.
    Over(Box<Closed>),
}

/// A run that is over.
pub struct Closed {
    /// For the journal.
    pub decision: Decision,
    /// What was read, as it was.
    pub picture: Arc<Snapshot>,
    /// Fights and loops found.
    pub findings: Vec<Finding>,
    /// What was carried out, where the objects before and after are known.
    pub carried: Vec<Carried>,
}

impl Core {
    pub(super) fn begin(&mut self, now: Moment, started: Started) -> Option<Run> {
        let hosted = self.operators.get(&started.unit.operator)?;
        let id = DecisionId(self.next_decision);
        self.next_decision += 1;
        let picture = self.cache.snapshot();
        let refused = self.refused.get(&started.unit).cloned().unwrap_or_default();
        let run = Run {
            unit: started.unit.clone(),
            id,
            now,
            timeout: hosted.limits.timeout,
            operator: hosted.operator.clone(),
            picture: picture.clone(),
            topology: hosted.topology.clone(),
            inputs: hosted.inputs.clone(),
            refused: refused.clone(),
            pretending: self.pretending,
        };
        self.echoes.forget(&started.unit);
        self.running.insert(
            started.unit,
            Running {
                id,
                causes: started.causes,
                woken: started.woken,
                started: now,
                picture,
                refused,
                seen: self.changes_seen,
                answered: None,
            },
        );
        Some(run)
    }

    /// Takes in what an operator answered. Answers for runs that are over are dropped.
    pub fn decided(&mut self, now: Moment, unit: &UnitId, id: DecisionId, answered: Answered) -> Option<Judgement> {
        let running = self.running.get(unit).filter(|running| running.id == id && running.answered.is_none())?;
        let picture = running.picture.clone();
        let Some(hosted) = self.operators.get_mut(&unit.operator) else {
            self.abandon(now, unit);
            return None;
        };
        let Answered { plan, reads, decide_us } = answered;
        hosted.account.run(decide_us);
        let plan = match plan {
            Ok(plan) => plan,
            Err(stop) => return Some(Judgement::Over(Box::new(self.stopped(now, unit, stop, reads, decide_us)))),
        };
        let judged = self.arbiter.judge(Judging {
            unit,
            declaration: &hosted.declaration,
            topology: &hosted.topology,
            decision: id,
            mutations: plan.mutations,
            ordered: plan.ordered,
            reads: &reads,
            picture: &*picture,
        });
        let user = hosted.declaration.service_account.clone();
        let mut writes = judged.writes;
        let wanted = writes.iter().filter(|write| write.result == WriteResult::Skipped).count();
        // What is only pretended costs nothing: it changes nothing, so what is held back once would be held back for ever.
        let allowed = if self.pretending { wanted } else { self.scheduler.spend(now, &unit.operator, wanted) };
        let granted = (if self.pretending { 0 } else { allowed.min(wanted) }, self.scheduler.now());
        let held = hold_back(&mut writes, allowed);
        let pending = Pending {
            reads,
            refused: judged.refused,
            held,
            granted,
            standing: plan.standing,
            again: plan.again,
            decide_us,
        };
        self.running.get_mut(unit)?.answered = Some(pending);
        if writes.iter().all(|write| write.result != WriteResult::Skipped) {
            let carried =
                writes.into_iter().map(|write| Carried { write, before: None, after: None, unchecked: None }).collect();
            return self.carried(now, unit, id, carried, 0).map(|closed| Judgement::Over(Box::new(closed)));
        }
        Some(Judgement::Write { writes, user, picture })
    }

    fn stopped(&mut self, now: Moment, unit: &UnitId, stop: Stop, reads: Reads, decide_us: u64) -> Closed {
        let (outcome, ended) = match stop {
            Stop::Parked(_) => {
                let missing: Vec<TableKey> = reads.missing.iter().cloned().collect();
                let known = missing.iter().all(|table| self.cache.knows(table));
                missing.iter().for_each(|table| self.want(table));
                self.standings.set(now, unit, Word::Waiting, &waits_for(&missing));
                (
                    Outcome::Parked { missing },
                    if known {
                        Ended::Unfinished
                    } else {
                        Ended::Parked { missing: reads.missing.iter().cloned().collect() }
                    },
                )
            }
            Stop::Failed(message) => {
                self.standings.set(now, unit, Word::Failing, &message);
                (Outcome::Failed { message }, Ended::Failed)
            }
        };
        self.close(now, unit, outcome, &reads, decide_us, 0, ended, Vec::new())
    }

    /// Takes in what came of the writes of a run.
    pub fn carried(
        &mut self,
        now: Moment,
        unit: &UnitId,
        id: DecisionId,
        mut carried: Vec<Carried>,
        write_us: u64,
    ) -> Option<Closed> {
        let running = self.running.get_mut(unit).filter(|running| running.id == id)?;
        let pending = running.answered.take()?;
        without_echoes(&mut carried, &pending.reads, &*running.picture);
        let causes = running.causes.clone();
        let findings = self.note_writes(now, unit, (&pending.reads, &causes), &carried);
        self.refund_unwritten(unit, pending.granted, &carried);
        let (mut writes, carried) = split(carried);
        let held = pending.held.len();
        writes.extend(pending.held);
        writes.extend(pending.refused);
        self.count_stale(now, unit, &pending.reads, &mut writes);
        let ended = self.conclude(now, unit, &writes, held, &pending.standing, pending.again, &findings);
        self.remember_refused(now, unit, &writes);
        let let_go = !self.operators.contains_key(&unit.operator);
        let gone = let_go || (ended_gone(&ended, &pending.standing, &writes) && self.is_gone(unit));
        let ended = if gone { Ended::Gone } else { ended };
        let outcome = Outcome::Decided { writes, standing: pending.standing };
        let closed = self.close(now, unit, outcome, &pending.reads, pending.decide_us, write_us, ended, findings);
        if gone {
            self.forget(unit);
        }
        Some(Closed { carried, ..closed })
    }

    /// Takes in that nobody will say what came of the writes of a run: it failed, and the unit decides again from what is there.
    pub fn unwritten(&mut self, now: Moment, unit: &UnitId, id: DecisionId) -> Option<Closed> {
        let running = self.running.get_mut(unit).filter(|running| running.id == id)?;
        let pending = running.answered.take()?;
        let stop = Stop::Failed(UNWRITTEN.to_string());
        Some(self.stopped(now, unit, stop, pending.reads, pending.decide_us))
    }

    #[expect(clippy::too_many_arguments, reason = "one fact each; a struct for them would be built once and read once")]
    fn close(
        &mut self,
        now: Moment,
        unit: &UnitId,
        outcome: Outcome,
        reads: &Reads,
        decide_us: u64,
        write_us: u64,
        ended: Ended,
        findings: Vec<Finding>,
    ) -> Closed {
        let running = self.running.remove(unit).expect("a run that is closed was running");
        for key in reads.gets.keys() {
            self.want(&key.table.clone());
        }
        for query in reads.lists.keys() {
            self.want(&query.table.clone());
        }
        // Who was given up did not say what it had read: what it read before still wakes it.
        if !matches!(ended, Ended::Failed) || *reads != Reads::default() {
            self.wakes.set(unit, reads);
        }
        self.standings.decided(unit, running.id);
        if let Some(hosted) = self.operators.get_mut(&unit.operator) {
            hosted.account.failures += u64::from(matches!(ended, Ended::Failed));
        }
        self.scheduler.finish(now, unit, ended);
        let missed: Vec<Cause> = self
            .recent
            .iter()
            .filter(|(number, _)| *number > running.seen)
            .filter_map(|(_, change)| wake::touches(reads, change))
            .collect();
        for cause in missed {
            self.wake(now, unit, cause);
        }
        if self.changes_forgotten > running.seen || self.was_let_go(running.id, reads) {
            // Among what is not remembered may be what it read.
            self.wake(now, unit, Cause::Resync);
        }
        self.forget_recent();
        let decision = Decision {
            id: running.id,
            unit: unit.clone(),
            causes: running.causes,
            woken: running.woken,
            started: running.started,
            decide_us,
            write_us,
            gets: reads.gets.iter().map(|(key, revision)| (key.clone(), *revision)).collect(),
            lists: reads.lists.iter().map(|(query, listed)| (query.clone(), listed.clone())).collect(),
            asked: reads.asked.clone(),
            refused: running.refused,
            settings: self.operators.get(&unit.operator).map(|hosted| hosted.settings.clone()).unwrap_or_default(),
            outcome,
        };
        Closed { decision, picture: running.picture, findings, carried: Vec::new() }
    }

    /// Whether something that a run read has not been watched all the time since it began.
    fn was_let_go(&self, id: DecisionId, reads: &Reads) -> bool {
        let gone = |table: &TableKey| self.let_go.get(table).is_some_and(|first| id.0 < *first);
        !self.let_go.is_empty()
            && (reads.gets.keys().any(|key| gone(&key.table)) || reads.lists.keys().any(|query| gone(&query.table)))
    }

    pub(super) fn forget_recent(&mut self) {
        let first = self.running.values().map(|running| running.id.0).min().unwrap_or(u64::MAX);
        self.let_go.retain(|_, without| first < *without);
        let oldest = self.running.values().map(|running| running.seen).min().unwrap_or(u64::MAX);
        while self.recent.front().is_some_and(|(number, _)| *number <= oldest) {
            self.recent.pop_front();
        }
    }

    fn is_gone(&self, unit: &UnitId) -> bool {
        let Some(hosted) = self.operators.get(&unit.operator) else { return true };
        let (place, resource) = match &hosted.declaration.units {
            Units::Whole => return false,
            Units::Given(_) => return !self.given.get(&unit.operator).is_some_and(|units| units.contains(&unit.unit)),
            Units::Each { place, resource, .. } => (place, resource),
        };
        let key = hosted.topology.object(*place, resource, unit.unit.namespace(), unit.unit.name());
        // A kind that cannot be read at the moment says nothing.
        let Some(object) = self.cache.snapshot().get(&key) else { return false };
        !object.is_some_and(|object| self.rosters.takes(&unit.operator, &object))
    }
}

/// Whether a unit without an object has nothing more to do. One that wants to look again, or says that it waits, is to be
/// woken by what it read.
fn ended_gone(ended: &Ended, standing: &Standing, writes: &[Write]) -> bool {
    matches!((ended, standing), (Ended::Done { again: None }, Standing::Ready))
        && writes.iter().all(|write| write.result == WriteResult::Unchanged)
}

fn waits_for(missing: &[TableKey]) -> String {
    let names: Vec<String> = missing.iter().map(|table| table.resource.to_string()).collect();
    format!("{} to be read", names.join(", "))
}
