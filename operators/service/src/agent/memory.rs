//! What an agent keeps in mind of Applications. All of it is lost with the process, and found again at its start.
//!
//! Argo CD writes every Application at every comparison, every few minutes, with nothing new but when that was. One that says what it
//! said when it was as its row says is asked nothing about.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use switchboard_gitops::argo::{application, status};
use switchboard_gitops::fleet::moving::is_held;
use switchboard_kernel::operator::Unit;
use switchboard_ledger::{Moment, Signal};

/// Of how many Applications it is kept in mind what they said. Of others the database is asked at every comparison.
const MAX_SAID: usize = 50_000;

/// Of how many Applications it is kept in mind since when no row knows them. Others go when these have.
const MAX_ORPHANS: usize = 1_000;

/// Of how many rows it is kept in mind when they were forgotten. Beyond that, whoever looked before has looked for nothing.
const MAX_FORGOTTEN: usize = 10_000;

/// What an Application says, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Print {
    /// The row it names.
    row: String,
    digest: Vec<u8>,
}

impl Print {
    /// Of an Application; none of one that names no row.
    pub(super) fn of(object: &Value) -> Option<Print> {
        let meta = &object["metadata"];
        let all = json!([
            meta["namespace"],
            meta["name"],
            meta["deletionTimestamp"],
            is_held(object),
            object["spec"],
            status::timeless(object["status"].clone())
        ]);
        let digest = digest(&SHA256, all.to_string().as_bytes()).as_ref().to_vec();
        application::row_of(object).map(|row| Print { row: row.to_string(), digest })
    }
}

/// What an Application said.
struct Said {
    digest: Vec<u8>,
    /// Its unit, if it was to be made so and nobody has looked it up since.
    made: Option<Unit>,
}

/// What is kept in mind.
#[derive(Default)]
pub(super) struct Memory {
    /// What Applications said that were as their rows say, by row.
    said: BTreeMap<String, Said>,
    /// How often something was forgotten.
    forgotten: u64,
    /// Which rows' Applications were, and when by that count; what is not here was last forgotten before `since`.
    rows: BTreeMap<String, u64>,
    since: u64,
    /// Since when no row knows an Application, by namespace and name.
    orphans: BTreeMap<(String, String), Moment>,
}

impl Memory {
    /// Whether an Application says what it said before. If not, with a number that says how often something was forgotten.
    pub(super) fn is_known(&self, print: Option<&Print>) -> Result<(), u64> {
        let known = print.and_then(|print| self.said.get(&print.row).filter(|said| said.digest == print.digest));
        known.map(|_| ()).ok_or(self.forgotten)
    }

    /// How often something was forgotten until now.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// An Application is as its row says, unless that was forgotten since the row was looked at.
    pub(super) fn keep(&mut self, print: Print, forgotten: u64) {
        self.believe(print, None, forgotten);
    }

    /// An Application is about to be made as its row says: when it is there, it need not be looked up.
    pub(super) fn makes(&mut self, print: Print, unit: Unit, forgotten: u64) {
        self.is_no_orphan(unit.namespace(), unit.name());
        self.believe(print, Some(unit), forgotten);
    }

    fn believe(&mut self, print: Print, made: Option<Unit>, forgotten: u64) {
        if forgotten < self.since || self.rows.get(&print.row).is_some_and(|last| *last > forgotten) {
            return;
        }
        self.said.insert(print.row, Said { digest: print.digest, made });
        if self.said.len() > MAX_SAID {
            self.said.pop_first();
        }
    }

    /// Rows changed: what their Applications said counts no longer. Units of those that were made and never looked up are to be woken: one
    /// may have come before its row was heard to be gone, and then nobody else looks.
    #[must_use]
    pub(super) fn heard(&mut self, news: &[Signal]) -> Vec<Unit> {
        let mut unseen = Vec::new();
        for signal in news {
            match signal {
                Signal::Everything => unseen.extend(self.forget_all()),
                Signal::Changed { table, key } if table == "application" => unseen.extend(self.forget(key)),
                Signal::Changed { .. } => {}
            }
        }
        unseen
    }

    fn forget(&mut self, row: &str) -> Option<Unit> {
        self.forgotten += 1;
        let said = self.said.remove(row);
        self.rows.insert(row.to_string(), self.forgotten);
        if self.rows.len() > MAX_FORGOTTEN {
            (self.rows, self.since) = (BTreeMap::new(), self.forgotten);
        }
        said?.made
    }

