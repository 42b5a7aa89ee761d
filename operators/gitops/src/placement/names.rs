//! Display names of placements.
//!
//! The tenants of several backends that share a database may have namespaces of the same name. `fleet move` accepts the
//! uid of a namespace instead of its name, so ambiguous names are displayed as uids.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_sql::{Filter, LedgerError, LedgerView};

use crate::ids::{ApiRelation, ManagedEnvironmentId, UserId};
use crate::instance::fleet::{Fleet, FleetError};
use crate::moves::move_inputs::all;
use crate::rows::fleet::Placement;
use crate::rows::{ApiToDatabase, ClusterUser};

/// Maximum number of names in a message.
pub(crate) const MAX_LISTED: usize = 5;

/// Display names of tenants and environments.
#[derive(Clone, Debug, Default)]
pub struct PlacementNames {
    tenants: BTreeMap<UserId, DisplayName>,
    environments: BTreeMap<ManagedEnvironmentId, DisplayName>,
}

/// Name and uid of a tenant or an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DisplayName {
    pub name: String,
    /// Uid of the tenant's namespace, or of the environment's resource.
    pub uid: String,
    /// Whether another tenant or environment with placements has the same name.
    is_ambiguous: bool,
}

impl DisplayName {
    fn argument(&self) -> String {
        if self.is_ambiguous { self.uid.clone() } else { self.name.clone() }
    }
}

impl Fleet {
    /// Returns the display names of all placements.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn placement_names(&self) -> Result<PlacementNames, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let names = PlacementNames::read(&mut view).await?;
        view.end();
        Ok(names)
    }
}

impl PlacementNames {
    pub(crate) async fn read(view: &mut LedgerView) -> Result<PlacementNames, LedgerError> {
        let placements: Vec<Placement> = all(view).await?;
        let users: Vec<ClusterUser> = all(view).await?;
        let of_environments = Filter::all().is("db_relation_type", ApiRelation::ManagedEnvironment);
        let environments: Vec<ApiToDatabase> = view.list(&of_environments).await?;
        // Names without a placement cause no ambiguity.
        let placed: BTreeSet<&str> =
            placements.iter().flat_map(|row| [row.user.as_str(), row.environment.as_str()]).collect();
        let has_units = |user: &&ClusterUser| placed.contains(user.id.as_str());
        let of_tenants = repeated(users.iter().filter(has_units).map(|user| user.display_name.as_deref()));
        let is_placed = |row: &&ApiToDatabase| placed.contains(row.relation_key.as_str());
        let of_each = repeated(environments.iter().filter(is_placed).map(|row| (&row.namespace_uid, &row.name)));
        let tenant = |user: &ClusterUser| DisplayName {
            // A tenant of managed-gitops may only have the uid of its namespace as its name.
            name: user.display_name.clone().unwrap_or_else(|| user.user_name.clone()),
            uid: user.user_name.clone(),
            is_ambiguous: of_tenants.contains(&user.display_name.as_deref()),
        };
        let environment = |row: &ApiToDatabase| DisplayName {
            name: row.name.clone(),
            uid: row.resource_uid.to_string(),
            is_ambiguous: of_each.contains(&(&row.namespace_uid, &row.name)),
        };
        Ok(PlacementNames {
            tenants: users.iter().map(|user| (user.id.clone(), tenant(user))).collect(),
            environments: environments.iter().map(|row| (row.relation_key.as_str().into(), environment(row))).collect(),
        })
    }

    /// Returns the argument of `fleet move` for a tenant: the namespace, or its uid if the name is ambiguous.
    pub fn tenant(&self, user: &UserId) -> String {
        self.tenants.get(user).map_or_else(|| user.to_string(), DisplayName::argument)
    }

    /// Returns the argument of `fleet move` for an environment; `None` for the tenant's own namespace.
    pub fn environment(&self, id: &ManagedEnvironmentId) -> Option<String> {
        self.environments.get(id).map(DisplayName::argument)
    }

    pub(crate) fn tenant_row(&self, user: &UserId) -> Option<&DisplayName> {
        self.tenants.get(user)
    }

    pub(crate) fn environment_row(&self, id: &ManagedEnvironmentId) -> Option<&DisplayName> {
        self.environments.get(id)
    }

    /// Returns the arguments of `fleet move` for a placement.
    pub(crate) fn arguments(&self, row: &Placement) -> String {
        let tenant = self.tenant(&row.user);
        match self.environment(&row.environment) {
            Some(environment) => format!("{tenant} --environment {environment}"),
            None => tenant,
        }
    }
}

/// Returns the values that occur more than once.
fn repeated<T: Ord + Clone>(names: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut seen = BTreeSet::new();
    names.filter(|name| !seen.insert(name.clone())).collect()
}

/// Formats the first names of a list of `of` names.
pub(crate) fn first_few(first: &[String], of: usize) -> String {
    let listed: Vec<String> = first.iter().take(MAX_LISTED).map(|one| format!("`{one}`")).collect();
    let more = of.saturating_sub(listed.len());
    let listed = listed.join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

/// Formats the names after their number; empty if they are unknown.
pub(crate) fn list_suffix(first: &[String], of: u64) -> String {
    match first {
        [] => String::new(),
        _ => format!(": {}", first_few(first, usize::try_from(of).unwrap_or(usize::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_truncated() {
        let names: Vec<String> = (1..=9).map(|n| format!("t{n}")).collect();
        assert_eq!(first_few(&names[..2], 2), "`t1`, `t2`");
        assert_eq!((list_suffix(&[], 1), list_suffix(&names[..1], 1)), (String::new(), ": `t1`".to_string()));
        assert_eq!(first_few(&names, 9), "`t1`, `t2`, `t3`, `t4`, `t5` and 4 more");
    }
}
