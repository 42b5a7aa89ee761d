#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use switchboard_sql::{Filter, RowKey};

use crate::flow::fixture::{FlowFixture, UID, web};
use crate::ids::*;
use crate::rows::*;
use crate::tenant::{self, OwnEnvironmentRows, TenantRows};

/// Removes the tenant of the fixture and commits. Returns whether nothing is left.
async fn remove(fixture: &mut FlowFixture) -> bool {
    let operations: Vec<Operation> = fixture.all().await;
    let accesses: Vec<ClusterAccess> = fixture.all().await;
    let known = accesses.iter().map(|access| &access.instance).chain(operations.iter().map(|row| &row.instance));
    let instances: BTreeSet<EngineInstanceId> = known.cloned().collect();
    let key = RowKey::from(&fixture.own);
    let of_own = Filter::all().is("db_relation_key", fixture.own.as_str());
    let environment: Option<ManagedEnvironment> = fixture.ledger.get(&key).await.unwrap();
    let own = OwnEnvironmentRows {
        mapping: fixture.ledger.list(&of_own).await.unwrap().remove(0),
        credentials: None,
        environment,
        is_used: !fixture.all::<Application>().await.is_empty(),
    };
    let mut id = fixture.ids();
    let rows = TenantRows {
        user: &fixture.user,
        operations: &operations,
        repositories: &fixture.all::<AppProjectRepository>().await,
        instances: &instances,
        accesses: &accesses,
        own: Some(&own),
    };
    let (changes, is_removed) = tenant::remove(&rows, &mut id, fixture.now);
    fixture.ledger.commit(&changes).await.unwrap();
    is_removed
}

/// managed-gitops neither finishes nor deletes an Operation without an owner.
#[tokio::test]
async fn guarantees_no_operation_outlives_its_owner() {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    fixture.complete(Ok(())).await;
    assert!(!remove(&mut fixture).await, "its project is removed first");
    fixture.decide("web", None, None).await;
    assert!(!remove(&mut fixture).await, "Operations are open");
    fixture.complete(Err("it took too long")).await;
    assert!(fixture.all::<Operation>().await.iter().all(|row| row.owner.as_ref() == Some(&fixture.user.id)));
    assert!(remove(&mut fixture).await);
    assert!(fixture.all::<Operation>().await.is_empty());
    assert!(fixture.all::<ClusterUser>().await.is_empty());
    assert!(fixture.all::<ManagedEnvironment>().await.is_empty());
}
