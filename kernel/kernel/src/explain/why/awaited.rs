//! What is awaited: units that are not done and have to do with the object, what they wait for in turn, and who might be meant to write it.

use super::super::Target;
use super::Awaited;
use crate::decision::{Decision, Outcome};
use crate::operator::{OperatorName, Unit, UnitId};
use crate::plan::Standing;
use crate::resource::ObjectKey;
use crate::state::{OperatorState, State, UnitState, Wait, Word};

/// The namespace of who names none, as kubectl has it.
const NAMESPACE: &str = "default";

/// Units that are not done and have to do with the object: the one that wrote it, those that last read it, those it is the unit
/// of, those whose reason names it. What stands in their way comes before them.
pub(super) fn awaited(
    target: &Target,
    wrote: Option<&Decision>,
    decisions: &[&Decision],
    state: &State,
) -> Vec<Awaited> {
    let mut out = Vec::new();
    for (operator, unit) in unwell(state) {
        let by = UnitId { operator: OperatorName::new(&operator.name), unit: unit.unit.clone() };
        let reads = |decision: &&Decision| decision.unit == by && decision.gets.iter().any(|(k, _)| target.is(k));
        let own = is_its_unit(target, &by, decisions);
        let concerned = own || is_named(target, unit) || wrote.is_some_and(|w| w.unit == by);
        if concerned || decisions.iter().any(reads) {
            let reason = match unit.wait {
                Wait::Paused => format!("paused by somebody; {}", unit.reason),
                _ => unit.reason.clone(),
            };
            out.push(Awaited { by, word: unit.word, reason, since: unit.since });
        }
    }
    let roots = roots(&out, decisions, state);
    out.splice(0..0, roots);
    if out.is_empty() {
        match wrote {
            Some(decision) => {
                out.extend(stood(decisions.iter().find(|d| d.unit == decision.unit).copied().unwrap_or(decision)));
            }
            None => out.extend(suspects(target, decisions, state)),
        }
    }
    out
}

/// Every unit that is not well and says why.
fn unwell(state: &State) -> impl Iterator<Item = (&OperatorState, &UnitState)> {
    let units = state.operators.iter().flat_map(|operator| operator.units.iter().map(move |unit| (operator, unit)));
    units.filter(|(_, unit)| unit.word != Word::Ready && !unit.reason.is_empty())
}

/// Whether the reason of a unit names the object, and not one of that name in another namespace.
fn is_named(target: &Target, unit: &UnitState) -> bool {
    let (whose, meant) = (unit.unit.namespace(), target.namespace.as_deref().unwrap_or_default());
    let name = match whose.is_empty() || meant.is_empty() || whose == meant {
        true => target.name.clone(),
        false => format!("{meant}/{}", target.name),
    };
    names(&unit.reason, &name)
}

/// Whether a text names an object: as a word of its own, not within a longer name.
fn names(text: &str, name: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '.');
    // A sentence may end behind it.
    let after = |rest: &str| inside(rest.chars().next().filter(|c| *c != '.' || rest.len() > 1));
    let mut places = text.match_indices(name);
    !name.is_empty()
        && places.any(|(at, _)| !inside(text[..at].chars().next_back()) && !after(&text[at + name.len()..]))
}

/// Units of objects that a waiting unit read, which stand still themselves: what is waited for will not come before they go on.
fn roots(waiting: &[Awaited], decisions: &[&Decision], state: &State) -> Vec<Awaited> {
    let mut roots: Vec<Awaited> = Vec::new();
    for one in waiting.iter().filter(|one| one.word == Word::Waiting) {
        let Some(last) = decisions.iter().find(|decision| decision.unit == one.by) else { continue };
        let read = |unit: &Unit| last.gets.iter().any(|(key, _)| is_of(unit, key));
        // One that waits itself stands in the way only of who says that it waits for its object.
        let in_the_way = |unit: &UnitState| {
            unit.word >= Word::Blocked || unit.word == Word::Waiting && names(&one.reason, unit.unit.name())
        };
        for (operator, unit) in unwell(state).filter(|(_, unit)| in_the_way(unit) && read(&unit.unit)) {
            let by = UnitId { operator: OperatorName::new(&operator.name), unit: unit.unit.clone() };
            if waiting.iter().chain(&roots).all(|known| known.by != by) {
                roots.push(Awaited { by, word: unit.word, reason: unit.reason.clone(), since: unit.since });
            }
        }
    }
    roots
}

