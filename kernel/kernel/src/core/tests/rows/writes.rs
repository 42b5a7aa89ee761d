//! Changes of rows in plans.

use super::*;
use crate::diff::diff;

/// Adds `!` to the next of `a` unless it has one, with a commit that depends on what was read.
fn marks(view: &View, unconditional: bool) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    let Some(mut row) = view.rows(&database()).get::<Parcel>("a")? else { return Ok(plan) };
    if !row.next.ends_with('!') {
        row.next.push('!');
        let write = RowWrite::put(&database(), &row);
        plan.push_row(if unconditional { write.unconditional() } else { write });
    }
    Ok(plan)
}

fn results(decision: &Decision) -> Vec<&WriteResult> {
    let RunOutcome::Decided { writes, .. } = &decision.outcome else { panic!("{:?}", decision.outcome) };
    writes.iter().map(|write| &write.result).collect()
}

#[test]
fn a_commit_is_observed_before_the_next_run() {
    let test = RowTest::of([of_rows("marks", |_, view| marks(view, false))], &[parcel("a", "ada", "x")]);
    assert_eq!(test.row("a"), Some(parcel("a", "ada", "x!")));
    let [first, second] = &test.finished[..] else { panic!("{} runs", test.finished.len()) };
    let written = Row::new(&database(), &PARCELS, parcel("a", "ada", "x!").values());
    assert_eq!(results(&first.decision), [&WriteResult::Written { revision: written.revision }]);
    assert_eq!(second.decision.gets, [(written.key, Some(written.revision))]);
    assert!(test.core.is_quiet());
}

#[test]
fn a_conflict_writes_nothing_and_decides_again() {
    let mut test = RowTest::of([of_rows("marks", |_, view| marks(view, false))], &[]);
    test.other_commit = Some(put_row(&parcel("a", "bob", "y")));
    test.commit(&[put_row(&parcel("a", "ada", "x"))]);
    assert_eq!(test.row("a"), Some(parcel("a", "bob", "y!")));
    let stale = test.finished.iter().flat_map(|run| results(&run.decision));
    assert_eq!(stale.filter(|result| matches!(result, WriteResult::Stale { .. })).count(), 1);
}

#[test]
fn an_unconditional_write_overwrites_another_writer() {
    let mut test = RowTest::of([of_rows("marks", |_, view| marks(view, true))], &[]);
    test.other_commit = Some(put_row(&parcel("a", "bob", "y")));
    test.commit(&[put_row(&parcel("a", "ada", "x"))]);
    assert_eq!(test.row("a"), Some(parcel("a", "ada", "x!")));
}

#[test]
fn rows_commit_together_or_not_at_all() {
    let both = |_: &Unit, _: &View| {
        let mut plan = Plan::nothing();
        plan.push_row(put_row(&parcel("b", "ada", "")))
            .push_row(RowWrite::insert(&database(), &parcel("a", "ada", "")));
        Ok(plan)
    };
    let test = RowTest::of([of_rows("both", both)], &[parcel("a", "bob", "")]);
    assert_eq!((test.row("a"), test.row("b")), (Some(parcel("a", "bob", "")), None));
    // Nothing that it read changes, so it fails at last.
    let last = results(test.last());
    assert!(
        last.iter().all(|result| matches!(result, WriteResult::Failed { .. } | WriteResult::Stale { .. })),
        "{last:?}"
    );
}

#[test]
fn an_undeclared_row_is_refused_by_name_and_nothing_is_written() {
    static OTHER: RowTable = RowTable { name: "other", columns: COLUMNS };
    let undeclared = |_: &Unit, _: &View| {
        let mut plan = Plan::nothing();
        let other = RowWrite { table: &OTHER, key: OTHER.row_key(&database(), "z"), ..put_row(&parcel("z", "", "")) };
        plan.push_row(put_row(&parcel("b", "ada", ""))).push_row(other);
        plan.push(Mutation::create(&CONFIG_MAPS, json!({"metadata": {"name": "web", "namespace": "shop"}})));
        Ok(plan)
    };
    let test = RowTest::of([of_rows("undeclared", undeclared)], &[]);
    assert!(test.store.rows().is_empty());
    let reason = "other.rows/z is not among the operator's declared outputs".to_string();
    let refused = WriteResult::Refused { reason };
    assert_eq!(results(&test.finished[0].decision), [&refused, &refused, &WriteResult::Skipped]);
}

#[test]
fn a_dry_run_shows_a_diff_and_writes_nothing() {
    let store = MemoryRowStore::new(database());
    store.commit_now(&[put_row(&parcel("a", "ada", "x"))]);
    let mut core = kernel([of_rows("marks", |_, view| marks(view, false))], &Limits::none());
    core.set_dry_run();
    core.add_store(&database(), MAX_ROW_CACHE_BYTES);
    let mut test = RowTest {
        core,
        store,
        session: None,
        now: 0,
        sessions: 0,
        finished: Vec::new(),
        dry_run: true,
        other_commit: None,
    };
    test.settle();
    assert_eq!(test.row("a"), Some(parcel("a", "ada", "x")));
    let planned = &test.finished[0].executed[0];
    assert_eq!(planned.write.mutation.to_string(), "update parcel.rows/a");
    let lines: Vec<String> =
        diff(planned.before.as_ref(), planned.after.as_ref()).iter().map(ToString::to_string).collect();
    assert_eq!(lines, [" id: a", "-next: x", "+next: x!", " owner: ada", " token: null"]);
}

#[test]
fn a_deleted_row_is_absent_and_an_equal_one_unchanged() {
    let mut test = RowTest::of(
        [of_rows("deletes", |_, view| {
            let mut plan = Plan::nothing();
            for row in view.rows(&database()).list::<Parcel>(RowFilter::by("owner", "ada"))? {
                plan.push_row(match row.next.as_str() {
                    "old" => RowWrite::delete(&database(), &row),
                    _ => RowWrite::put(&database(), &row),
                });
            }
            Ok(plan)
        })],
        &[parcel("a", "ada", "old"), parcel("b", "ada", "new")],
    );
    assert_eq!((test.row("a"), test.row("b")), (None, Some(parcel("b", "ada", "new"))));
    let first = results(&test.finished[0].decision);
    assert_eq!(first, [&WriteResult::Written { revision: 0 }, &WriteResult::Unchanged]);
    assert_eq!(results(test.last()), [&WriteResult::Unchanged]);
    assert_eq!(test.commit(&[]), 0);
}
