//! The rows of the seventeen tables. Names and columns are the original's; the limits are ours where they are wider. Tables
//! that are ours alone are in [`fleet`] and [`left`].

pub mod fleet;
pub mod left;
pub mod settings;

use crate::ids::{
    ApiRelation, ApiResource, AppProjectManagedEnvironmentId, AppProjectRepositoryId, ApplicationId, CredentialsId,
    DesiredState, EngineClusterId, EngineInstanceId, KubernetesRelation, KubernetesResource, ManagedEnvironmentId,
    OperationId, OperationResource, OperationState, RepositoryCredentialsId, SyncOperationId, Uid, UserId,
};
use crate::row::rows;
use crate::secret::Secret;
use crate::value::Moment;

rows! {
    /// How to reach a cluster, and as whom.
    ClusterCredentials = "clustercredentials" {
        /// The row.
        id: CredentialsId = "clustercredentials_cred_id" max 48 key true,
        /// URL of the API server.
        host: Option<String> = "host" max 2048,
        /// The kubeconfig the tenant gave.
        kube_config: Option<Secret> = "kube_config" max 1048576,
        /// The context of it that is used.
        kube_config_context: Option<String> = "kube_config_context" max 512,
        /// Token of the service account that Argo CD is to be.
        bearer_token: Option<Secret> = "serviceaccount_bearer_token" max 65536,
        /// Namespace of that service account.
        service_account_namespace: Option<String> = "serviceaccount_ns" max 128,
        /// Whether the server's certificate is not checked.
        allow_insecure: bool = "allowinsecure_skiptlsverify",
        /// Namespaces that may be deployed to, sorted, with commas; none is all.
        namespaces: Option<String> = "namespaces" max 65536,
        /// Whether kinds that have no namespace may be deployed, too.
        cluster_resources: bool = "cluster_resources",
        /// When the row was made.
        created_on: Moment = "created_on",
        /// Ours: certificates the server's is signed by, PEM.
        ca_data: Option<String> = "ca_data" max 1048576 ours true,
        /// Ours: certificate to show the server, PEM.
        client_certificate: Option<String> = "client_certificate_data" max 1048576 ours true,
        /// Ours: key of that certificate, PEM.
        client_key: Option<Secret> = "client_key_data" max 1048576 ours true,
        /// Ours: whether the service account and its role on the target were made by this service and are to be removed by it.
        own_service_account: bool = "own_serviceaccount" ours true,
        /// Ours: digest of what the tenant's Secret said when these were taken from it. It tells that a credential was rotated.
        source_digest: Option<String> = "source_digest" max 64 ours true,
    }

    /// A cluster that hosts Argo CD.
    EngineCluster = "gitopsenginecluster" {
        /// The row.
        id: EngineClusterId = "gitopsenginecluster_id" max 48 key true,
        /// Its credentials; placeholders where the agent runs in that cluster.
        credentials: CredentialsId = "clustercredentials_id" max 48,
    }

    /// One Argo CD: a namespace of a cluster.
    EngineInstance = "gitopsengineinstance" {
        /// The row.
        id: EngineInstanceId = "gitopsengineinstance_id" max 48 key true,
        /// Its namespace.
        namespace: String = "namespace_name" max 253,
        /// Which namespace of that name.
        namespace_uid: Uid = "namespace_uid" max 48,
        /// Its cluster.
        cluster: EngineClusterId = "enginecluster_id" max 48,
    }

    /// A target of deployments: a cluster, or the tenant's own namespace.
    ManagedEnvironment = "managedenvironment" {
        /// The row.
        id: ManagedEnvironmentId = "managedenvironment_id" max 48 key true,
        /// For people.
        name: String = "name" max 256,
        /// How to reach it.
        credentials: CredentialsId = "clustercredentials_id" max 48,
        /// When the row was made.
        created_on: Moment = "created_on",
    }

    /// A tenant.
    ClusterUser = "clusteruser" {
        /// The row.
        id: UserId = "clusteruser_id" max 48 key true,
        /// The uid of the tenant's namespace.
        user_name: String = "user_name" max 256,
        /// When the row was made.
        created_on: Moment = "created_on",
        /// The name of that namespace.
        display_name: Option<String> = "display_name" max 253,
    }

    /// Which tenant uses which environment through which Argo CD.
    ClusterAccess = "clusteraccess" {
        /// The tenant.
        user: UserId = "clusteraccess_user_id" max 48 key true,
        /// The environment.
        environment: ManagedEnvironmentId = "clusteraccess_managed_environment_id" max 48 key true,
        /// The Argo CD.
        instance: EngineInstanceId = "clusteraccess_gitops_engine_instance_id" max 48 key true,
        /// When the row was made.
        created_on: Moment = "created_on",
    }

    /// A piece of work for the agent: look at this row and make Argo CD as it says.
    Operation = "operation" {
        /// The row.
        id: OperationId = "operation_id" max 48 key true,
        /// For the agent of this Argo CD.
        instance: EngineInstanceId = "instance_id" max 48,
        /// The key of the row to look at.
        resource_id: String = "resource_id" max 48,
        /// On whose behalf.
        owner: Option<UserId> = "operation_owner_user_id" max 48,
        /// The table of that row.
        resource: OperationResource = "resource_type" max 32,
        /// When it was asked for.
        created_on: Moment = "created_on",
        /// When `state` last changed.
        last_state_update: Moment = "last_state_update",
        /// How far it is.
        state: OperationState = "state" max 30,
        /// Why it failed.
        human_readable_state: Option<String> = "human_readable_state" max 1024,
        /// How long it is kept when it is over, in seconds.
        gc_expiration_s: Option<i64> = "gc_expiration_time",
    }

    /// What Argo CD should deploy.
    Application = "application" {
        /// The row.
        id: ApplicationId = "application_id" max 48 key true,
        /// The name of the Application object.
        name: String = "name" max 256,
        /// The object as it should be, as YAML.
        spec_field: String = "spec_field" max 1048576,
        /// On which Argo CD.
        instance: EngineInstanceId = "engine_instance_inst_id" max 48,
        /// To which target; none once the target was removed.
        environment: Option<ManagedEnvironmentId> = "managed_environment_id" max 48,
        /// When the row was made.
        created_on: Moment = "created_on",
    }

    /// What Argo CD last said of it.
    ApplicationState = "applicationstate" {
        /// Of which Application.
        application: ApplicationId = "applicationstate_application_id" max 48 key true,
        /// Its `.status`, as YAML, as gzip.
        status: Option<Vec<u8>> = "argocd_application_status",
    }

    /// Which GitOpsDeployment is which Application.
    DeploymentToApplication = "deploymenttoapplicationmapping" {
        /// The uid of the GitOpsDeployment.
        deployment_uid: Uid = "deploymenttoapplicationmapping_uid_id" max 48 key true,
        /// Its name.
        name: Option<String> = "name" max 256,
        /// Its namespace.
        namespace: Option<String> = "namespace" max 253,
        /// Which namespace of that name.
        namespace_uid: Option<Uid> = "namespace_uid" max 48,
        /// The Application.
        application: ApplicationId = "application_id" max 48,
    }

    /// Which object of Kubernetes identifies which row.
    KubernetesToDatabase = "kubernetestodbresourcemapping" {
        /// The kind of the object.
        resource: KubernetesResource = "kubernetes_resource_type" max 64 key true,
        /// The object.
        resource_uid: Uid = "kubernetes_resource_uid" max 64 key true,
        /// The table.
        relation: KubernetesRelation = "db_relation_type" max 64 key true,
        /// The key of the row.
        relation_key: String = "db_relation_key" max 64 key true,
    }

    /// Which resource of a tenant is which row.
    ApiToDatabase = "apicrtodatabasemapping" {
        /// The kind of the resource.
        resource: ApiResource = "api_resource_type" max 64 key true,
        /// The resource.
        resource_uid: Uid = "api_resource_uid" max 64 key true,
        /// Its name.
        name: String = "api_resource_name" max 256,
        /// Its namespace.
        namespace: String = "api_resource_namespace" max 256,
        /// Which namespace of that name.
        namespace_uid: Uid = "api_resource_namespace_uid" max 64,
        /// The table.
        relation: ApiRelation = "db_relation_type" max 32 key true,
        /// The key of the row.
        relation_key: String = "db_relation_key" max 64 key true,
    }

    /// A sync that a tenant asked for.
    SyncOperation = "syncoperation" {
        /// The row.
        id: SyncOperationId = "syncoperation_id" max 48 key true,
        /// Of which Application; none once it was removed.
        application: Option<ApplicationId> = "application_id" max 48,
        /// The name of the GitOpsDeployment.
        deployment_name: String = "deployment_name" max 256,
        /// To which revision.
        revision: String = "revision" max 256,
        /// Whether it should go on.
        desired_state: DesiredState = "desired_state" max 16,
        /// When the row was made.
        created_on: Moment = "created_on",
    }

    /// How to reach a git repository, and as whom.
    RepositoryCredentials = "repositorycredentials" {
        /// The row.
        id: RepositoryCredentialsId = "repositorycredentials_id" max 48 key true,
        /// Whose.
        user: UserId = "repo_cred_user_id" max 48,
        /// The repository.
        url: String = "repo_cred_url" max 2048,
        /// Who to be, with a password.
        username: Option<String> = "repo_cred_user" max 256,
        /// That password.
        password: Option<Secret> = "repo_cred_pass" max 65536,
        /// A private key instead of both.
        ssh_key: Option<Secret> = "repo_cred_ssh" max 65536,
        /// The name of the Secret.
        secret: String = "repo_cred_secret" max 253,
        /// For which Argo CD.
        instance: EngineInstanceId = "repo_cred_engine_id" max 48,
        /// When the row was made.
        created_on: Moment = "created_on",
    }

    /// A repository that a tenant's project may use.
    AppProjectRepository = "appprojectrepository" {
        /// The row.
        id: AppProjectRepositoryId = "appproject_repository_id" max 48 key true,
        /// Whose.
        user: UserId = "clusteruser_id" max 48,
        /// The repository, normalised.
        repo_url: String = "repo_url" max 2048,
        /// When the row was made.
        created_on: Moment = "created_on",
    }

    /// An environment that a tenant's project may use.
    AppProjectManagedEnvironment = "appprojectmanagedenvironment" {
        /// The row.
        id: AppProjectManagedEnvironmentId = "appproject_managedenv_id" max 48 key true,
        /// Whose.
        user: UserId = "clusteruser_id" max 48,
        /// The environment.
        environment: ManagedEnvironmentId = "managed_environment_id" max 48,
        /// When the row was made.
        created_on: Moment = "created_on",
    }

    /// Whose an Application is.
    ApplicationOwner = "applicationowner" {
        /// The Application.
        application: ApplicationId = "application_owner_application_id" max 48 key true,
        /// The tenant.
        user: UserId = "application_owner_user_id" max 48 key true,
        /// When the row was made.
        created_on: Moment = "created_on",
    }
}

#[cfg(test)]
mod tests;