    fn forget_all(&mut self) -> Vec<Unit> {
        self.forgotten += 1;
        (self.rows, self.since) = (BTreeMap::new(), self.forgotten);
        std::mem::take(&mut self.said).into_values().filter_map(|said| said.made).collect()
    }

    /// Since when no row knows this Application; none if too many others are looked at.
    pub(super) fn orphan_since(&mut self, namespace: &str, name: &str, now: Moment) -> Option<Moment> {
        let key = (namespace.to_string(), name.to_string());
        let is_full = self.orphans.len() >= MAX_ORPHANS;
        if is_full && !self.orphans.contains_key(&key) {
            return None;
        }
        Some(*self.orphans.entry(key).or_insert(now))
    }

    /// A row knows this Application, or it is gone.
    pub(super) fn is_no_orphan(&mut self, namespace: &str, name: &str) {
        self.orphans.remove(&(namespace.to_string(), name.to_string()));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn said(at: &str, health: &str) -> Print {
        let object = json!({"metadata": {"labels": {"databaseID": "row"}},
            "status": {"reconciledAt": at, "health": {"status": health}}});
        Print::of(&object).unwrap()
    }

    #[test]
    fn only_what_says_the_same_of_a_row_that_stands_is_known() {
        let mut memory = Memory::default();
        let before = memory.is_known(Some(&said("8:00", "Healthy"))).unwrap_err();
        memory.keep(said("8:00", "Healthy"), before);
        assert_eq!(memory.is_known(Some(&said("8:03", "Healthy"))), Ok(()), "another time is no news");
        assert!(memory.is_known(Some(&said("8:03", "Degraded"))).is_err());
        let _ = memory.heard(&[Signal::Changed { table: "application".into(), key: "other".into() }]);
        assert_eq!(memory.is_known(Some(&said("8:03", "Healthy"))), Ok(()));
        let _ = memory.heard(&[Signal::Changed { table: "application".into(), key: "row".into() }]);
        assert!(memory.is_known(Some(&said("8:03", "Healthy"))).is_err());
        memory.keep(said("8:03", "Healthy"), before);
        assert!(memory.is_known(Some(&said("8:03", "Healthy"))).is_err(), "its row may have changed meanwhile");
        let now = memory.forgotten();
        let _ = memory.heard(&[Signal::Changed { table: "application".into(), key: "other".into() }]);
        memory.keep(said("8:03", "Healthy"), now);
        assert_eq!(memory.is_known(Some(&said("8:03", "Healthy"))), Ok(()), "what others say does not matter");
        let _ = memory.heard(&[Signal::Everything]);
        memory.keep(said("8:03", "Healthy"), now);
        assert!(memory.is_known(Some(&said("8:03", "Healthy"))).is_err(), "anything may have changed meanwhile");
    }

    #[test]
    fn of_more_rows_than_are_kept_in_mind_nothing_is_believed() {
        let mut memory = Memory::default();
        let before = memory.forgotten();
        for row in 0..=MAX_FORGOTTEN {
            let _ = memory.heard(&[Signal::Changed { table: "application".into(), key: format!("row-{row}") }]);
        }
        memory.keep(said("8:00", "Healthy"), before);
        assert!(memory.is_known(Some(&said("8:00", "Healthy"))).is_err());
        memory.keep(said("8:00", "Healthy"), memory.forgotten());
        assert_eq!(memory.is_known(Some(&said("8:00", "Healthy"))), Ok(()));
    }

    #[test]
    fn what_was_made_and_never_looked_up_is_looked_at_when_its_row_changes() {
        let mut memory = Memory::default();
        let row = || [Signal::Changed { table: "application".into(), key: "row".into() }];
        let unit = Unit::object("argocd", "web");
        memory.makes(said("8:00", "Healthy"), unit.clone(), memory.forgotten());
        assert_eq!(memory.is_known(Some(&said("8:00", "Healthy"))), Ok(()));
        assert_eq!(memory.heard(&row()), std::slice::from_ref(&unit));
        assert_eq!(memory.heard(&row()), []);
        memory.makes(said("8:00", "Healthy"), unit.clone(), memory.forgotten());
        assert_eq!(memory.heard(&[Signal::Everything]), std::slice::from_ref(&unit));
        memory.makes(said("8:00", "Healthy"), unit, memory.forgotten());
        memory.keep(said("8:00", "Healthy"), memory.forgotten());
        assert_eq!(memory.heard(&row()), [], "it was looked up since");
    }
}
