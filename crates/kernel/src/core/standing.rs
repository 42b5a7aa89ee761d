//! Where each unit stands, and the state of the whole.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Core;
use crate::arbiter::{FLIPS, SLOW_FIRST, SLOW_MAX};
use crate::decision::{DecisionId, Write, WriteResult};
use crate::moment::Moment;
use crate::operator::{OperatorName, UnitId};
use crate::plan::Standing;
use crate::scheduler::Ended;
use crate::state::{Finding, MAX_UNITS_SHOWN, OperatorState, State, TableState, UnitState, Wait, Word};

/// After how many runs in a row that wanted more writes than allowed a unit is said to flood.
const FLOOD_RUNS: u32 = 3;

/// Where the units stand.
#[derive(Default)]
pub(super) struct Standings(BTreeMap<UnitId, Stand>);

struct Stand {
    word: Word,
    reason: String,
    since: Moment,
    last: Option<DecisionId>,
    /// Runs in a row that wanted more writes than allowed.
    floods: u32,
}

impl Standings {
    pub fn seen(&mut self, now: Moment, unit: &UnitId) {
        if !self.0.contains_key(unit) {
            let stand =
                Stand { word: Word::Working, reason: "not decided yet".into(), since: now, last: None, floods: 0 };
            self.0.insert(unit.clone(), stand);
        }
    }

    pub fn set(&mut self, now: Moment, unit: &UnitId, word: Word, reason: String) {
        self.seen(now, unit);
        let Some(stand) = self.0.get_mut(unit) else { return };
        if (stand.word, &stand.reason) != (word, &reason) {
            *stand = Stand { word, reason, since: now, last: stand.last, floods: stand.floods };
        }
    }

    pub fn decided(&mut self, unit: &UnitId, id: DecisionId) {
        if let Some(stand) = self.0.get_mut(unit) {
            stand.last = Some(id);
        }
    }

    pub fn forget(&mut self, unit: &UnitId) {
        self.0.remove(unit);
    }

    fn floods(&mut self, unit: &UnitId, held: bool) -> u32 {
        self.0.get_mut(unit).map_or(0, |stand| {
            stand.floods = if held { stand.floods + 1 } else { 0 };
            stand.floods
        })
    }

    fn of(&self, operator: &OperatorName) -> impl Iterator<Item = (&UnitId, &Stand)> {
        self.0.iter().filter(move |(unit, _)| unit.operator == *operator)
    }
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
            }
        };
        self.standings.set(now, unit, word, reason);
        if failed.is_some() {
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
        Some(SLOW_FIRST.saturating_mul(2u32.saturating_pow(flips / FLIPS)).min(SLOW_MAX))
    }

    /// Of what was found, what is new or has doubled since it was last told: a fight must not fill the journal.
    pub(super) fn worth_telling(&mut self, now: Moment, found: Vec<Finding>) -> Vec<Finding> {
        if self.told.is_empty() && found.is_empty() {
            return found;
        }
        let key = |finding: &Finding| (finding.object().clone(), finding.field().to_string());
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
        State { now, began: self.began, operators, tables, findings }
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
        }
    }

    fn operator_state(&self, now: Moment, name: &OperatorName, tables: &[TableState]) -> OperatorState {
        let hosted = &self.operators[name];
        let mut units: Vec<UnitState> = self.standings.of(name).map(|(id, s)| self.unit_state(now, id, s)).collect();
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
        units.retain(|unit| unit.word != Word::Ready || unit.wait != Wait::NothingChanged);
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
        }
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

    fn unit_state(&self, now: Moment, id: &UnitId, stand: &Stand) -> UnitState {
        let (wait, causes) = self.scheduler.waiting(now, id);
        let lost = || self.lost.iter().find(|(table, _)| self.wakes.reads_of(table).contains(&id.operator));
        let reason = match (&wait, lost()) {
            (Wait::Parked { .. }, Some((table, message))) => format!("{}: {message}", table.resource),
            _ => stand.reason.clone(),
        };
        UnitState {
            unit: id.unit.clone(),
            word: stand.word,
            reason,
            since: stand.since,
            wait,
            causes,
            last: stand.last,
        }
    }
}
