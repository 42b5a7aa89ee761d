#![allow(clippy::unwrap_used)]

use super::*;
use switchboard_sql::row::UnreadableColumn;
use switchboard_sql::{ColumnType, Row, SqlValue};

#[test]
fn there_are_seventeen_tables_and_each_has_a_key() {
    assert_eq!(TABLES.len(), 17);
    for table in TABLES {
        assert!(table.keys().count() > 0, "{}", table.name);
        let texts = table.columns.iter().filter(|column| matches!(column.kind, ColumnType::Text | ColumnType::Secret));
        for column in texts {
            assert!(column.max_chars > 0, "{}.{} has no bound", table.name, column.name);
        }
    }
}

fn sync_operation() -> SyncOperation {
    SyncOperation {
        id: "s".into(),
        application: None,
        deployment_name: "web".into(),
        revision: "main".into(),
        desired_state: DesiredState::Running,
        created_on: DbTimestamp::from_unix_us(5),
    }
}

#[test]
fn a_row_is_rebuilt_from_its_values() {
    let row = sync_operation();
    assert_eq!(SyncOperation::from_values(row.values()).unwrap(), row);
}

#[test]
fn an_unknown_value_is_reported_by_table_and_column() {
    let mut values = sync_operation().values();
    values[4] = SqlValue::from("Resting");
    let error = SyncOperation::from_values(values).unwrap_err();
    assert_eq!(error, UnreadableColumn { table: "syncoperation", column: "desired_state" });
}

#[test]
fn an_empty_text_and_none_are_the_same_where_a_column_may_be_null() {
    let mut values = sync_operation().values();
    values[1] = SqlValue::from("");
    assert_eq!(SyncOperation::from_values(values).unwrap(), sync_operation());
}
