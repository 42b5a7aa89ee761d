//! Replay and `why` of decisions over rows.

use super::*;
use crate::explain::{ObjectTarget, explain_object};
use crate::journal::{Journal, JournalLimits};
use crate::replay::{ReplayComparison, replay};
use crate::view::{Reader, listed_keys};

fn journal(test: &RowTest) -> Journal {
    let mut journal = Journal::in_memory(JournalLimits::default());
    for run in &test.finished {
        let decision = &run.decision;
        let lists = decision.lists.iter().chain(&decision.rows.samples);
        let listed = lists.flat_map(|(query, listed)| listed_keys(query, listed));
        let keys: BTreeSet<_> = decision.gets.iter().map(|(key, _)| key.clone()).chain(listed).collect();
        let read: Vec<_> = keys.iter().filter_map(|key| run.snapshot.get(key).flatten()).collect();
        journal.append(decision, &read, Timestamp(test.now)).unwrap();
    }
    journal
}

/// Copies the owner of `a`, and counts, samples and lists.
fn copies(mark: &'static str) -> Arc<dyn Operator> {
    of_rows("copies", move |_, view| {
        let database = database();
        let rows = view.rows(&database);
        let Some(from) = rows.get::<Parcel>("a")? else { return Ok(Plan::nothing()) };
        let few = rows.below::<Parcel>(RowFilter::by("owner", "bob"), 2)?;
        let sample = rows.sample::<Parcel>(RowFilter::by("owner", "bob"))?.len();
        let listed = rows.list::<Parcel>(RowFilter::by("next", "z"))?.len();
        let mut plan = Plan::nothing();
        rows.get::<Parcel>("copy")?;
        let next = format!("{mark} {few} {sample} {listed}");
        plan.push_row(RowWrite::put(&database, &Parcel { id: "copy".into(), next, ..from }));
        Ok(plan)
    })
}

fn rows() -> Vec<Parcel> {
    vec![parcel("a", "ada", ""), parcel("b", "bob", "z"), parcel("c", "bob", "z"), parcel("d", "eve", "z")]
}

#[test]
fn a_replay_answers_row_reads_from_the_record() {
    let test = RowTest::of([copies("x")], &rows());
    assert_eq!(test.row("copy").unwrap().next, "x false 2 3");
    let (journal, id) = (journal(&test), test.finished[0].decision.id);
    assert_eq!(replay(&*copies("x"), &journal, id, &[]), ReplayComparison::Same);
    let ReplayComparison::Different { lines, .. } = replay(&*copies("y"), &journal, id, &[]) else { panic!() };
    assert_eq!(lines, [r#"~ create parcel.rows/copy: .next "x false 2 3" -> "y false 2 3""#]);
    let more = of_rows("copies", |_, view| {
        view.rows(&database()).get::<Parcel>("else")?;
        Ok(Plan::nothing())
    });
    let ReplayComparison::Different { lines, .. } = replay(&*more, &journal, id, &[]) else { panic!() };
    assert!(lines.contains(&"the replay also reads parcel.rows/else".to_string()), "{lines:?}");
}

#[test]
fn credentials_are_redacted_in_the_record() {
    let token = ColumnValue::sealed("hunter2-is-planted-here");
    let reads = || {
        of_rows("reads", |_, view| {
            let row = view.rows(&database()).get::<Parcel>("a")?.ok_or_else(|| DecideError::failed("absent"))?;
            Ok(Plan::nothing().waiting(format!("owner {}", row.owner)))
        })
    };
    for (owner, is_equal) in [("ada", true), ("needs-token", false)] {
        let test = RowTest::of([reads()], &[Parcel { token: token.clone(), ..parcel("a", owner, "") }]);
        let (journal, id) = (journal(&test), test.last().id);
        let recorded = format!("{:?}", journal.recorded(id));
        assert!(recorded.contains("<redacted>") && !recorded.contains("hunter2"), "{recorded}");
        match replay(&*reads(), &journal, id, &[]) {
            ReplayComparison::Same if is_equal => {}
            ReplayComparison::Redacted { objects, equal, .. } => {
                assert_eq!((objects[0].as_str(), equal), ("parcel.rows/a", is_equal));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn why_leads_from_row_to_row() {
    let second = of_rows("second", |_, view| {
        let database = database();
        let Some(copy) = view.rows(&database).get::<Parcel>("copy")? else { return Ok(Plan::nothing()) };
        view.rows(&database).get::<Parcel>("last")?;
        let mut plan = Plan::nothing();
        plan.push_row(RowWrite::put(&database, &Parcel { id: "last".into(), ..copy }));
        Ok(plan)
    });
    let test = RowTest::of([copies("x"), second], &rows());
    let journal = journal(&test);
    let entries: Vec<_> = journal.newest().collect();
    let target = ObjectTarget { cluster: None, kind: "parcel".into(), namespace: None, name: "last".into() };
    let (state, range) = (test.core.state(Timestamp(test.now)), journal.range());
    let report = explain_object(&target, None, &entries, &range, &state, None, &|_, _| None);
    assert_eq!(report.last_write.as_ref().unwrap().unit.operator, OperatorName::new("second"));
    assert_eq!(report.chain[0].unit.operator, OperatorName::new("copies"));
}
