//! Where each unit stands, and the state of the whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Core;
use crate::arbiter::turn_wait;
use crate::decision::{Cause, DecisionId, Write, WriteResult};
use crate::moment::Moment;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::plan::Standing;
use crate::scheduler::Ended;
use crate::state::{Finding, MAX_UNITS_SHOWN, OperatorState, State, TableState, UnitState, Wait, Word};

/// After how many runs in a row that wanted more writes than allowed a unit is said to flood.
const FLOOD_RUNS: u32 = 3;

/// What is said of an operator that does not run because somebody wants it so.
const PAUSED: &str = "paused by somebody; `switchboard resume` lets it go on";

/// Where the units of each operator stand.
#[derive(Default)]
pub(super) struct Standings(BTreeMap<OperatorName, BTreeMap<Unit, Stand>>);

struct Stand {
    word: Word,
    /// Boxed without room to grow: there are many units, and most have nothing to say.
    reason: Box<str>,
    since: Moment,
    last: Option<DecisionId>,
    /// Runs in a row that wanted more writes than allowed.
    floods: u32,
}

impl Standings {
    pub fn seen(&mut self, now: Moment, unit: &UnitId) {
        if self.get_mut(unit).is_none() {
            let stand =
                Stand { word: Word::Working, reason: "not decided yet".into(), since: now, last: None, floods: 0 };
            self.0.entry(unit.operator.clone()).or_default().insert(unit.unit.clone(), stand);
        }
    }

    pub fn set(&mut self, now: Moment, unit: &UnitId, word: Word, reason: &str) {
        self.seen(now, unit);
        let Some(stand) = self.get_mut(unit) else { return };
        if stand.word != word || !same_but_for_numbers(&stand.reason, reason) {
            stand.since = now;
        }
        if *stand.reason != *reason {
            stand.reason = reason.into();
        }
        stand.word = word;
    }

    pub fn decided(&mut self, unit: &UnitId, id: DecisionId) {
        if let Some(stand) = self.get_mut(unit) {
            stand.last = Some(id);
        }
    }

    pub fn forget(&mut self, unit: &UnitId) {
        if let Some(units) = self.0.get_mut(&unit.operator) {
            units.remove(&unit.unit);
        }
    }

    /// Forgets an operator; these were its units.
    pub fn remove(&mut self, operator: &OperatorName) -> Vec<UnitId> {
        let units = self.0.remove(operator).unwrap_or_default();
        units.into_keys().map(|unit| UnitId { operator: operator.clone(), unit }).collect()
    }

    fn floods(&mut self, unit: &UnitId, held: bool) -> u32 {
        self.get_mut(unit).map_or(0, |stand| {
            stand.floods = if held { stand.floods + 1 } else { 0 };
            stand.floods
        })
    }

    fn get_mut(&mut self, unit: &UnitId) -> Option<&mut Stand> {
        self.0.get_mut(&unit.operator)?.get_mut(&unit.unit)
    }

    fn of(&self, operator: &OperatorName) -> impl Iterator<Item = (&Unit, &Stand)> {
        self.0.get(operator).into_iter().flatten()
    }
}

/// What is counted in a reason does not make it another one.
fn same_but_for_numbers(one: &str, other: &str) -> bool {
    let words = |text: &'_ str| text.split(|letter: char| letter.is_ascii_digit()).collect::<String>();
    one == other || words(one) == words(other)
}

