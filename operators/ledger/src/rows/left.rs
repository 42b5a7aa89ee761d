//! Rows of ours alone: what was made on clusters of tenants and is to be removed there, and on which cluster a tenant is.

use crate::ids::{ServiceAccountId, Uid, UserId};
use crate::row::rows;
use crate::secret::Secret;
use crate::value::Moment;

rows! {
    /// A service account of ours on a tenant's cluster. The row is there before the account is, and goes after it: whatever becomes
    /// of the environment meanwhile, what it takes to remove the account is kept.
    ServiceAccount = "switchboard_service_account" {
        /// The row.
        id: ServiceAccountId = "account_id" max 48 key true,
        /// The environment's resource, whose uid is in the names of what is there.
        resource_uid: Uid = "resource_uid" max 64,
        /// The name of that resource.
        name: String = "resource_name" max 256,
        /// Its namespace.
        namespace: String = "resource_namespace" max 256,
        /// Which namespace of that name.
        namespace_uid: Uid = "resource_namespace_uid" max 64,
        /// URL of the API server.
        host: String = "host" max 2048,
        /// The kubeconfig the tenant gave.
        kube_config: Option<Secret> = "kube_config" max 1048576,
        /// Whether the server's certificate is not checked.
        allow_insecure: bool = "allow_insecure",
        /// When the row was made.
        created_on: Moment = "created_on",
        /// Since when nobody wants it.
        left_on: Option<Moment> = "left_on",
        /// The account's own token, as far as it is known: what the tenant gave may be worth nothing when the account is to go.
        token: Option<Secret> = "token" max 65536 ours true,
    }

    /// On which cluster a tenant is, where backends of several share the database.
    Home = "switchboard_home" {
        /// The tenant.
        user: UserId = "home_user_id" max 48 key true,
        /// What the cluster is known by.
        cluster: Uid = "cluster_uid" max 64,
    }
}
