//! Moves, carried step by step.

use std::time::Duration;

use switchboard_gitops::fleet::Unit;
use switchboard_gitops::fleet::moving::{self, Next};
use switchboard_ledger::ids::{InstanceState, MoveId, MoveStep, Uid};
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::rows::{Application, EngineInstance};
use switchboard_ledger::{Change, Filter, Key, Signal, View};
use tokio::time::sleep;
use tracing::{info, warn};

use super::objects::Written;
use super::{Fleet, FleetError};
use crate::{ids, instance, rows};

/// How long until a move is tried again that a cluster or the database was in the way of.
const RETRY: Duration = Duration::from_secs(2);

/// How much is kept of what a cluster said.
const MAX_WHY_CHARS: usize = 1000;

/// How a move stands after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Something was done.
    Done,
    /// Nothing can be done for so many milliseconds.
    Wait(u64, String),
    /// It is over.
    Over(Move),
}

impl Fleet {
    /// Begins to move a unit, or finds the move that is under way to the same place.
    ///
    /// # Errors
    /// When the unit is there already, or on its way elsewhere; when the instance is cordoned or would have more than its limits.
    pub async fn begin(&self, unit: &Unit, target: &EngineInstance) -> Result<Move, FleetError> {
        let cluster = self.cluster().await?;
        loop {
            let mut view = self.store.ledger().view().await?;
            let (row, changes) = self.beginning(&mut view, unit, target, &cluster).await?;
            view.end();
            // If not, somebody else gave it something, or moves the unit: both are seen by looking again.
            if changes.is_empty() || self.store.commit(&changes).await? {
                return Ok(row);
            }
        }
    }

    /// The move that is under way to the same place, or one that begins, with the changes that begin it.
    async fn beginning(
        &self,
        view: &mut View,
        unit: &Unit,
        target: &EngineInstance,
        cluster: &Uid,
    ) -> Result<(Move, Vec<Change>), FleetError> {
        let key = Key::of([unit.user.as_str(), unit.environment.as_str()]);
        let placement: Placement = view.get(&key).await?.ok_or(FleetError::NoMove)?;
        if let Some(moving) = &placement.moving
            && let Some(row) = view.get::<Move>(&Key::from(moving)).await?
            && row.target == target.id
        {
            return Ok((row, vec![]));
        }
        let (row, mut changes) = moving::begin(&placement, &target.id, MoveId::from(ids::new()), self.now())?;
        reaches(view, &placement, target, cluster).await?;
        if let Some(source) = rows::instance(view, &placement.instance).await? {
            self.alike(&source, target).await?;
        }
        // One that is over is kept until the next begins: there are never more than units.
        let earlier: Vec<Move> = view.list(&Filter::all().is("move_user_id", &unit.user)).await?;
        let of_unit = earlier.iter().filter(|other| other.environment == unit.environment);
        changes.extend(of_unit.filter(|other| !moving::is_open(other)).map(Change::delete));
        changes.push(takes(view, target, unit).await?);
        Ok((row, changes))
    }

