//! Switchboard's own rows for the clusters of tenants: service accounts to remove there, and the cluster of each
//! tenant.

use crate::ids::{ServiceAccountId, Uid, UserId};
use switchboard_sql::{DbTimestamp, SecretString};

switchboard_sql::rows! {
    since 4;

    /// Service account that Switchboard created on a tenant's cluster. The row is written before the account is created
    /// and deleted after the account, so the data for its removal outlives the environment.
    ServiceAccount = "switchboard_service_account" {
        /// Id of the row.
        id: ServiceAccountId = "account_id" max 48 key true,
        /// Uid of the environment's resource, which is part of the names of the objects on the cluster.
        resource_uid: Uid = "resource_uid" max 64,
        /// Name of the environment's resource.
        name: String = "resource_name" max 256,
        /// Namespace of the environment's resource.
        namespace: String = "resource_namespace" max 256,
        /// Uid of that namespace.
        namespace_uid: Uid = "resource_namespace_uid" max 64,
        /// URL of the API server.
        host: String = "host" max 2048,
        /// Kubeconfig from the tenant.
        kube_config: Option<SecretString> = "kube_config" max 1048576,
        /// Whether to skip verification of the server's certificate.
        allow_insecure: bool = "allow_insecure",
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
        /// Time since when the account is no longer needed.
        unused_since: Option<DbTimestamp> = "left_on",
        /// Token of the account, if known. The tenant's credentials may be invalid by the time the account is removed.
        token: Option<SecretString> = "token" max 65536 since 6,
    }

    /// Cluster of a tenant, for backends of several clusters that share the database.
    TenantCluster = "switchboard_home" {
        /// Tenant.
        user: UserId = "home_user_id" max 48 key true,
        /// Identity of the cluster.
        cluster: Uid = "cluster_uid" max 64,
    }
}
