//! Units that an object waits for: units that are not Ready and concern the object, the units they wait for, and units
//! that may be meant to write it.

use super::super::ObjectTarget;
use super::WaitingUnit;
use crate::decision::{Decision, RunOutcome};
use crate::operator::{OperatorName, Unit, UnitId};
use crate::plan::UnitStatus;
use crate::resource::ObjectKey;
use crate::state::{Health, KernelState, OperatorState, UnitState, Wait};

/// Default namespace, as in kubectl.
const NAMESPACE: &str = "default";

/// Returns the units that are not Ready and concern the object: those that wrote or last read it, those whose unit it
/// is, and those whose reason names it. Units that block them come first.
pub(super) fn waiting_units(
    target: &ObjectTarget,
    wrote: Option<&Decision>,
    decisions: &[&Decision],
    state: &KernelState,
) -> Vec<WaitingUnit> {
    let mut out = Vec::new();
    for (operator, unit) in unhealthy_units(state) {
        let by = UnitId { operator: OperatorName::new(&operator.name), unit: unit.unit.clone() };
        let reads = |decision: &&Decision| decision.unit == by && decision.gets.iter().any(|(k, _)| target.matches(k));
        let own = is_its_unit(target, &by, decisions);
        let concerned = own || is_mentioned(target, unit) || wrote.is_some_and(|w| w.unit == by);
        if concerned || decisions.iter().any(reads) {
            let reason = match &unit.wait {
                Wait::Paused(pause) => format!("{pause}; {}", unit.reason),
                _ => unit.reason.clone(),
            };
            out.push(WaitingUnit { by, health: unit.health, reason, since: unit.since });
        }
    }
    let roots = blockers(&out, decisions, state);
    out.splice(0..0, roots);
    if out.is_empty() {
        match wrote {
            Some(decision) => {
                out.extend(last_status(
                    decisions.iter().find(|d| d.unit == decision.unit).copied().unwrap_or(decision),
                ));
            }
            None => out.extend(possible_writers(target, decisions, state)),
        }
    }
    out
}

/// Returns the units that are not Ready and have a reason.
fn unhealthy_units(state: &KernelState) -> impl Iterator<Item = (&OperatorState, &UnitState)> {
    let units = state.operators.iter().flat_map(|operator| operator.units.iter().map(move |unit| (operator, unit)));
    units.filter(|(_, unit)| unit.health != Health::Ready && !unit.reason.is_empty())
}

/// Whether the reason of a unit names the object, and not one with that name in another namespace.
fn is_mentioned(target: &ObjectTarget, unit: &UnitState) -> bool {
    let (whose, meant) = (unit.unit.namespace(), target.namespace.as_deref().unwrap_or_default());
    let name = match whose.is_empty() || meant.is_empty() || whose == meant {
        true => target.name.clone(),
        false => format!("{meant}/{}", target.name),
    };
    mentions(&unit.reason, &name)
}

/// Whether a text contains a name as a separate word.
fn mentions(text: &str, name: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '.');
    // A sentence may end after the name.
    let after = |rest: &str| inside(rest.chars().next().filter(|c| *c != '.' || rest.len() > 1));
    let mut places = text.match_indices(name);
    !name.is_empty()
        && places.any(|(at, _)| !inside(text[..at].chars().next_back()) && !after(&text[at + name.len()..]))
}

/// Returns units that are blocked themselves, and whose objects a waiting unit has read.
fn blockers(waiting: &[WaitingUnit], decisions: &[&Decision], state: &KernelState) -> Vec<WaitingUnit> {
    let mut roots: Vec<WaitingUnit> = Vec::new();
    for one in waiting.iter().filter(|one| one.health == Health::Waiting) {
        let Some(last) = decisions.iter().find(|decision| decision.unit == one.by) else { continue };
        let read = |unit: &Unit| last.gets.iter().any(|(key, _)| is_unit_of(unit, key));
        // A unit that is itself waiting blocks only units that name its object as their reason.
        let in_the_way = |unit: &UnitState| {
            unit.health >= Health::Blocked || unit.health == Health::Waiting && mentions(&one.reason, unit.unit.name())
        };
        for (operator, unit) in unhealthy_units(state).filter(|(_, unit)| in_the_way(unit) && read(&unit.unit)) {
            let by = UnitId { operator: OperatorName::new(&operator.name), unit: unit.unit.clone() };
            if waiting.iter().chain(&roots).all(|known| known.by != by) {
                roots.push(WaitingUnit { by, health: unit.health, reason: unit.reason.clone(), since: unit.since });
            }
        }
    }
    roots
}

