//! What an agent keeps in mind of Applications. All of it is lost with the process, and found again at its start.
//!
//! Argo CD writes every Application at every comparison, every few minutes, with nothing new but when that was. One that says what it
//! said when it was as its row says is asked nothing about.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use switchboard_gitops::argo::{application, status};
use switchboard_gitops::fleet::moving::is_held;
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

/// What is kept in mind.
#[derive(Default)]
pub(super) struct Memory {
    /// What Applications said that were as their rows say, by row.
    said: BTreeMap<String, Vec<u8>>,
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
        let known = print.and_then(|print| self.said.get(&print.row).filter(|digest| **digest == print.digest));
        known.map(|_| ()).ok_or(self.forgotten)
    }

    /// How often something was forgotten until now.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// An Application is as its row says, unless that was forgotten since the row was looked at.
    pub(super) fn keep(&mut self, print: Print, forgotten: u64) {
        if forgotten < self.since || self.rows.get(&print.row).is_some_and(|last| *last > forgotten) {
            return;
        }
        self.said.insert(print.row, print.digest);
        if self.said.len() > MAX_SAID {
            self.said.pop_first();
        }
    }

    /// Rows changed: what their Applications said counts no longer.
    pub(super) fn heard(&mut self, news: &[Signal]) {
        for signal in news {
            match signal {
                Signal::Everything => self.forget_all(),
                Signal::Changed { table, key } if table == "application" => self.forget(key),
                Signal::Changed { .. } => {}
            }
        }
    }

    fn forget(&mut self, row: &str) {
        self.forgotten += 1;
        self.said.remove(row);
        self.rows.insert(row.to_string(), self.forgotten);
        if self.rows.len() > MAX_FORGOTTEN {
            (self.rows, self.since) = (BTreeMap::new(), self.forgotten);
        }
    }

    fn forget_all(&mut self) {
        self.forgotten += 1;
        (self.said, self.rows, self.since) = (BTreeMap::new(), BTreeMap::new(), self.forgotten);
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
        memory.heard(&[Signal::Changed { table: "application".into(), key: "other".into() }]);
        assert_eq!(memory.is_known(Some(&said("8:03", "Healthy"))), Ok(()));
        memory.heard(&[Signal::Changed { table: "application".into(), key: "row".into() }]);
        assert!(memory.is_known(Some(&said("8:03", "Healthy"))).is_err());
        memory.keep(said("8:03", "Healthy"), before);
        assert!(memory.is_known(Some(&said("8:03", "Healthy"))).is_err(), "its row may have changed meanwhile");
        let now = memory.forgotten();
        memory.heard(&[Signal::Changed { table: "application".into(), key: "other".into() }]);
        memory.keep(said("8:03", "Healthy"), now);
        assert_eq!(memory.is_known(Some(&said("8:03", "Healthy"))), Ok(()), "what others say does not matter");
        memory.heard(&[Signal::Everything]);
        memory.keep(said("8:03", "Healthy"), now);
        assert!(memory.is_known(Some(&said("8:03", "Healthy"))).is_err(), "anything may have changed meanwhile");
    }

    #[test]
    fn of_more_rows_than_are_kept_in_mind_nothing_is_believed() {
        let mut memory = Memory::default();
        let before = memory.forgotten();
        for row in 0..=MAX_FORGOTTEN {
            memory.heard(&[Signal::Changed { table: "application".into(), key: format!("row-{row}") }]);
        }
        memory.keep(said("8:00", "Healthy"), before);
        assert!(memory.is_known(Some(&said("8:00", "Healthy"))).is_err());
        memory.keep(said("8:00", "Healthy"), memory.forgotten());
        assert_eq!(memory.is_known(Some(&said("8:00", "Healthy"))), Ok(()));
    }
}
