#![allow(clippy::unwrap_used)]

use super::*;
use crate::row::Row;
use crate::value::DbTimestamp;

crate::rows! {
    since 1;

    /// Row with a column of each kind of condition.
    Sync = "sync" {
        /// Id of the row.
        id: String = "sync_id" max 48 key true,
        /// Application to sync.
        application: Option<String> = "application" max 48,
        /// Revision to sync to.
        revision: String = "revision" max 256,
        /// Desired state.
        state: String = "state" max 16,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Row with a key of several columns.
    Access = "access" {
        /// Tenant.
        user: String = "user_id" max 48 key true,
        /// Environment.
        environment: String = "environment_id" max 48 key true,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Row without other columns than its key.
    Name = "name" {
        /// Name.
        name: String = "name" max 48 key true,
    }
}

#[test]
fn tables_are_in_the_order_of_their_declaration() {
    assert_eq!(TABLES.iter().map(|table| table.name).collect::<Vec<_>>(), ["sync", "access", "name"]);
}

#[test]
fn timestamps_are_numbers_of_microseconds_in_postgres() {
    assert_eq!(
        Dialect::Postgres.insert(Sync::TABLE),
        "insert into sync (sync_id, application, revision, state, created_on) \
         values ($1, $2, $3, $4, (timestamp 'epoch' + $5::bigint * interval '1 microsecond'))"
    );
    assert!(Dialect::Sqlite.insert(Sync::TABLE).ends_with("values ($1, $2, $3, $4, $5)"));
}

#[test]
fn a_row_of_key_columns_alone_is_put_by_doing_nothing() {
    assert!(Dialect::Sqlite.put(Name::TABLE).ends_with("do nothing"));
    assert!(Dialect::Sqlite.put(Access::TABLE).ends_with("do update set created_on = excluded.created_on"));
}

#[test]
fn a_query_by_value_can_use_an_index() {
    let table = Access::TABLE;
    let equal = [ColumnFilter { column: table.column("user_id").unwrap(), null: false, values: 1 }];
    assert_eq!(
        Dialect::Sqlite.select(table, &equal, true, Some(10)),
        "select user_id, environment_id, created_on from access where user_id = $1 and (user_id, environment_id) > ($2, $3) \
         order by user_id, environment_id limit 10"
    );
}

#[test]
fn a_row_is_locked_where_others_write_at_the_same_time() {
    assert!(Dialect::Postgres.lock(Sync::TABLE, Lock::Update).ends_with("where sync_id = $1 for update"));
    assert!(Dialect::Postgres.lock(Sync::TABLE, Lock::Share).ends_with("for share"));
    assert!(Dialect::Sqlite.lock(Sync::TABLE, Lock::Share).ends_with("where sync_id = $1"));
}

#[test]
fn several_values_are_queried_with_one_condition() {
    let column = |name: &str| Sync::TABLE.column(name).unwrap();
    let equal = [
        ColumnFilter { column: column("state"), null: false, values: 2 },
        ColumnFilter { column: column("application"), null: true, values: 0 },
        ColumnFilter { column: column("revision"), null: false, values: 1 },
        ColumnFilter { column: column("sync_id"), null: false, values: 0 },
    ];
    assert_eq!(
        Dialect::Sqlite.count(Sync::TABLE, &equal),
        "select count(*) from sync where state in ($1, $2) and application is null and revision = $3 and 1 = 0"
    );
    assert_eq!(Dialect::Sqlite.count(Sync::TABLE, &[]), "select count(*) from sync");
}
