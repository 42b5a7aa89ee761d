//! Rows of the seventeen tables of managed-gitops, with its names and columns; some limits are wider. Tables that only
//! Switchboard has are in the submodules.

pub mod fleet;
pub mod settings;
pub mod tenant_clusters;

use crate::ids::{
    ApiRelation, ApiResource, AppProjectManagedEnvironmentId, AppProjectRepositoryId, ApplicationId, CredentialsId,
    DesiredState, EngineClusterId, EngineInstanceId, KubernetesRelation, KubernetesResource, ManagedEnvironmentId,
    OperationId, OperationResource, OperationState, RepositoryCredentialsId, SyncOperationId, Uid, UserId,
};
use switchboard_sql::{DbTimestamp, SecretString};

switchboard_sql::rows! {
    since 1;

    /// Address and credentials of a cluster.
    ClusterCredentials = "clustercredentials" {
        /// Id of the row.
        id: CredentialsId = "clustercredentials_cred_id" max 48 key true,
        /// URL of the API server.
        host: Option<String> = "host" max 2048,
        /// Kubeconfig from the tenant.
        kube_config: Option<SecretString> = "kube_config" max 1048576,
        /// Context of the kubeconfig.
        kube_config_context: Option<String> = "kube_config_context" max 512,
        /// Token of the service account for Argo CD.
        bearer_token: Option<SecretString> = "serviceaccount_bearer_token" max 65536,
        /// Namespace of that service account.
        service_account_namespace: Option<String> = "serviceaccount_ns" max 128,
        /// Whether to skip verification of the server's certificate.
        allow_insecure: bool = "allowinsecure_skiptlsverify",
        /// Namespaces that may be deployed to, sorted and separated by commas; `None` for all.
        namespaces: Option<String> = "namespaces" max 65536,
        /// Whether cluster-scoped kinds may be deployed as well.
        cluster_resources: bool = "cluster_resources",
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
        /// Switchboard only: CA certificates of the server, PEM.
        ca_data: Option<String> = "ca_data" max 1048576 since 2,
        /// Switchboard only: client certificate, PEM.
        client_certificate: Option<String> = "client_certificate_data" max 1048576 since 2,
        /// Switchboard only: key of the client certificate, PEM.
        client_key: Option<SecretString> = "client_key_data" max 1048576 since 2,
        /// Switchboard only: whether the service created the service account and its role on the target, and removes
        /// them later.
        own_service_account: bool = "own_serviceaccount" since 2,
        /// Switchboard only: digest of the tenant's Secret that these credentials were read from, to detect rotations.
        source_digest: Option<String> = "source_digest" max 64 since 2,
    }

    /// Cluster that hosts Argo CD.
    EngineCluster = "gitopsenginecluster" {
        /// Id of the row.
        id: EngineClusterId = "gitopsenginecluster_id" max 48 key true,
        /// Credentials of the cluster; placeholders where the agent runs in that cluster.
        credentials: CredentialsId = "clustercredentials_id" max 48,
    }

    /// Argo CD instance: a namespace of a cluster.
    EngineInstance = "gitopsengineinstance" {
        /// Id of the row.
        id: EngineInstanceId = "gitopsengineinstance_id" max 48 key true,
        /// Namespace of the object.
        namespace: String = "namespace_name" max 253,
        /// Uid of the namespace.
        namespace_uid: Uid = "namespace_uid" max 48,
        /// Cluster of the instance.
        cluster: EngineClusterId = "enginecluster_id" max 48,
    }

    /// Target of deployments: a cluster, or the tenant's own namespace.
    ManagedEnvironment = "managedenvironment" {
        /// Id of the row.
        id: ManagedEnvironmentId = "managedenvironment_id" max 48 key true,
        /// Display name.
        name: String = "name" max 256,
        /// Credentials of the target.
        credentials: CredentialsId = "clustercredentials_id" max 48,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Tenant.
    ClusterUser = "clusteruser" {
        /// Id of the row.
        id: UserId = "clusteruser_id" max 48 key true,
        /// Uid of the tenant's namespace.
        user_name: String = "user_name" max 256,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
        /// Name of that namespace.
        display_name: Option<String> = "display_name" max 253,
    }

    /// Use of an environment by a tenant through an Argo CD instance.
    ClusterAccess = "clusteraccess" {
        /// Tenant.
        user: UserId = "clusteraccess_user_id" max 48 key true,
        /// Environment.
        environment: ManagedEnvironmentId = "clusteraccess_managed_environment_id" max 48 key true,
        /// Argo CD instance.
        instance: EngineInstanceId = "clusteraccess_gitops_engine_instance_id" max 48 key true,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Request to the agent to reconcile the objects of a row.
    Operation = "operation" {
        /// Id of the row.
        id: OperationId = "operation_id" max 48 key true,
        /// Argo CD instance whose agent works on the request.
        instance: EngineInstanceId = "instance_id" max 48,
        /// Key of the row.
        resource_id: String = "resource_id" max 48,
        /// Tenant of the request.
        owner: Option<UserId> = "operation_owner_user_id" max 48,
        /// Table of the row.
        resource: OperationResource = "resource_type" max 32,
        /// Creation time of the request.
        created_on: DbTimestamp = "created_on",
        /// Time of the last change of `state`.
        last_state_update: DbTimestamp = "last_state_update",
        /// State of the request.
        state: OperationState = "state" max 30,
        /// Reason of a failure.
        human_readable_state: Option<String> = "human_readable_state" max 1024 truncated true,
        /// Time in seconds that the row is kept after completion.
        gc_expiration_s: Option<i64> = "gc_expiration_time",
    }

    /// Desired Application of Argo CD.
    Application = "application" {
        /// Id of the row.
        id: ApplicationId = "application_id" max 48 key true,
        /// Name of the Application object.
        name: String = "name" max 256,
        /// Desired object, as YAML.
        spec_field: String = "spec_field" max 1048576,
        /// Argo CD instance of the Application.
        instance: EngineInstanceId = "engine_instance_inst_id" max 48,
        /// Target of the Application; `None` once the target was removed.
        environment: Option<ManagedEnvironmentId> = "managed_environment_id" max 48,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Last observed status of an Application.
    ApplicationState = "applicationstate" {
        /// Application of the status.
        application: ApplicationId = "applicationstate_application_id" max 48 key true,
        /// `.status` of the object, as gzipped YAML.
        status: Option<Vec<u8>> = "argocd_application_status",
    }

    /// Application of a GitOpsDeployment.
    DeploymentToApplication = "deploymenttoapplicationmapping" {
        /// Uid of the GitOpsDeployment.
        deployment_uid: Uid = "deploymenttoapplicationmapping_uid_id" max 48 key true,
        /// Name of the object.
        name: Option<String> = "name" max 256,
        /// Namespace of the object.
        namespace: Option<String> = "namespace" max 253,
        /// Uid of the namespace.
        namespace_uid: Option<Uid> = "namespace_uid" max 48,
        /// Application.
        application: ApplicationId = "application_id" max 48,
    }

    /// Row of a Kubernetes object.
    KubernetesToDatabase = "kubernetestodbresourcemapping" {
        /// Kind of the object.
        resource: KubernetesResource = "kubernetes_resource_type" max 64 key true,
        /// Uid of the object.
        resource_uid: Uid = "kubernetes_resource_uid" max 64 key true,
        /// Table of the row.
        relation: KubernetesRelation = "db_relation_type" max 64 key true,
        /// Key of the row.
        relation_key: String = "db_relation_key" max 64 key true,
    }

    /// Row of a tenant's resource.
    ApiToDatabase = "apicrtodatabasemapping" {
        /// Kind of the resource.
        resource: ApiResource = "api_resource_type" max 64 key true,
        /// Uid of the resource.
        resource_uid: Uid = "api_resource_uid" max 64 key true,
        /// Name of the object.
        name: String = "api_resource_name" max 256,
        /// Namespace of the object.
        namespace: String = "api_resource_namespace" max 256,
        /// Uid of the namespace.
        namespace_uid: Uid = "api_resource_namespace_uid" max 64,
        /// Table of the row.
        relation: ApiRelation = "db_relation_type" max 32 key true,
        /// Key of the row.
        relation_key: String = "db_relation_key" max 64 key true,
    }

    /// Sync that a tenant requested.
    SyncOperation = "syncoperation" {
        /// Id of the row.
        id: SyncOperationId = "syncoperation_id" max 48 key true,
        /// Application to sync; `None` once the Application was removed.
        application: Option<ApplicationId> = "application_id" max 48,
        /// Name of the GitOpsDeployment.
        deployment_name: String = "deployment_name" max 256,
        /// Revision to sync to.
        revision: String = "revision" max 256,
        /// Desired state of the sync.
        desired_state: DesiredState = "desired_state" max 16,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Address and credentials of a git repository.
    RepositoryCredentials = "repositorycredentials" {
        /// Id of the row.
        id: RepositoryCredentialsId = "repositorycredentials_id" max 48 key true,
        /// Tenant of the row.
        user: UserId = "repo_cred_user_id" max 48,
        /// URL of the repository.
        url: String = "repo_cred_url" max 2048,
        /// User name for a password.
        username: Option<String> = "repo_cred_user" max 256,
        /// Password of the user.
        password: Option<SecretString> = "repo_cred_pass" max 65536,
        /// Private key, as an alternative to user name and password.
        ssh_key: Option<SecretString> = "repo_cred_ssh" max 65536,
        /// Name of the tenant's Secret.
        secret: String = "repo_cred_secret" max 253,
        /// Argo CD instance of the credentials.
        instance: EngineInstanceId = "repo_cred_engine_id" max 48,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Repository that a tenant's project permits.
    AppProjectRepository = "appprojectrepository" {
        /// Id of the row.
        id: AppProjectRepositoryId = "appproject_repository_id" max 48 key true,
        /// Tenant of the row.
        user: UserId = "clusteruser_id" max 48,
        /// Normalized URL of the repository.
        repo_url: String = "repo_url" max 2048,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Environment that a tenant's project permits.
    AppProjectManagedEnvironment = "appprojectmanagedenvironment" {
        /// Id of the row.
        id: AppProjectManagedEnvironmentId = "appproject_managedenv_id" max 48 key true,
        /// Tenant of the row.
        user: UserId = "clusteruser_id" max 48,
        /// Environment.
        environment: ManagedEnvironmentId = "managed_environment_id" max 48,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Owner of an Application.
    ApplicationOwner = "applicationowner" {
        /// Application.
        application: ApplicationId = "application_owner_application_id" max 48 key true,
        /// Tenant.
        user: UserId = "application_owner_user_id" max 48 key true,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }
}

#[cfg(test)]
mod tests;
