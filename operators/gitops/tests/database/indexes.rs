//! Queries of the service use an index for every column they filter by.

use switchboard_sql::Sealer;

use crate::database::TestDatabase;

/// Tables with the columns that a query filters by.
const QUERIES: [(&str, &[&str]); 15] = [
    ("clusteruser", &["display_name"]),
    ("clusteraccess", &["clusteraccess_gitops_engine_instance_id"]),
    ("operation", &["operation_owner_user_id"]),
    ("operation", &["operation_owner_user_id", "resource_type", "state"]),
    ("application", &["name"]),
    ("apicrtodatabasemapping", &["api_resource_type", "api_resource_name", "api_resource_namespace"]),
    ("apicrtodatabasemapping", &["api_resource_type", "db_relation_type", "db_relation_key"]),
    ("apicrtodatabasemapping", &["api_resource_namespace_uid", "db_relation_type"]),
    ("apicrtodatabasemapping", &["api_resource_namespace_uid", "db_relation_type", "api_resource_name"]),
    ("kubernetestodbresourcemapping", &["kubernetes_resource_type", "kubernetes_resource_uid", "db_relation_type"]),
    ("switchboard_move", &["move_user_id"]),
    ("switchboard_move", &["move_environment_id"]),
    ("switchboard_move", &["target_id"]),
    ("switchboard_move", &["target_id", "step"]),
    ("switchboard_service_account", &["resource_namespace_uid"]),
];

#[tokio::test]
async fn no_query_scans_a_table() {
    let database = TestDatabase::sqlite();
    database.open(Sealer::plain()).await.migrate().await.unwrap();
    let mut scans = Vec::new();
    for (table, columns) in QUERIES {
        let conditions: Vec<String> = columns.iter().map(|column| format!("{column} in ('a', 'b')")).collect();
        let sql = format!("explain query plan select * from {table} where {}", conditions.join(" and "));
        let plan = database.query_plan(sql).await;
        let uses = |column: &&str| plan.contains(&format!("{column}=?"));
        if !plan.contains("SEARCH") || !columns.iter().all(uses) {
            scans.push(format!("{table} {columns:?}: {plan}"));
        }
    }
    assert!(scans.is_empty(), "{}", scans.join("\n"));
}
