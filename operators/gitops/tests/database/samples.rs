//! One row of each table. The rows refer to each other.

use switchboard_gitops::ids::*;
use switchboard_gitops::rows::*;
use switchboard_sql::{DbTimestamp, RowChange};

pub const NOW: DbTimestamp = DbTimestamp { unix_us: 1_790_000_000_123_456 };

pub fn credentials(id: &str) -> ClusterCredentials {
    ClusterCredentials {
        id: id.into(),
        host: Some("https://api.example:6443".into()),
        kube_config: Some("apiVersion: v1\nkind: Config\n".into()),
        kube_config_context: Some("shop".into()),
        bearer_token: Some("token-of-a-service-account".into()),
        service_account_namespace: Some("kube-system".into()),
        allow_insecure: false,
        namespaces: Some("a,b".into()),
        cluster_resources: true,
        created_on: NOW,
        ca_data: Some("-----BEGIN CERTIFICATE-----".into()),
        client_certificate: None,
        client_key: None,
        own_service_account: true,
        source_digest: Some("0123".into()),
    }
}

pub fn engine_cluster() -> EngineCluster {
    EngineCluster { id: "ec".into(), credentials: "cc-engine".into() }
}

pub fn instance() -> EngineInstance {
    EngineInstance {
        id: "ei".into(),
        namespace: "gitops-service-argocd".into(),
        namespace_uid: "ns-uid".into(),
        cluster: "ec".into(),
    }
}

pub fn environment() -> ManagedEnvironment {
    ManagedEnvironment { id: "me".into(), name: "stage".into(), credentials: "cc".into(), created_on: NOW }
}

pub fn user(id: &str) -> ClusterUser {
    ClusterUser { id: id.into(), user_name: format!("uid-{id}"), created_on: NOW, display_name: Some("shop".into()) }
}

pub fn access() -> ClusterAccess {
    ClusterAccess { user: "u".into(), environment: "me".into(), instance: "ei".into(), created_on: NOW }
}

pub fn operation(id: &str) -> Operation {
    Operation {
        id: id.into(),
        instance: "ei".into(),
        resource_id: "app".into(),
        owner: Some("u".into()),
        resource: OperationResource::Application,
        created_on: NOW,
        last_state_update: NOW,
        state: OperationState::Waiting,
        human_readable_state: None,
        gc_expiration_s: Some(60),
    }
}

pub fn application(id: &str) -> Application {
    Application {
        id: id.into(),
        name: format!("gitopsdepl-{id}"),
        spec_field: "spec: {}\n".into(),
        instance: "ei".into(),
        environment: Some("me".into()),
        created_on: NOW,
    }
}

pub fn state() -> ApplicationState {
    ApplicationState { application: "app".into(), status: Some(vec![0x1f, 0x8b, 0]) }
}

pub fn deployment() -> DeploymentToApplication {
    DeploymentToApplication {
        deployment_uid: "depl-uid".into(),
        name: Some("web".into()),
        namespace: Some("shop".into()),
        namespace_uid: Some("shop-uid".into()),
        application: "app".into(),
    }
}

pub fn kubernetes() -> KubernetesToDatabase {
    KubernetesToDatabase {
        resource: KubernetesResource::Namespace,
        resource_uid: "ns-uid".into(),
        relation: KubernetesRelation::EngineInstance,
        relation_key: "ei".into(),
    }
}

pub fn api() -> ApiToDatabase {
    ApiToDatabase {
        resource: ApiResource::ManagedEnvironment,
        resource_uid: "env-uid".into(),
        name: "stage".into(),
        namespace: "shop".into(),
        namespace_uid: "shop-uid".into(),
        relation: ApiRelation::ManagedEnvironment,
        relation_key: "me".into(),
    }
}

pub fn sync() -> SyncOperation {
    SyncOperation {
        id: "so".into(),
        application: Some("app".into()),
        deployment_name: "web".into(),
        revision: "HEAD".into(),
        desired_state: DesiredState::Running,
        created_on: NOW,
    }
}

pub fn repository() -> RepositoryCredentials {
    RepositoryCredentials {
        id: "rc".into(),
        user: "u".into(),
        url: "https://git.example/Shop/web".into(),
        username: Some("bot".into()),
        password: Some("hunter2".into()),
        ssh_key: Some("-----BEGIN OPENSSH PRIVATE KEY-----".into()),
        secret: "repo-cred-rc".into(),
        instance: "ei".into(),
        created_on: NOW,
    }
}

pub fn project_repository() -> AppProjectRepository {
    AppProjectRepository {
        id: "apr".into(),
        user: "u".into(),
        repo_url: "https://git.example/Shop/web".into(),
        created_on: NOW,
    }
}

pub fn project_environment() -> AppProjectManagedEnvironment {
    AppProjectManagedEnvironment { id: "apm".into(), user: "u".into(), environment: "me".into(), created_on: NOW }
}

pub fn owner() -> ApplicationOwner {
    ApplicationOwner { application: "app".into(), user: "u".into(), created_on: NOW }
}

/// Returns one row of each table, in an order in which they can be inserted.
pub fn all() -> Vec<RowChange> {
    vec![
        RowChange::insert(&credentials("cc-engine")),
        RowChange::insert(&credentials("cc")),
        RowChange::insert(&engine_cluster()),
        RowChange::insert(&instance()),
        RowChange::insert(&environment()),
        RowChange::insert(&user("u")),
        RowChange::insert(&access()),
        RowChange::insert(&operation("op")),
        RowChange::insert(&application("app")),
        RowChange::insert(&state()),
        RowChange::insert(&deployment()),
        RowChange::insert(&kubernetes()),
        RowChange::insert(&api()),
        RowChange::insert(&sync()),
        RowChange::insert(&repository()),
        RowChange::insert(&project_repository()),
        RowChange::insert(&project_environment()),
        RowChange::insert(&owner()),
    ]
}
