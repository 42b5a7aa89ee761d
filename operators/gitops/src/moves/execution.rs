//! Moves of placements, step by step.

use std::time::Duration;

use switchboard_object::causes::error_chain;
use switchboard_sql::{ChangeEvent, Filter, LedgerView, RowChange, RowKey};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::argocd::engine_client::EngineWrite;
use crate::ids::{InstanceState, MoveId, MoveStep, Uid};
use crate::instance::fleet::{Fleet, FleetError};
use crate::moves::{self, MoveAction};
use crate::placement::{PlacementKey, selection};
use crate::rows::fleet::{Move, Placement};
use crate::rows::{Application, EngineInstance};
use crate::{random_id, related_rows};

/// Delay of a retry after an error of the cluster or the database.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// Maximum length of a stored reason.
const MAX_REASON_CHARS: usize = 1000;

/// Progress of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveProgress {
    /// A step was taken.
    Done,
    /// The move waits for so many milliseconds, for this reason.
    Wait(u64, String),
    /// The move has finished.
    Over(Move),
}

impl Fleet {
    /// Begins a move, or returns the current move to the same target.
    ///
    /// # Errors
    /// When the placement is at the target already or is being moved elsewhere; when the target is cordoned or would
    /// exceed its limits.
    pub async fn begin_move(&self, placement_key: &PlacementKey, target: &EngineInstance) -> Result<Move, FleetError> {
        let cluster = self.cluster().await?;
        loop {
            let mut view = self.store.ledger().view().await?;
            let (row, changes) = self.plan_move(&mut view, placement_key, target, &cluster).await?;
            view.end();
            // If the commit conflicts, another writer moved the placement or used the capacity; the next attempt sees
            // that.
            if changes.is_empty() || self.store.commit(&changes).await? {
                return Ok(row);
            }
        }
    }

    /// Returns the current move to the same target, or a new one with the changes that begin it.
    async fn plan_move(
        &self,
        view: &mut LedgerView,
        placement_key: &PlacementKey,
        target: &EngineInstance,
        cluster: &Uid,
    ) -> Result<(Move, Vec<RowChange>), FleetError> {
        let key = RowKey::of([placement_key.user.as_str(), placement_key.environment.as_str()]);
        let placement: Placement = view.get(&key).await?.ok_or(FleetError::NoMove)?;
        if let Some(moving) = &placement.moving
            && let Some(row) = view.get::<Move>(&RowKey::from(moving)).await?
            && row.target == target.id
        {
            return Ok((row, vec![]));
        }
        let (row, mut changes) = moves::begin(&placement, &target.id, MoveId::from(random_id::new()), self.now())?;
        require_same_cluster(view, &placement, target, cluster).await?;
        if let Some(source) = related_rows::instance(view, &placement.instance).await? {
            self.require_same_tracking(&source, target).await?;
        }
        // A finished move is kept until the next one begins, so there are never more moves than placements.
        let earlier: Vec<Move> = view.list(&Filter::all().is("move_user_id", &placement_key.user)).await?;
        let of_placement = earlier.iter().filter(|other| other.environment == placement_key.environment);
        changes.extend(of_placement.filter(|other| !moves::is_open(other)).map(RowChange::delete));
        changes.push(require_capacity(view, target, placement_key).await?);
        Ok((row, changes))
    }

