//! What units are called.
//!
//! Several backends over one database have tenants whose namespaces have the same name. A move takes the uid of such a namespace in
//! place of its name; so whoever tells people of units to be moved calls them by that.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_ledger::ids::{ApiRelation, ManagedEnvironmentId, UserId};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::{ApiToDatabase, ClusterUser};
use switchboard_ledger::{Filter, LedgerError, View};

use super::gather::all;
use super::{Fleet, FleetError};

/// How many of a longer list are told.
pub(super) const MAX_TOLD: usize = 5;

/// What the tenants and the environments of units are called.
#[derive(Clone, Debug, Default)]
pub struct Names {
    tenants: BTreeMap<UserId, Called>,
    environments: BTreeMap<ManagedEnvironmentId, Called>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Called {
    pub name: String,
    /// Of the tenant's namespace, or of the environment's resource.
    pub uid: String,
    /// Whether another one with units has that name as well.
    is_shared: bool,
}

impl Called {
    fn taken(&self) -> String {
        if self.is_shared { self.uid.clone() } else { self.name.clone() }
    }
}

impl Fleet {
    /// What units are called.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn names(&self) -> Result<Names, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let names = Names::read(&mut view).await?;
        view.end();
        Ok(names)
    }
}

impl Names {
    pub(super) async fn read(view: &mut View) -> Result<Names, LedgerError> {
        let placements: Vec<Placement> = all(view).await?;
        let users: Vec<ClusterUser> = all(view).await?;
        let of_environments = Filter::all().is("db_relation_type", ApiRelation::ManagedEnvironment);
        let environments: Vec<ApiToDatabase> = view.list(&of_environments).await?;
        // What has no unit any more is no other that may be meant.
        let placed: BTreeSet<&str> =
            placements.iter().flat_map(|row| [row.user.as_str(), row.environment.as_str()]).collect();
        let has_units = |user: &&ClusterUser| placed.contains(user.id.as_str());
        let of_tenants = repeated(users.iter().filter(has_units).map(|user| user.display_name.as_deref()));
        let is_placed = |row: &&ApiToDatabase| placed.contains(row.relation_key.as_str());
        let of_each = repeated(environments.iter().filter(is_placed).map(|row| (&row.namespace_uid, &row.name)));
        let tenant = |user: &ClusterUser| Called {
            // A tenant of the original may have no name but the uid of its namespace.
            name: user.display_name.clone().unwrap_or_else(|| user.user_name.clone()),
            uid: user.user_name.clone(),
            is_shared: of_tenants.contains(&user.display_name.as_deref()),
        };
        let environment = |row: &ApiToDatabase| Called {
            name: row.name.clone(),
            uid: row.resource_uid.to_string(),
            is_shared: of_each.contains(&(&row.namespace_uid, &row.name)),
        };
        Ok(Names {
            tenants: users.iter().map(|user| (user.id.clone(), tenant(user))).collect(),
            environments: environments.iter().map(|row| (row.relation_key.as_str().into(), environment(row))).collect(),
        })
    }

    /// What a move takes for a tenant: its namespace, or the uid of that where others have the name as well.
    pub fn tenant(&self, user: &UserId) -> String {
        self.tenants.get(user).map_or_else(|| user.to_string(), Called::taken)
    }

    /// What a move takes for an environment. One that nobody named is the tenant's own namespace.
    pub fn environment(&self, id: &ManagedEnvironmentId) -> Option<String> {
        self.environments.get(id).map(Called::taken)
    }

    pub(super) fn tenant_row(&self, user: &UserId) -> Option<&Called> {
        self.tenants.get(user)
    }

    pub(super) fn environment_row(&self, id: &ManagedEnvironmentId) -> Option<&Called> {
        self.environments.get(id)
    }

    /// A unit as it is given to `fleet move`.
    pub(super) fn arguments(&self, row: &Placement) -> String {
        let tenant = self.tenant(&row.user);
        match self.environment(&row.environment) {
            Some(environment) => format!("{tenant} --environment {environment}"),
            None => tenant,
        }
    }
}

/// What comes more than once.
fn repeated<T: Ord + Clone>(names: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut seen = BTreeSet::new();
    names.filter(|name| !seen.insert(name.clone())).collect()
}

/// The first of so many, for people.
pub(super) fn few(first: &[String], of: usize) -> String {
    let told: Vec<String> = first.iter().take(MAX_TOLD).map(|one| format!("`{one}`")).collect();
    let more = of.saturating_sub(told.len());
    let told = told.join(", ");
    if more == 0 { told } else { format!("{told} and {more} more") }
}

/// Behind how many there are: which, if that is known.
pub(super) fn named(first: &[String], of: u64) -> String {
    match first {
        [] => String::new(),
        _ => format!(": {}", few(first, usize::try_from(of).unwrap_or(usize::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_told_in_part() {
        let names: Vec<String> = (1..=9).map(|n| format!("t{n}")).collect();
        assert_eq!(few(&names[..2], 2), "`t1`, `t2`");
        assert_eq!((named(&[], 1), named(&names[..1], 1)), (String::new(), ": `t1`".to_string()));
        assert_eq!(few(&names, 9), "`t1`, `t2`, `t3`, `t4`, `t5` and 4 more");
    }
}
