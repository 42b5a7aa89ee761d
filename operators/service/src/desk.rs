//! Questions to clusters and git servers: units leave them here, somebody with a network answers, and the unit is woken.
//!
//! ```text
//!  unit runs ─▶ ask ─▶ desk ─▶ (task, with a network) ─▶ put ─▶ unit runs again, with the answer
//! ```
//!
//! Nothing of it is kept: whoever has lost an answer asks again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_kernel::operator::Unit;
use switchboard_ledger::Moment;
use tokio::sync::mpsc;

/// After how long a question that was answered with no is asked again; doubled each time.
const RETRY_FIRST_MS: i64 = 30 * 1000;
/// And at most: nobody is hammered.
const RETRY_MAX_MS: i64 = 30 * 60 * 1000;

/// Questions and answers of one kind of unit.
pub struct Desk<Q, A> {
    entries: Mutex<BTreeMap<Unit, Entry<Q, A>>>,
    out: mpsc::UnboundedSender<(Unit, Q)>,
    /// Taken by whoever answers.
    inbox: Mutex<Option<mpsc::UnboundedReceiver<(Unit, Q)>>>,
}

struct Entry<Q, A> {
    question: Q,
    answer: Option<A>,
    /// Whether somebody is asking.
    is_pending: bool,
    /// How often it was answered with no.
    refusals: u32,
    /// When it was.
    refused: Option<Moment>,
    /// Set where it is about something that stands: then it is asked again, whatever was answered.
    stands: Option<Stands>,
}

struct Stands {
    /// Of all that was read when rows were found to say so; empty if rows are to be looked at again.
    print: Vec<u8>,
    /// How often it is asked.
    every_ms: i64,
    /// When it was found so, or answered with yes.
    since: Moment,
}

/// What is to be done about something that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest<A> {
    /// It is being asked.
    Asked,
    /// Nothing for so many milliseconds, with what was answered last.
    For(u64, Option<A>),
}

impl<Q, A> Default for Desk<Q, A> {
    fn default() -> Self {
        // One question a unit at a time: there are no more than units.
        let (out, inbox) = mpsc::unbounded_channel();
        Desk { entries: Mutex::default(), out, inbox: Mutex::new(Some(inbox)) }
    }
}

impl<Q: Clone + PartialEq, A: Clone> Desk<Q, A> {
    /// The answer there is for a unit. One that was no is forgotten when it is time to ask again.
    pub fn answer(&self, unit: &Unit, now: Moment) -> Option<A> {
        let mut entries = self.entries();
        let entry = entries.get_mut(unit)?;
        // What stands is asked again without being forgotten.
        let is_due = entry.refused.is_some_and(|since| now.since_ms(since) >= wait_ms(entry.refusals));
        if is_due && entry.stands.is_none() {
            entry.answer = None;
            entry.refused = None;
        }
        entry.answer.clone()
    }

    /// Asks, unless just that is being asked.
    pub fn ask(&self, unit: &Unit, question: Q) {
        let mut entries = self.entries();
        let before = entries.get(unit);
        let same = before.filter(|before| before.question == question);
        if same.is_some_and(|same| same.is_pending) {
            return;
        }
        let refusals = same.map_or(0, |same| same.refusals);
        let entry =
            Entry { question: question.clone(), answer: None, is_pending: true, refusals, refused: None, stands: None };
        entries.insert(unit.clone(), entry);
        // Nobody takes questions any more: the process ends.
        let _ = self.out.send((unit.clone(), question));
    }

    /// Whether somebody still waits for the answer to this.
    pub fn is_asked(&self, unit: &Unit, question: &Q) -> bool {
        self.entries().get(unit).is_some_and(|entry| entry.is_pending && entry.question == *question)
    }

    /// Puts an answer there, if it is to what was asked last.
    pub fn put(&self, unit: &Unit, question: &Q, answer: A, is_refusal: bool, now: Moment) {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(unit).filter(|entry| entry.question == *question) else { return };
        entry.answer = Some(answer);
        entry.is_pending = false;
        entry.refused = is_refusal.then_some(now);
        entry.refusals = if is_refusal { entry.refusals.saturating_add(1) } else { 0 };
        if let Some(stands) = entry.stands.as_mut().filter(|_| !is_refusal) {
            stands.since = now;
        }
    }

    /// Rows say what was answered, as far as all of this was read: it is asked now and then whether that still is so.
    pub fn stand(&self, unit: &Unit, question: Q, print: &[u8], every_ms: i64, now: Moment) {
        let mut entries = self.entries();
        let before = entries.remove(unit).filter(|before| before.question == question);
        let new = Entry { question, answer: None, is_pending: false, refusals: 0, refused: None, stands: None };
        let mut entry = before.unwrap_or(new);
        let since = entry.stands.as_ref().map_or(now, |stands| stands.since);
        entry.stands = Some(Stands { print: print.to_vec(), every_ms, since });
        entries.insert(unit.clone(), entry);
    }

    /// What is to be done about something that stands, which is asked about if it is time; none if rows are to be looked at.
    pub fn rest(&self, unit: &Unit, print: &[u8], now: Moment) -> Option<Rest<A>> {
        let mut entries = self.entries();
        let entry = entries.get_mut(unit)?;
        let stands = entry.stands.as_ref().filter(|stands| stands.print == print)?;
        if entry.is_pending {
            return Some(Rest::Asked);
        }
        let left = match entry.refused {
            Some(since) => wait_ms(entry.refusals).min(stands.every_ms) - now.since_ms(since),
            None => stands.every_ms - now.since_ms(stands.since),
        };
        if let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) {
            return Some(Rest::For(left, entry.answer.clone()));
        }
        entry.is_pending = true;
        let _ = self.out.send((unit.clone(), entry.question.clone()));
        Some(Rest::Asked)
    }

    /// Whether it is about something that stood when it was last looked at.
    pub fn stood(&self, unit: &Unit) -> bool {
        self.entries().get(unit).is_some_and(|entry| entry.stands.is_some())
    }

    /// Rows may say something else.
    pub fn unsettle_all(&self) {
        for stands in self.entries().values_mut().filter_map(|entry| entry.stands.as_mut()) {
            stands.print.clear();
        }
    }

    /// In how many milliseconds is asked again what was answered with no.
    pub fn again_ms(&self, unit: &Unit, now: Moment) -> Option<u64> {
        let entries = self.entries();
        let entry = entries.get(unit)?;
        let most = entry.stands.as_ref().map_or(i64::MAX, |stands| stands.every_ms);
        let left = wait_ms(entry.refusals).min(most) - now.since_ms(entry.refused?);
        Some(u64::try_from(left).unwrap_or_default().max(1))
    }

    /// Nothing is to be known any more.
    pub fn forget(&self, unit: &Unit) {
        self.entries().remove(unit);
    }

    /// What is asked, for whoever answers. There is one.
    pub fn inbox(&self) -> Option<mpsc::UnboundedReceiver<(Unit, Q)>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Unit, Entry<Q, A>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait_ms(refusals: u32) -> i64 {
    RETRY_FIRST_MS.saturating_mul(2i64.saturating_pow(refusals.saturating_sub(1))).min(RETRY_MAX_MS)
}

#[cfg(test)]
mod tests;
