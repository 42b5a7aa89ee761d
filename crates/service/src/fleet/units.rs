//! Units, by the names people have for them.

use switchboard_gitops::fleet::Unit;
use switchboard_ledger::ids::{ApiRelation, KubernetesRelation, ManagedEnvironmentId};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::{ApiToDatabase, ClusterUser, KubernetesToDatabase};
use switchboard_ledger::{Filter, Key, View};

use super::{Fleet, FleetError};

impl Fleet {
    /// What a tenant deploys to an environment, or, without one, to its own namespace.
    ///
    /// # Errors
    /// When it deploys nothing there.
    pub async fn unit(&self, tenant: &str, environment: Option<&str>) -> Result<(Unit, Placement), FleetError> {
        let mut view = self.store.ledger().view().await?;
        let found = unit(&mut view, tenant, environment).await?;
        view.end();
        found.ok_or_else(|| FleetError::NoUnit {
            tenant: tenant.to_string(),
            environment: environment.unwrap_or("its own namespace").to_string(),
        })
    }
}

/// A namespace's name may have been that of several tenants; the one that has something placed is meant.
async fn unit(
    view: &mut View,
    tenant: &str,
    environment: Option<&str>,
) -> Result<Option<(Unit, Placement)>, FleetError> {
    let users: Vec<ClusterUser> = view.list(&Filter::all().is("display_name", tenant)).await?;
    for user in users {
        let uid = user.user_name.as_str();
        let wanted = match environment {
            None => {
                let own = Filter::all()
                    .is("kubernetes_resource_uid", uid)
                    .is("db_relation_type", KubernetesRelation::ManagedEnvironment);
                view.list::<KubernetesToDatabase>(&own).await?.pop().map(|row| row.relation_key)
            }
            Some(name) => {
                let of = Filter::all()
                    .is("api_resource_name", name)
                    .is("api_resource_namespace_uid", uid)
                    .is("db_relation_type", ApiRelation::ManagedEnvironment);
                view.list::<ApiToDatabase>(&of).await?.pop().map(|row| row.relation_key)
            }
        };
        let Some(environment) = wanted.map(ManagedEnvironmentId::from) else { continue };
        let key = Key::of([user.id.as_str(), environment.as_str()]);
        if let Some(placement) = view.get::<Placement>(&key).await? {
            return Ok(Some((Unit { user: user.id, environment }, placement)));
        }
    }
    Ok(None)
}
