//! Tests of rows.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::plan::WriteOp;

const COLUMNS: &[RowColumn] = &[
    RowColumn { name: "id", column_type: ColumnType::Text, is_key: true },
    RowColumn { name: "part", column_type: ColumnType::Integer, is_key: true },
    RowColumn { name: "token", column_type: ColumnType::Secret, is_key: false },
    RowColumn { name: "done", column_type: ColumnType::Boolean, is_key: false },
    RowColumn { name: "at", column_type: ColumnType::Timestamp, is_key: false },
    RowColumn { name: "raw", column_type: ColumnType::Bytes, is_key: false },
];
static TABLE: RowTable = RowTable { name: "parcel", columns: COLUMNS };

fn row(token: ColumnValue) -> Row {
    let values = vec![
        "a".into(),
        7.into(),
        token,
        ColumnValue::Boolean(true),
        ColumnValue::Timestamp(1_700_000_000_123_456),
        ColumnValue::Bytes(vec![0, 255].into()),
    ];
    Row::new(&StoreName::new("database"), &TABLE, values)
}

#[test]
fn a_recorded_row_has_the_same_values_except_for_credentials() {
    let before = row(ColumnValue::sealed("s3cr3t"));
    assert_eq!(before.key.to_string(), "parcel.rows/a/7");
    let fields = before.object().value();
    assert!(!fields.to_string().contains("s3cr3t") && has_redacted(&fields), "{fields}");
    let after = TABLE.values(&fields);
    assert!(after[2].is_redacted());
    assert_eq!((&before.values[..2], &before.values[3..]), (&after[..2], &after[3..]));
    let none = row(ColumnValue::Null);
    assert_eq!(TABLE.values(&none.object().value()), none.values);
}

#[test]
fn a_revision_depends_on_every_value() {
    let [a, b, c] =
        [ColumnValue::sealed("a"), ColumnValue::sealed("b"), ColumnValue::Null].map(|one| row(one).revision);
    assert!(a != b && b != c && a != c);
    assert_eq!(a, row(ColumnValue::sealed("a")).revision);
    let split = |one: &str, two: &str| revision("k", &[one.into(), two.into()]);
    assert_ne!(split("ab", "c"), split("a", "bc"));
}

#[test]
fn no_form_of_a_write_shows_a_credential() {
    let values = row(ColumnValue::secret("s3cr3t")).values;
    let was = row(ColumnValue::sealed("0ld")).values;
    let write = RowWrite {
        table: &TABLE,
        key: row(ColumnValue::Null).key,
        operation: RowOperation::Put(values),
        precondition: RowPrecondition::Values(was),
    };
    let mutation = write.mutation();
    let shown = format!("{write:?} {} {mutation}", serde_json::to_string(&mutation).unwrap());
    assert!(!shown.contains("s3cr3t") && !shown.contains("0ld"), "{shown}");
    let WriteOp::Update(fields) = mutation.operation else { panic!("{mutation}") };
    assert_eq!(fields["token"], crate::diff::REDACTED_OTHER);
}

#[test]
fn a_filter_selects_by_equality() {
    let row = row(ColumnValue::Null);
    assert!(RowFilter::by("id", "a").is_any_of("part", [6, 7]).matches(&row));
    assert!(RowFilter::all().and("token", ColumnValue::Null).matches(&row));
    assert!(!RowFilter::by("id", "a").and("part", 8).matches(&row));
    let query = RowFilter::by("id", "a").is_any_of("part", [6, 7]).limit(2).query(row.key.table);
    assert_eq!(query.to_string(), "parcel.rows with id=a, part=6|7 (at most 2)");
    let text = serde_json::to_string(&query).unwrap();
    assert_eq!(serde_json::from_str::<crate::resource::ListQuery>(&text).unwrap(), query);
}
