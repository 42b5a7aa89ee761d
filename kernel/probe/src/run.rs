//! One run of an operator through a case, under one fault, by a clock that is told.
//!
//! ```text
//!  step ─▶ settle: poll ─▶ decide ─▶ write ─▶ collect ─▶ feed ─▶ observe ─▶ poll …, and when all is still, let time pass
//! ```
//!
//! The core is the kernel's own; what the shell does with threads, sockets and the clock is done here one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use switchboard_cluster::Cluster;
use switchboard_kernel::applier::carry_out_upon;
use switchboard_kernel::cache::Observed;
use switchboard_kernel::core::{Answered, Core, Judgement, Order, Run};
use switchboard_kernel::decision::DecisionId;
use switchboard_kernel::limits::{BACKOFF_FIRST, BACKOFF_MAX, GlobalLimits, Limits, RESYNC};
use switchboard_kernel::moment::Moment;
use switchboard_kernel::operator::{Operator, Stop, UnitId};
use switchboard_kernel::place::Topology;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::TableKey;
use switchboard_kernel::state::Word;
use switchboard_kernel::view::Reads;

use crate::case::{Case, Step};
use crate::ended::{Ended, Written, shown};
use crate::fault::Fault;
use crate::feed::Feed;
use crate::pulse::Pulse;
use crate::round::Round;
use crate::world::{self, Trouble, World};
use crate::writer::FaultyWriter;

/// For how many rounds nothing may be written once all is done.
pub const QUIET_ROUNDS: u32 = 100;
/// How long an operator is given after each step, by the clock of the run.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How many turns an operator may take to come to rest after a step.
pub const MAX_TURNS: u32 = 10_000;
/// Time between two rounds: every unit is looked at again within it.
const ROUND: Duration = RESYNC;
/// How long a round may go on: what it wakes may wake more.
const ROUND_PATIENCE: Duration = Duration::from_secs(5);

/// Makes the operators of a process without memory, as a new process does.
pub type Factory = dyn Fn() -> Vec<Arc<dyn Operator>> + Send + Sync;

/// What every run of a case shares.
pub struct Stage<'a> {
    pub factory: &'a Factory,
    pub case: &'a Case,
    pub beginning: &'a Cluster,
    /// Told whenever an operator decides.
    pub pulse: &'a Pulse,
}

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Stuck {
    /// The case could not be gone through.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// The operator does not come to rest.
    #[error("does not come to rest after {after}: {MAX_TURNS} turns were not enough")]
    Restless {
        /// What was done before.
        after: String,
    },
    /// There is nothing to disturb.
    #[error("does nothing but fail: {why}")]
    Useless {
        /// What it says.
        why: String,
    },
    /// Something was written though nothing changed.
    #[error("writes though nothing changed, in round {round} after the end: {what}")]
    Unquiet {
        /// Which.
        round: u32,
        /// What changed.
        what: String,
    },
}

/// Goes through a case under a fault.
pub async fn run(stage: &Stage<'_>, fault: &Fault) -> Result<Ended, Stuck> {
    let world = World::from(stage.beginning).await?;
    let writer = FaultyWriter::new(&world, fault);
    let feed = Feed::under(fault);
    let core = core(world.clock.now(), DecisionId(1), stage.factory);
    let (written, round, ahead) = (Written::default(), None, BTreeMap::new());
    let mut driver = Driver { stage, world, writer, feed, core, written, next: 1, round, ahead };
    driver.settle("the start", PATIENCE).await?;
    for step in &stage.case.script {
        driver.step(step).await?;
    }
    driver.feed.release(&driver.world)?;
    driver.settle("the script", PATIENCE).await?;
    driver.writer.calm_down();
    let (writes, events) = (driver.writer.sent(), driver.feed.events());
    driver.stay_quiet().await?;
    if writes == 0 {
        let state = driver.core.state(driver.now());
        if let Some(failing) = state.operators.into_iter().find(|operator| operator.word == Word::Failing) {
            return Err(Stuck::Useless { why: failing.reason });
        }
    }
    Ok(driver.written.end(driver.world.store, writes, events))
}

fn core(now: Moment, next: DecisionId, factory: &Factory) -> Core {
    let global = GlobalLimits { requests_per_second: u32::MAX, ..GlobalLimits::default() };
    let limits =
        Limits { backoff_first: BACKOFF_FIRST, backoff_max: BACKOFF_MAX, resync: Some(RESYNC), ..Limits::none() };
    let mut core = Core::new(now, 1, Topology::standalone(&world::name()), global, next);
    factory().into_iter().for_each(|operator| core.add(now, operator, limits.clone()));
    core
}

struct Driver<'a> {
    stage: &'a Stage<'a>,
    world: World,
    writer: FaultyWriter,
    feed: Feed,
    core: Core,
    written: Written,
    /// The number of the next decision: a journal goes on where the process died.
    next: u64,
    /// What was decided in the quiet round under way.
    round: Option<Round>,
    /// What was decided before the core asked for it.
    ahead: BTreeMap<UnitId, (Result<Plan, Stop>, Reads)>,
}