    /// Sends a unit back to where it was, as long as that is possible.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn turn_back(&self, id: &MoveId) -> Result<bool, FleetError> {
        let row: Move = self.store.ledger().get(&Key::from(id)).await?.ok_or(FleetError::NoMove)?;
        if row.step > MoveStep::Flip {
            return Ok(false);
        }
        self.back(&row, "it was called back".to_string()).await
    }

    /// Sends a unit that moves back to where it was.
    ///
    /// # Errors
    /// When it does not move, or is there already.
    pub async fn call_back(&self, unit: &Unit) -> Result<MoveId, FleetError> {
        let key = Key::of([unit.user.as_str(), unit.environment.as_str()]);
        loop {
            let placement: Option<Placement> = self.store.ledger().get(&key).await?;
            let id = placement.and_then(|placement| placement.moving).ok_or(FleetError::NotMoving)?;
            let row: Move = self.store.ledger().get(&Key::from(&id)).await?.ok_or(FleetError::NotMoving)?;
            match row.step {
                MoveStep::Return => return Ok(id),
                step if step > MoveStep::Flip => return Err(FleetError::TooLate),
                // If not, whoever carries it was faster by a step.
                _ if self.turn_back(&id).await? => return Ok(id),
                _ => {}
            }
        }
    }

    async fn back(&self, row: &Move, why: String) -> Result<bool, FleetError> {
        let why = Some(why.chars().take(MAX_WHY_CHARS).collect());
        let back =
            Move { step: MoveStep::Return, human_readable_state: why, last_step_update: self.now(), ..row.clone() };
        Ok(self.store.commit(&[Change::update(row, &back)]).await?)
    }

    /// Does what is to be done now, once. What a cluster has refused for long is given up: as long as the unit can go back it does, and
    /// one that goes back does not wait for a target that nothing can be taken away from.
    ///
    /// # Errors
    /// When the database or the cluster fails; the move stands where it stood.
    pub async fn advance(&self, id: &MoveId) -> Result<Advance, FleetError> {
        let error = match self.attempt(id, true).await {
            Err(FleetError::Engine(error)) => error,
            other => return other,
        };
        let row: Move = self.store.ledger().get(&Key::from(id)).await?.ok_or(FleetError::NoMove)?;
        if self.now().since_ms(row.last_step_update) < self.stall_ms {
            return Err(error.into());
        }
        match row.step {
            MoveStep::Return => self.attempt(id, false).await,
            step if moving::RETURNING.contains(&step) => {
                self.back(&row, crate::error::told(&error)).await.map(|_| Advance::Done)
            }
            _ => Err(error.into()),
        }
    }

    async fn attempt(&self, id: &MoveId, sees_target: bool) -> Result<Advance, FleetError> {
        let gathered = self.gather(id, sees_target).await?;
        match moving::next(&gathered.scene(self.now())) {
            Next::Over => Ok(Advance::Over(gathered.row)),
            Next::Wait(ms, why) => Ok(Advance::Wait(ms, why)),
            // Too late is as good: what is to be done now is found out by looking.
            Next::Commit(changes) => self.store.commit(&changes).await.map(|_| Advance::Done).map_err(FleetError::from),
            Next::Act(acts) => {
                for act in &acts {
                    if self.engine.act(act).await? == Written::Stale {
                        break;
                    }
                }
                Ok(Advance::Done)
            }
        }
    }

    /// Carries a move to its end, telling each step as it begins.
    ///
    /// # Errors
    /// When the database or the cluster fails.
    pub async fn finish(&self, id: &MoveId, mut told: impl FnMut(&str)) -> Result<Move, FleetError> {
        let mut last = String::new();
        loop {
            let line = match self.advance(id).await? {
                Advance::Over(row) => return Ok(row),
                Advance::Done => match self.store.ledger().get::<Move>(&Key::from(id)).await? {
                    Some(row) => row.step.as_str().to_string(),
                    None => return Err(FleetError::NoMove),
                },
                Advance::Wait(ms, why) => {
                    sleep(Duration::from_millis(ms)).await;
                    why
                }
            };
            if line != last {
                told(&line);
                last = line;
            }
        }
    }

    /// Carries every open move, now and whenever one is begun: what an agent does beside its other work.
    pub async fn carry(self) {
        loop {
            if let Err(error) = self.carry_until_lost().await {
                warn!(error = %crate::error::told(&error), "moves between Argo CD instances wait");
            }
            sleep(RETRY).await;
        }
    }

    /// Open moves on this cluster; those on others are carried by their own agents.
    async fn open(&self, cluster: &Uid) -> Result<Vec<Move>, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let mut open = Vec::new();
        for row in view.list::<Move>(&Filter::all()).await?.into_iter().filter(moving::is_open) {
            if let Some(target) = rows::instance(&mut view, &row.target).await?
                && rows::is_at(&mut view, &target, cluster).await?
            {
                open.push(row);
            }
        }
        view.end();
        Ok(open)
    }

    async fn carry_until_lost(&self) -> Result<(), FleetError> {
        let mut signals = self.store.ledger().signals().await?;
        let cluster = self.cluster().await?;
        loop {
            let open = self.open(&cluster).await?;
            if open.is_empty() {
                while !concerns_moves(&signals.next().await) {}
                continue;
            }
            // All a step at a time: one that waits for a sync keeps nobody else waiting.
            let mut rest = RETRY;
            for row in &open {
                rest = rest.min(self.step(&row.id).await);
            }
            sleep(rest).await;
        }
    }

    /// One step of one move; says when to look again.
    async fn step(&self, id: &MoveId) -> Duration {
        match self.advance(id).await {
            Ok(Advance::Done) => Duration::ZERO,
            Ok(Advance::Wait(ms, _)) => Duration::from_millis(ms),
            Ok(Advance::Over(over)) => {
                info!(moved = %over.id, step = over.step.as_str(), "a unit was moved");
                Duration::ZERO
            }
            // It went with its tenant or its environment.
            Err(FleetError::NoMove) => RETRY,
            Err(error) => {
                warn!(moved = %id, error = %crate::error::told(&error), "a move between Argo CD instances waits");
                RETRY
            }
        }
    }
}