    /// Rolls a move back, if that is still possible.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn roll_back_move(&self, id: &MoveId) -> Result<bool, FleetError> {
        let row: Move = self.store.ledger().get(&RowKey::from(id)).await?.ok_or(FleetError::NoMove)?;
        if row.step > MoveStep::Cutover {
            return Ok(false);
        }
        self.begin_rollback(&row, "the move was cancelled".to_string()).await
    }

    /// Cancels the move of a placement.
    ///
    /// # Errors
    /// When no move is in progress, or it is too late.
    pub async fn cancel_move(&self, placement_key: &PlacementKey) -> Result<MoveId, FleetError> {
        let key = RowKey::of([placement_key.user.as_str(), placement_key.environment.as_str()]);
        loop {
            let placement: Option<Placement> = self.store.ledger().get(&key).await?;
            let id = placement.and_then(|placement| placement.moving).ok_or(FleetError::NotMoving)?;
            let row: Move = self.store.ledger().get(&RowKey::from(&id)).await?.ok_or(FleetError::NotMoving)?;
            match row.step {
                MoveStep::Rollback => return Ok(id),
                step if step > MoveStep::Cutover => return Err(FleetError::TooLate),
                // If the rollback conflicts, the move advanced meanwhile.
                _ if self.roll_back_move(&id).await? => return Ok(id),
                _ => {}
            }
        }
    }

    async fn begin_rollback(&self, row: &Move, why: String) -> Result<bool, FleetError> {
        let why = Some(why.chars().take(MAX_REASON_CHARS).collect());
        let back =
            Move { step: MoveStep::Rollback, human_readable_state: why, last_step_update: self.now(), ..row.clone() };
        Ok(self.store.commit(&[RowChange::update(row, &back)]).await?)
    }

    /// Advances a move by one step. After errors of the cluster for the stall timeout, the move is rolled back if
    /// possible. A rollback does not wait for a target where nothing can be deleted.
    ///
    /// # Errors
    /// When the database or the cluster fails; the move stays at its step.
    pub async fn advance_move(&self, id: &MoveId) -> Result<MoveProgress, FleetError> {
        let error = match self.advance_once(id, true).await {
            Err(FleetError::Engine(error)) => error,
            other => return other,
        };
        let row: Move = self.store.ledger().get(&RowKey::from(id)).await?.ok_or(FleetError::NoMove)?;
        if self.now().since_ms(row.last_step_update) < self.stall_ms {
            return Err(error.into());
        }
        match row.step {
            MoveStep::Rollback => self.advance_once(id, false).await,
            step if moves::ROLLBACK_STEPS.contains(&step) => {
                self.begin_rollback(&row, error_chain(&error)).await.map(|_| MoveProgress::Done)
            }
            _ => Err(error.into()),
        }
    }

    async fn advance_once(&self, id: &MoveId, sees_target: bool) -> Result<MoveProgress, FleetError> {
        let gathered = self.read_move_inputs(id, sees_target).await?;
        match moves::next_action(&gathered.state(self.now())) {
            MoveAction::Finished => Ok(MoveProgress::Over(gathered.row)),
            MoveAction::Wait(ms, why) => Ok(MoveProgress::Wait(ms, why)),
            // A conflict needs no handling: the next call reads the current state.
            MoveAction::Commit(changes) => {
                self.store.commit(&changes).await.map(|_| MoveProgress::Done).map_err(FleetError::from)
            }
            MoveAction::Write(acts) => {
                for act in &acts {
                    if self.engine.act(act).await? == EngineWrite::Stale {
                        break;
                    }
                }
                Ok(MoveProgress::Done)
            }
        }
    }

    /// Advances a move until it has finished, and reports each step.
    ///
    /// # Errors
    /// When the database or the cluster fails.
    pub async fn finish_move(&self, id: &MoveId, mut report: impl FnMut(&str)) -> Result<Move, FleetError> {
        let mut last = String::new();
        loop {
            let line = match self.advance_move(id).await? {
                MoveProgress::Over(row) => return Ok(row),
                MoveProgress::Done => match self.store.ledger().get::<Move>(&RowKey::from(id)).await? {
                    Some(row) => row.step.as_str().to_string(),
                    None => return Err(FleetError::NoMove),
                },
                MoveProgress::Wait(ms, why) => {
                    sleep(Duration::from_millis(ms)).await;
                    why
                }
            };
            if line != last {
                report(&line);
                last = line;
            }
        }
    }

    /// Advances every open move, now and in the future. Runs beside the agent.
    pub async fn drive_moves(self) {
        loop {
            if let Err(error) = self.drive_until_error().await {
                warn!(error = %error_chain(&error), "could not continue the moves between Argo CD instances; retrying");
            }
            sleep(RETRY_DELAY).await;
        }
    }

    /// Returns the open moves on this cluster. The agents of other clusters handle theirs.
    async fn open_moves(&self, cluster: &Uid) -> Result<Vec<Move>, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let mut open_moves = Vec::new();
        for row in view.list::<Move>(&Filter::all()).await?.into_iter().filter(moves::is_open) {
            if let Some(target) = related_rows::instance(&mut view, &row.target).await?
                && related_rows::is_on_cluster(&mut view, &target, cluster).await?
            {
                open_moves.push(row);
            }
        }
        view.end();
        Ok(open_moves)
    }

    async fn drive_until_error(&self) -> Result<(), FleetError> {
        let mut signals = self.store.ledger().changes().await?;
        let cluster = self.cluster().await?;
        loop {
            let open_moves = self.open_moves(&cluster).await?;
            if open_moves.is_empty() {
                while !concerns_moves(&signals.next().await) {}
                continue;
            }
            // One step each in turn: a move that waits for a sync does not delay the others.
            let mut rest = RETRY_DELAY;
            for row in &open_moves {
                rest = rest.min(self.step_move(&row.id).await);
            }
            sleep(rest).await;
        }
    }

    /// Advances a move by one step; returns the delay until the next one.
    async fn step_move(&self, id: &MoveId) -> Duration {
        match self.advance_move(id).await {
            Ok(MoveProgress::Done) => Duration::ZERO,
            Ok(MoveProgress::Wait(ms, _)) => Duration::from_millis(ms),
            Ok(MoveProgress::Over(over)) => {
                info!(moved = %over.id, step = over.step.as_str(), "move of a placement finished");
                Duration::ZERO
            }
            // The move was deleted with its tenant or environment.
            Err(FleetError::NoMove) => RETRY_DELAY,
            Err(error) => {
                warn!(moved = %id, error = %error_chain(&error), "could not continue a move between Argo CD instances; retrying");
                RETRY_DELAY
            }
        }
    }
}

