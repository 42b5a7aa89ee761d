#![allow(clippy::unwrap_used)]

use super::*;
use crate::row::Row;
use crate::rows::{ApplicationState, ClusterAccess, KubernetesToDatabase, SyncOperation};

#[test]
fn timestamps_are_numbers_of_microseconds_in_postgres() {
    assert_eq!(
        Dialect::Postgres.insert(SyncOperation::TABLE),
        "insert into syncoperation (syncoperation_id, application_id, deployment_name, revision, desired_state, created_on) \
         values ($1, $2, $3, $4, $5, (timestamp 'epoch' + $6::bigint * interval '1 microsecond'))"
    );
    assert!(Dialect::Sqlite.insert(SyncOperation::TABLE).ends_with("values ($1, $2, $3, $4, $5, $6)"));
}

#[test]
fn a_row_of_key_columns_alone_is_put_by_doing_nothing() {
    assert!(Dialect::Sqlite.put(KubernetesToDatabase::TABLE).ends_with("do nothing"));
    assert!(
        Dialect::Sqlite
            .put(ApplicationState::TABLE)
            .ends_with("do update set argocd_application_status = excluded.argocd_application_status")
    );
}

#[test]
fn a_query_by_value_can_use_an_index() {
    let table = ClusterAccess::TABLE;
    let equal = [ColumnFilter { column: table.column("clusteraccess_user_id").unwrap(), null: false, values: 1 }];
    assert_eq!(
        Dialect::Sqlite.select(table, &equal, true, Some(10)),
        "select clusteraccess_user_id, clusteraccess_managed_environment_id, clusteraccess_gitops_engine_instance_id, created_on \
         from clusteraccess where clusteraccess_user_id = $1 and (clusteraccess_user_id, clusteraccess_managed_environment_id, \
         clusteraccess_gitops_engine_instance_id) > ($2, $3, $4) order by clusteraccess_user_id, \
         clusteraccess_managed_environment_id, clusteraccess_gitops_engine_instance_id limit 10"
    );
}

#[test]
fn a_row_is_locked_where_others_write_at_the_same_time() {
    assert!(
        Dialect::Postgres.lock(SyncOperation::TABLE, Lock::Update).ends_with("where syncoperation_id = $1 for update")
    );
    assert!(Dialect::Postgres.lock(SyncOperation::TABLE, Lock::Share).ends_with("for share"));
    assert!(Dialect::Sqlite.lock(SyncOperation::TABLE, Lock::Share).ends_with("where syncoperation_id = $1"));
}

#[test]
fn several_values_are_queried_with_one_condition() {
    let column = |name: &str| SyncOperation::TABLE.column(name).unwrap();
    let equal = [
        ColumnFilter { column: column("desired_state"), null: false, values: 2 },
        ColumnFilter { column: column("application_id"), null: true, values: 0 },
        ColumnFilter { column: column("revision"), null: false, values: 1 },
        ColumnFilter { column: column("deployment_name"), null: false, values: 0 },
    ];
    assert_eq!(
        Dialect::Sqlite.count(SyncOperation::TABLE, &equal),
        "select count(*) from syncoperation where desired_state in ($1, $2) and application_id is null and revision = $3 and 1 = 0"
    );
    assert_eq!(Dialect::Sqlite.count(SyncOperation::TABLE, &[]), "select count(*) from syncoperation");
}