impl Driver<'_> {
    async fn step(&mut self, step: &Step) -> Result<(), Stuck> {
        match self.world.act(step).await {
            Err(Trouble::Step { early: true, .. }) => {
                // A person waits until what they want to change is there.
                self.feed.release(&self.world)?;
                self.settle("waiting for the operator", PATIENCE).await?;
                self.world.act(step).await?;
            }
            done => done?,
        }
        self.collect().await?;
        self.settle(&step.to_string(), PATIENCE).await
    }

    /// Lets the operator work until nothing more happens within `patience`. Events that a fault holds stay held.
    async fn settle(&mut self, after: &str, patience: Duration) -> Result<(), Stuck> {
        let end = self.now().after(patience);
        for _ in 0..MAX_TURNS {
            if self.turn().await? {
                continue;
            }
            let limit = self.feed.held_until().map_or(end, |until| until.min(end));
            let Some(next) = self.core.next().filter(|next| *next <= limit) else { return Ok(()) };
            // Something that is due and does not happen must not stop the clock.
            self.world.clock.reach(next.max(self.now().after(Duration::from_millis(1))));
        }
        Err(Stuck::Restless { after: after.to_string() })
    }

    fn now(&self) -> Moment {
        self.world.clock.now()
    }

    /// Does what is to be done now, or tells one event. False when there is nothing.
    async fn turn(&mut self) -> Result<bool, Stuck> {
        let orders = self.core.poll(self.now());
        if !orders.is_empty() {
            for order in orders {
                if self.perform(order).await? {
                    self.begin_anew();
                    break;
                }
            }
            return Ok(true);
        }
        let Some((table, told)) = self.feed.next() else { return Ok(false) };
        self.tell(&table, told);
        Ok(true)
    }

    /// True when the process died over it.
    async fn perform(&mut self, order: Order) -> Result<bool, Stuck> {
        match order {
            Order::Watch(table) => {
                let told = self.feed.watch(&table, &self.world)?;
                self.tell(&table, told);
            }
            Order::Unwatch(table) => self.feed.unwatch(&table),
            Order::Run(run) => return self.decide(*run).await,
        }
        Ok(false)
    }

    fn tell(&mut self, table: &TableKey, told: Vec<Observed>) {
        for observed in told {
            // What the embedded cluster stores is what the cache reads; the kernel's own tests hold it to that.
            let _ = self.core.observe(self.world.clock.now(), table, observed);
        }
    }

    async fn decide(&mut self, run: Run) -> Result<bool, Stuck> {
        self.next = run.id.0 + 1;
        let decided = self.ahead.remove(&run.unit);
        let (plan, reads) = decided.unwrap_or_else(|| self.stage.pulse.during(&run.unit, || run.decide()));
        let (unit, id) = (run.unit.clone(), run.id);
        if let Some(round) = &mut self.round {
            round.decided(run, &plan);
        }
        let answered = Answered { plan, reads, decide_us: 0 };
        let judgement = self.core.decided(self.now(), &unit, id, answered);
        let Some(Judgement::Write { writes, user, picture }) = judgement else { return Ok(false) };
        let manager = unit.operator.to_string();
        let carried = carry_out_upon(Some(&*picture), &self.writer, writes, user.as_ref(), &manager, false).await;
        self.collect().await?;
        if self.writer.died() {
            return Ok(true);
        }
        self.core.carried(self.now(), &unit, id, carried, 0);
        Ok(false)
    }

    async fn collect(&mut self) -> Result<(), Stuck> {
        let changes = self.world.collect().await?;
        self.written.take(&changes);
        Ok(self.feed.take(self.now(), &changes, &self.world)?)
    }

    fn begin_anew(&mut self) {
        self.feed.forget();
        self.core = core(self.now(), DecisionId(self.next), self.stage.factory);
    }

    async fn stay_quiet(&mut self) -> Result<(), Stuck> {
        let still = self.world.store.revision();
        for round in 1..=QUIET_ROUNDS {
            self.world.clock.reach(self.now().after(ROUND));
            if self.decides_the_same() {
                continue;
            }
            self.round = Some(Round::default());
            self.settle("the end", ROUND_PATIENCE).await?;
            self.ahead.clear();
            if self.world.store.revision() != still {
                return Err(Stuck::Unquiet { round, what: self.changed_since(still) });
            }
        }
        Ok(())
    }

    /// Lets every unit decide once more as in the round before. When each wants the same written on the same view, nothing can
    /// come of it that did not come of it then: a cluster at one revision gives the same answer to the same question. Otherwise
    /// what was decided is given to the core, when it asks.
    fn decides_the_same(&mut self) -> bool {
        let (now, pulse) = (self.now(), self.stage.pulse);
        let Some(round) = self.round.as_mut().filter(|round| round.is_steady()) else { return false };
        for (unit, run, before) in round.runs() {
            run.now = now;
            let (plan, reads) = pulse.during(unit, || run.decide());
            let same = plan.as_ref().is_ok_and(|plan| plan == before);
            self.ahead.insert(unit.clone(), (plan, reads));
            if !same {
                return false;
            }
        }
        self.ahead.clear();
        true
    }

    fn changed_since(&self, revision: u64) -> String {
        let Ok(mut watch) = self.world.store.watch("", revision) else { return String::new() };
        let changes = watch.progress().map(|batch| batch.changes).unwrap_or_default();
        let names: Vec<String> = changes.iter().take(3).map(|change| shown(&change.key)).collect();
        names.join(", ")
    }
}