fn is_of(unit: &Unit, key: &ObjectKey) -> bool {
    *unit != Unit::Whole && unit.name() == &*key.name && unit.namespace() == &*key.namespace
}

/// Whether the object is what the unit is for. A unit is told by a name alone; what it read says of which kind its object is.
fn is_its_unit(target: &Target, by: &UnitId, decisions: &[&Decision]) -> bool {
    let named =
        by.unit.name() == target.name && target.namespace.as_deref().is_none_or(|named| named == by.unit.namespace());
    let last = decisions.iter().find(|decision| decision.unit == *by);
    let known = last.into_iter().flat_map(|last| &last.gets).map(|(key, _)| key).filter(|key| is_of(&by.unit, key));
    let mut known = known.peekable();
    named && (known.peek().is_none() || known.any(|key| target.is(key)))
}

/// Nobody wrote it and nobody says a word of it: operators that look at its kind and do not get on may be those who should.
fn suspects(target: &Target, decisions: &[&Decision], state: &State) -> Vec<Awaited> {
    let kind = |table: &&crate::state::TableState| {
        let namespace = target.namespace.as_deref().unwrap_or(NAMESPACE);
        let namespace = if table.table.resource.namespaced { namespace } else { "" };
        target.is(&ObjectKey {
            table: table.table.clone(),
            namespace: namespace.into(),
            name: target.name.as_str().into(),
        })
    };
    let readers: Vec<&OperatorName> = state.tables.iter().filter(kind).flat_map(|table| &table.readers).collect();
    let stuck = state.operators.iter().filter(|one| one.word >= Word::Waiting && !one.reason.is_empty());
    let stuck = stuck.filter(|one| readers.iter().any(|reader| *reader.0 == *one.name));
    stuck.filter_map(|operator| suspect(target, operator, decisions, state)).collect()
}

/// The worst unit of an operator that may be meant to write the object.
fn suspect(target: &Target, operator: &OperatorState, decisions: &[&Decision], state: &State) -> Option<Awaited> {
    let name = OperatorName::new(&operator.name);
    if operator.units.is_empty() {
        let by = UnitId { operator: name, unit: Unit::Whole };
        return Some(Awaited { by, word: operator.word, reason: operator.reason.clone(), since: state.now });
    }
    let mut units = operator.units.iter().filter(|unit| unit.word >= Word::Waiting && !unit.reason.is_empty());
    units.find_map(|unit| {
        let by = UnitId { operator: name.clone(), unit: unit.unit.clone() };
        let one = || Awaited { by: by.clone(), word: unit.word, reason: unit.reason.clone(), since: unit.since };
        may_write(target, &by, decisions).then(one)
    })
}

/// Whether a unit that does not get on may be meant to write the object: the one of a whole operator may, unless it decided and
/// is content, so that its trouble is with other objects; the one of a single object as long as nothing is known of what it
/// does, or when the object is named after its own.
fn may_write(target: &Target, by: &UnitId, decisions: &[&Decision]) -> bool {
    let beside = target.namespace.as_deref().unwrap_or(NAMESPACE) == by.unit.namespace();
    let named_after = || target.name.strip_prefix(by.unit.name()).is_some_and(|rest| rest.starts_with(['-', '.']));
    let last = decisions.iter().find(|decision| decision.unit == *by);
    let content =
        || last.is_some_and(|last| matches!(last.outcome, Outcome::Decided { standing: Standing::Ready, .. }));
    match by.unit {
        Unit::Whole => !content(),
        _ => beside && (named_after() || last.is_none()),
    }
}

/// What a unit's last decision says it waits for; for when no process runs that could be asked.
fn stood(decision: &Decision) -> Option<Awaited> {
    let Outcome::Decided { standing, .. } = &decision.outcome else { return None };
    let (word, reason) = match standing {
        Standing::Ready => return None,
        Standing::Waiting(on) => (Word::Waiting, on.clone()),
        Standing::Blocked(needs) => (Word::Blocked, needs.clone()),
        Standing::Failing(why) => (Word::Failing, why.clone()),
    };
    Some(Awaited { by: decision.unit.clone(), word, reason, since: decision.started })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_text_names_an_object_by_a_word_of_its_own() {
        assert!(names("does not delete web: it is of a wrong file", "web"));
        assert!(names("waits for web.", "web"));
        assert!(!names("does not delete web-1", "web"));
        assert!(!names("does not delete my-web", "web"));
        assert!(!names("cobweb", "web") && !names("anything", ""));
    }
}