fn is_unit_of(unit: &Unit, key: &ObjectKey) -> bool {
    *unit != Unit::Whole && unit.name() == &*key.name && unit.namespace() == &*key.namespace
}

/// Whether the object is the object of the unit. A unit is identified only by a name; its reads show the kind.
fn is_its_unit(target: &ObjectTarget, by: &UnitId, decisions: &[&Decision]) -> bool {
    let named =
        by.unit.name() == target.name && target.namespace.as_deref().is_none_or(|named| named == by.unit.namespace());
    let last = decisions.iter().find(|decision| decision.unit == *by);
    let known =
        last.into_iter().flat_map(|last| &last.gets).map(|(key, _)| key).filter(|key| is_unit_of(&by.unit, key));
    let mut known = known.peekable();
    named && (known.peek().is_none() || known.any(|key| target.matches(key)))
}

/// Returns operators that watch the object's kind and are not Ready, when no operator wrote or mentions the object.
fn possible_writers(target: &ObjectTarget, decisions: &[&Decision], state: &KernelState) -> Vec<WaitingUnit> {
    let kind = |table: &&crate::state::TableState| {
        let namespace = target.namespace.as_deref().unwrap_or(NAMESPACE);
        let namespace = if table.table.resource.namespaced { namespace } else { "" };
        target.matches(&ObjectKey {
            table: table.table.clone(),
            namespace: namespace.into(),
            name: target.name.as_str().into(),
        })
    };
    let readers: Vec<&OperatorName> = state.tables.iter().filter(kind).flat_map(|table| &table.readers).collect();
    let stuck = state.operators.iter().filter(|one| one.health >= Health::Waiting && !one.reason.is_empty());
    let stuck = stuck.filter(|one| readers.iter().any(|reader| *reader.0 == *one.name));
    stuck.filter_map(|operator| possible_writer(target, operator, decisions, state)).collect()
}

/// Returns the least healthy unit of an operator that may be meant to write the object.
fn possible_writer(
    target: &ObjectTarget,
    operator: &OperatorState,
    decisions: &[&Decision],
    state: &KernelState,
) -> Option<WaitingUnit> {
    let name = OperatorName::new(&operator.name);
    if operator.units.is_empty() {
        let by = UnitId { operator: name, unit: Unit::Whole };
        return Some(WaitingUnit { by, health: operator.health, reason: operator.reason.clone(), since: state.now });
    }
    let mut units = operator.units.iter().filter(|unit| unit.health >= Health::Waiting && !unit.reason.is_empty());
    units.find_map(|unit| {
        let by = UnitId { operator: name.clone(), unit: unit.unit.clone() };
        let one =
            || WaitingUnit { by: by.clone(), health: unit.health, reason: unit.reason.clone(), since: unit.since };
        may_write(target, &by, decisions).then(one)
    })
}

/// Whether a unit that is not Ready may be meant to write the object. The unit of a whole operator may, unless its last
/// decision was Ready. The unit of one object may if it has no decision yet, or if the object's name starts with its
/// own.
fn may_write(target: &ObjectTarget, by: &UnitId, decisions: &[&Decision]) -> bool {
    let beside = target.namespace.as_deref().unwrap_or(NAMESPACE) == by.unit.namespace();
    let named_after = || target.name.strip_prefix(by.unit.name()).is_some_and(|rest| rest.starts_with(['-', '.']));
    let last = decisions.iter().find(|decision| decision.unit == *by);
    let content =
        || last.is_some_and(|last| matches!(last.outcome, RunOutcome::Decided { status: UnitStatus::Ready, .. }));
    match by.unit {
        Unit::Whole => !content(),
        _ => beside && (named_after() || last.is_none()),
    }
}

/// Returns the status of a unit's last decision, for use without a running kernel.
fn last_status(decision: &Decision) -> Option<WaitingUnit> {
    let RunOutcome::Decided { status, .. } = &decision.outcome else { return None };
    let (health, reason) = match status {
        UnitStatus::Ready => return None,
        UnitStatus::Waiting(on) => (Health::Waiting, on.clone()),
        UnitStatus::Blocked(needs) => (Health::Blocked, needs.clone()),
        UnitStatus::Failing(why) => (Health::Failing, why.clone()),
    };
    Some(WaitingUnit { by: decision.unit.clone(), health, reason, since: decision.started })
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn a_text_mentions_an_object_as_a_separate_word() {
        assert!(mentions("does not delete web: it is of a wrong file", "web"));
        assert!(mentions("waits for web.", "web"));
        assert!(!mentions("does not delete web-1", "web"));
        assert!(!mentions("does not delete my-web", "web"));
        assert!(!mentions("cobweb", "web") && !mentions("anything", ""));
    }
}