impl Core {
    /// What the writes of a run say of its unit, and how the run ended.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one fact about the run, and this is the one place they meet"
    )]
    pub(super) fn conclude(
        &mut self,
        now: Moment,
        unit: &UnitId,
        writes: &[Write],
        held: usize,
        standing: &Standing,
        again: Option<Duration>,
        findings: &[Finding],
    ) -> Ended {
        let floods = self.standings.floods(unit, held > 0);
        if let Some(wait) = self.arbiter.slowed(unit, now).or_else(|| self.fight_wait(now, unit)) {
            self.scheduler.slow(now, unit, now.after(wait));
        }
        let failed = writes.iter().find_map(|write| match &write.result {
            WriteResult::Failed { message } => Some(format!("could not {}: {message}", write.mutation)),
            WriteResult::Refused { reason } => Some(format!("may not {}: {reason}", write.mutation)),
            _ => None,
        });
        let stale = writes.iter().any(|write| matches!(write.result, WriteResult::Stale { .. }));
        let (word, reason) = if let Some(failed) = &failed {
            (Word::Failing, failed.clone())
        } else if let Some(finding) = findings.iter().chain(&self.findings_of(now, unit)).next() {
            (Word::Failing, finding.to_string())
        } else if floods >= FLOOD_RUNS {
            (Word::Failing, format!("floods: {held} writes more than its budget allows, {floods} runs in a row"))
        } else if held > 0 {
            (Word::Working, format!("{held} writes wait for the write budget"))
        } else if stale {
            (Word::Working, "what it wanted to write had changed meanwhile".to_string())
        } else {
            match standing {
                Standing::Ready => (Word::Ready, String::new()),
                Standing::Waiting(on) => (Word::Waiting, on.clone()),
                Standing::Blocked(needs) => (Word::Blocked, needs.clone()),
                Standing::Failing(why) => (Word::Failing, why.clone()),
            }
        };
        self.standings.set(now, unit, word, &reason);
        if failed.is_some() || matches!(standing, Standing::Failing(_)) {
            Ended::Failed
        } else if held > 0 || stale {
            Ended::Unfinished
        } else {
            Ended::Done { again }
        }
    }

    /// Two that fight take turns ever more slowly, until a person ends it.
    fn fight_wait(&self, now: Moment, unit: &UnitId) -> Option<Duration> {
        let flips = self.findings_of(now, unit).iter().map(|finding| finding.count()).max()?;
        Some(turn_wait(flips))
    }

    /// Of what was found, what is new or has doubled since it was last told: a fight must not fill the journal.
    pub(super) fn worth_telling(&mut self, now: Moment, found: Vec<Finding>) -> Vec<Finding> {
        if self.told.is_empty() && found.is_empty() {
            return found;
        }
        let key = |finding: &Finding| (finding.object().clone(), finding.field().to_string(), finding.whose());
        let ongoing: BTreeSet<_> = self.arbiter.findings(now).iter().map(key).collect();
        self.told.retain(|told, _| ongoing.contains(told));
        let told = &mut self.told;
        found
            .into_iter()
            .filter(|finding| {
                let due = told.entry(key(finding)).or_default();
                let worth = finding.count() >= *due;
                if worth {
                    *due = finding.count().saturating_mul(2);
                }
                worth
            })
            .collect()
    }

    fn findings_of(&self, now: Moment, unit: &UnitId) -> Vec<Finding> {
        let mut findings = self.arbiter.findings(now);
        findings.retain(|finding| match finding {
            Finding::Fight { units, .. } => units.contains(unit),
            Finding::Loop { unit: looping, .. } => *looping == *unit,
        });
        findings
    }

    /// The kernel at this moment.
    pub fn state(&self, now: Moment) -> State {
        let mut findings = self.arbiter.findings(now);
        findings.sort_by_key(|finding| finding.to_string());
        let tables: Vec<TableState> = self.watched.keys().map(|table| self.table_state(table)).collect();
        let operators = self.operators.keys().map(|name| self.operator_state(now, name, &tables)).collect();
        State { now, began: self.began, operators, tables, findings, unrecorded: 0 }
    }

    fn table_state(&self, table: &crate::resource::TableKey) -> TableState {
        let size = self.cache.size(table);
        let mut readers: BTreeSet<OperatorName> = self.wakes.reads_of(table).into_iter().collect();
        readers.extend(self.rosters.operators(table).cloned());
        TableState {
            table: table.clone(),
            known: self.cache.knows(table),
            served: self.cache.serves(table),
            objects: size.objects,
            bytes: size.bytes,
            readers: readers.into_iter().collect(),
            lost: self.lost.get(table).cloned(),
        }
    }

    fn operator_state(&self, now: Moment, name: &OperatorName, tables: &[TableState]) -> OperatorState {
        let hosted = &self.operators[name];
        let mut units: Vec<UnitState> =
            self.standings.of(name).map(|(unit, s)| self.unit_state(now, name, unit, s)).collect();
        let units_total = units.len();
        units.sort_by(|a, b| b.word.cmp(&a.word).then_with(|| a.unit.cmp(&b.unit)));
        let (word, reason) = units.first().map_or_else(
            || self.unread(name),
            |unit| {
                let whose = if units_total > 1 { format!("{}: ", unit.unit) } else { String::new() };
                (unit.word, if unit.reason.is_empty() { String::new() } else { format!("{whose}{}", unit.reason) })
            },
        );
        // What it reads is not as it is: being Ready would be a guess.
        let blind =
            tables.iter().find(|one| one.known && one.readers.contains(name) && self.lost.contains_key(&one.table));
        let (word, reason) = match blind.filter(|_| word <= Word::Waiting) {
            Some(TableState { table, .. }) => {
                let why = self.lost.get(table).map(String::as_str).unwrap_or_default();
                (Word::Waiting, format!("{} of cluster {} cannot be watched: {why}", table.resource, table.cluster))
            }
            None => (word, reason),
        };
        let (word, reason) = match (self.scheduler.is_paused(name), word, reason.is_empty()) {
            (true, Word::Ready | Word::Working, _) | (true, _, true) => (Word::Waiting, PAUSED.to_string()),
            (true, _, false) => (word, format!("{PAUSED}; {reason}")),
            (false, ..) => (word, reason),
        };
        units.retain(|unit| unit.word != Word::Ready || unit.wait != Wait::NothingChanged);
        let units_waiting = units.len();
        units.truncate(MAX_UNITS_SHOWN);
        let share = |table: &TableState| table.bytes / table.readers.len().max(1) as u64;
        OperatorState {
            name: name.to_string(),
            word,
            reason,
            runs: hosted.account.runs,
            failures: hosted.account.failures,
            writes: hosted.account.writes,
            decide_p50_us: hosted.account.percentile_us(50),
            decide_p99_us: hosted.account.percentile_us(99),
            cache_share_bytes: tables.iter().filter(|t| t.readers.contains(name)).map(share).sum(),
            units,
            units_total,
            units_waiting,
        }
    }

    /// One unit at this moment; `None` when there is none of that name.
    pub fn unit(&self, now: Moment, unit: &UnitId) -> Option<UnitState> {
        let stand = self.standings.0.get(&unit.operator)?.get(&unit.unit)?;
        Some(self.unit_state(now, &unit.operator, &unit.unit, stand))
    }

    /// Wakes units for which something changed outside of every cluster, whether their objects are there or not: what is left
    /// of one that is gone may lie outside as well. False when there is no such operator.
    pub fn tell(&mut self, now: Moment, operator: &OperatorName, units: Vec<Unit>) -> bool {
        self.tell_of(now, operator, units, None)
    }

    /// The same of units that take turns by a party, whatever their namespaces are.
    pub fn tell_of(
        &mut self,
        now: Moment,
        operator: &OperatorName,
        units: Vec<Unit>,
        party: Option<&Arc<str>>,
    ) -> bool {
        if !self.operators.contains_key(operator) {
            return false;
        }
        for unit in units {
            let unit = UnitId { operator: operator.clone(), unit };
            if let Some(party) = party {
                self.scheduler.assign(&unit, party);
            }
            self.wake(now, &unit, Cause::Outside);
        }
        true
    }

    /// Wakes a unit of an operator, or all of them, because somebody asks for it. Says how many; `None` when there is no
    /// such operator.
    pub fn ask(&mut self, now: Moment, operator: &OperatorName, unit: Option<&Unit>) -> Option<usize> {
        self.operators.get(operator)?;
        let asked = self.standings.of(operator).filter(|(one, _)| unit.is_none_or(|unit| unit == *one));
        let asked: Vec<UnitId> =
            asked.map(|(unit, _)| UnitId { operator: operator.clone(), unit: unit.clone() }).collect();
        asked.iter().for_each(|unit| self.wake(now, unit, Cause::Asked));
        Some(asked.len())
    }

    /// What an operator without units stands for: it may have none, or what its units are was not read yet.
    fn unread(&self, name: &OperatorName) -> (Word, String) {
        let rosters = self.watched.keys().filter(|table| self.rosters.operators(table).any(|reader| reader == name));
        let unread = rosters.filter(|table| !self.cache.knows(table)).map(|table| {
            let why = self.lost.get(table).map(|message| format!(": {message}")).unwrap_or_default();
            format!("{} of cluster {} to be read{why}", table.resource, table.cluster)
        });
        unread.reduce(|all, one| format!("{all}; {one}")).map_or((Word::Ready, String::new()), |on| (Word::Waiting, on))
    }

    fn unit_state(&self, now: Moment, operator: &OperatorName, unit: &Unit, stand: &Stand) -> UnitState {
        let id = UnitId { operator: operator.clone(), unit: unit.clone() };
        let (wait, causes) = self.scheduler.waiting(now, &id);
        // Only of what it misses: another kind may be away as well, and has nothing to do with it.
        let missing = match &wait {
            Wait::Parked { missing } => missing.as_slice(),
            _ => &[],
        };
        let lost = missing.iter().find_map(|table| Some((table, self.lost.get(table)?)));
        let reason =
            lost.map_or_else(|| stand.reason.to_string(), |(table, message)| format!("{}: {message}", table.resource));
        UnitState { unit: id.unit, word: stand.word, reason, since: stand.since, wait, causes, last: stand.last }
    }
}