/// Fails unless both ends of a move are on this cluster: the caller needs access to both.
async fn require_same_cluster(
    view: &mut LedgerView,
    placement: &Placement,
    target: &EngineInstance,
    cluster: &Uid,
) -> Result<(), FleetError> {
    let source = related_rows::instance(view, &placement.instance).await?;
    for end in source.iter().chain([target]) {
        if !related_rows::is_on_cluster(view, end, cluster).await? {
            return Err(FleetError::TargetRefused {
                namespace: target.namespace.clone(),
                why: "is on another cluster than the placement or this command".to_string(),
                hint: "choose an instance of the same cluster, and select the cluster with --kubeconfig or --context",
            });
        }
    }
    Ok(())
}

/// Returns the change that verifies the capacity of a target. Moves are subject to the same limits as new placements.
async fn require_capacity(
    view: &mut LedgerView,
    target: &EngineInstance,
    placement_key: &PlacementKey,
) -> Result<RowChange, FleetError> {
    let no = |why: String, hint| Err(FleetError::TargetRefused { namespace: target.namespace.clone(), why, hint });
    let all = selection::candidates(view).await?;
    let candidate = all.into_iter().find(|candidate| candidate.instance.id == target.id);
    let Some((candidate, member)) = candidate.and_then(|one| one.member.clone().map(|member| (one, member))) else {
        return no("is not part of the fleet".into(), "add it with `switchboard gitops fleet add`");
    };
    if member.state == InstanceState::Cordoned {
        return no(
            "is cordoned".into(),
            "uncordon it with `switchboard gitops fleet uncordon`, or choose another instance",
        );
    }
    let more = view.count::<Application>("managed_environment_id", &placement_key.environment).await?;
    let is_over = |used: u64, max: i64| u64::try_from(max).is_ok_and(|max| used > max);
    let raise = "raise its limits with `switchboard gitops fleet add`, or choose another instance";
    let on_their_way = |coming: u64| if coming > 0 { format!(" ({coming} of them incoming)") } else { String::new() };
    if is_over(candidate.all_applications() + more, member.max_applications) {
        let (has, max) = (candidate.all_applications(), member.max_applications);
        let coming = on_their_way(candidate.incoming.applications);
        return no(format!("has {has} of at most {max} Applications{coming}, and the move would add {more}"), raise);
    }
    if is_over(candidate.all_placements() + 1, member.max_environments) {
        let coming = on_their_way(candidate.incoming.placements);
        return no(format!("has reached its limit of {} placements{coming}", member.max_environments), raise);
    }
    Ok(candidate.reserve(&member, more, true))
}

fn concerns_moves(signals: &[ChangeEvent]) -> bool {
    signals.iter().any(|signal| match signal {
        ChangeEvent::Resync => true,
        ChangeEvent::Row { table, .. } => table == "switchboard_move",
    })
}
