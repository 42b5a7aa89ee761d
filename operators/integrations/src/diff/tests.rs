#![allow(clippy::unwrap_used)]

use crate::desired::tests::{desired, files, runs};

use super::*;

fn report(from: &[(&str, String)], to: &[(&str, String)]) -> DiffReport {
    DiffReport::compare(&desired(&files(from), false), &desired(&files(to), false))
}

#[test]
fn equal_changes_of_shards_are_reported_once() {
    let sharded = |tag: &str| {
        vec![(
            "one",
            runs("/stage.yml", &format!(", extraEnv: [{{name: T, value: {tag}}}]"), "{strategy: static, shards: 412}"),
        )]
    };
    let report = report(&sharded("a"), &sharded("b"));
    let [group] = &report.groups[..] else { panic!("{}", report.groups.len()) };
    assert_eq!((group.fate, group.objects.len()), (ChangeKind::Changed, 412));
    assert_eq!(
        group.fields.iter().map(|change| change.field.as_str()).collect::<Vec<_>>(),
        ["spec.template.spec.containers[int].env[T].value"]
    );
    let text = report.to_string();
    assert!(text.contains("## one: changed, same in 412 shards") && text.contains("and 392 more"), "{text}");
}

#[test]
fn created_and_deleted_objects_and_new_problems_are_reported() {
    let before = [
        ("one", runs("/stage.yml", "", "{strategy: static, shards: 2}")),
        ("two", runs("/stage.yml", "", "")),
        ("three", runs("/stage.yml", "", "")),
    ];
    // The second entry becomes invalid: its objects are kept, which is a problem and not a removal.
    let after = [
        ("one", runs("/stage.yml", "", "{strategy: static, shards: 3}")),
        ("two", runs("/stage.yml", "", "{strategy: x}")),
    ];
    let report = report(&before, &after);
    assert_eq!(
        (report.count(ChangeKind::Added), report.count(ChangeKind::Removed), report.new_problems.len()),
        (1, 1, 1)
    );
    let text = report.to_string();
    assert!(text.contains("## New problems"), "{text}");
    assert!(!self::report(&before, &before).changes());
}