/// Whether both ends of a move are on this cluster: whoever carries it must see what is deployed by both.
async fn reaches(
    view: &mut View,
    placement: &Placement,
    target: &EngineInstance,
    cluster: &Uid,
) -> Result<(), FleetError> {
    let source = rows::instance(view, &placement.instance).await?;
    for end in source.iter().chain([target]) {
        if !rows::is_at(view, end, cluster).await? {
            return Err(FleetError::NotTaken {
                namespace: target.namespace.clone(),
                why: "is on another cluster than the unit, or than this command works on".to_string(),
                hint: "units move between instances of one cluster; give it with --kubeconfig or --context",
            });
        }
    }
    Ok(())
}

/// Whether an instance takes a unit with all it has: who moves one is bound by what is said of the instance, as who places one. If so,
/// the change that makes sure of it.
async fn takes(view: &mut View, target: &EngineInstance, unit: &Unit) -> Result<Change, FleetError> {
    let no = |why: String, hint| Err(FleetError::NotTaken { namespace: target.namespace.clone(), why, hint });
    let all = instance::candidates(view).await?;
    let candidate = all.into_iter().find(|candidate| candidate.instance.id == target.id);
    let Some((candidate, member)) = candidate.and_then(|one| one.member.clone().map(|member| (one, member))) else {
        return no("is not in the fleet".into(), "add it with `switchboard gitops fleet add`");
    };
    if member.state == InstanceState::Cordoned {
        return no("is cordoned".into(), "`switchboard gitops fleet uncordon` gives it new units again");
    }
    let more = view.count::<Application>("managed_environment_id", &unit.environment).await?;
    let is_over = |used: u64, max: i64| u64::try_from(max).is_ok_and(|max| used > max);
    let raise = "raise its limits with `switchboard gitops fleet add`, or choose another";
    let on_their_way =
        |coming: u64| if coming > 0 { format!(" ({coming} of them on their way)") } else { String::new() };
    if is_over(candidate.all_applications() + more, member.max_applications) {
        let (has, max) = (candidate.all_applications(), member.max_applications);
        let coming = on_their_way(candidate.coming.applications);
        return no(format!("has {has} of at most {max} Applications{coming}, and {more} would come"), raise);
    }
    if is_over(candidate.all_units() + 1, member.max_environments) {
        let coming = on_their_way(candidate.coming.units);
        return no(format!("has all of its {} units{coming}", member.max_environments), raise);
    }
    Ok(candidate.room(&member, more, true))
}

fn concerns_moves(signals: &[Signal]) -> bool {
    signals.iter().any(|signal| match signal {
        Signal::Everything => true,
        Signal::Changed { table, .. } => table == "switchboard_move",
    })
}
