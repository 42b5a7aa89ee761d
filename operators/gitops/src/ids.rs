//! Ids of rows, a type for each table so that they cannot be confused, and enums for columns with a fixed set of
//! values.

switchboard_sql::ids! {
    /// Credentials of a cluster.
    CredentialsId;
    /// Cluster that hosts Argo CD.
    EngineClusterId;
    /// Argo CD instance.
    EngineInstanceId;
    /// Target of deployments.
    ManagedEnvironmentId;
    /// Tenant.
    UserId;
    /// Operation, a request to the agent.
    OperationId;
    /// Application of Argo CD.
    ApplicationId;
    /// Requested sync.
    SyncOperationId;
    /// Credentials of a git repository.
    RepositoryCredentialsId;
    /// Repository that a tenant's project permits.
    AppProjectRepositoryId;
    /// Environment that a tenant's project permits.
    AppProjectManagedEnvironmentId;
    /// Move of a placement between Argo CD instances.
    MoveId;
    /// Service account that Switchboard created on a tenant's cluster.
    ServiceAccountId;
    /// Uid of a Kubernetes object.
    Uid;
}

switchboard_sql::stored_enums! {
    /// State of an Operation.
    OperationState {
        /// No agent has started the Operation.
        Waiting = "Waiting",
        /// An agent works on the Operation.
        InProgress = "In_Progress",
        /// The Operation succeeded.
        Completed = "Completed",
        /// The Operation failed; the row has the reason.
        Failed = "Failed",
    }
    /// Table that an Operation refers to.
    OperationResource {
        /// Credentials of a target.
        ManagedEnvironment = "ManagedEnvironment",
        /// Sync.
        SyncOperation = "SyncOperation",
        /// Application.
        Application = "Application",
        /// Credentials of a repository.
        RepositoryCredentials = "RepositoryCredentials",
        /// Argo CD instance.
        EngineInstance = "GitOpsEngineInstance",
    }
    /// Desired state of a sync.
    DesiredState {
        /// The sync runs to completion.
        Running = "Running",
        /// The sync is terminated.
        Terminated = "Terminated",
    }
    /// Kind of a tenant's resource that has a row.
    ApiResource {
        /// Managed environment.
        ManagedEnvironment = "GitOpsDeploymentManagedEnvironment",
        /// Sync run.
        SyncRun = "GitOpsDeploymentSyncRun",
        /// Credentials of a repository.
        RepositoryCredential = "GitOpsDeploymentRepositoryCredential",
    }
    /// Table of the row.
    ApiRelation {
        /// Table `managedenvironment`.
        ManagedEnvironment = "ManagedEnvironment",
        /// Table `syncoperation`.
        SyncOperation = "SyncOperation",
        /// Table `repositorycredentials`.
        RepositoryCredential = "RepositoryCredential",
    }
    /// Kind of a Kubernetes object that identifies a row.
    KubernetesResource {
        /// Namespace.
        Namespace = "Namespace",
    }
    /// Table of the row.
    KubernetesRelation {
        /// Target that is a namespace of the same cluster.
        ManagedEnvironment = "ManagedEnvironment",
        /// Cluster that hosts Argo CD.
        EngineCluster = "GitopsEngineCluster",
        /// Argo CD instance.
        EngineInstance = "GitopsEngineInstance",
    }
    /// Whether an Argo CD instance receives new placements.
    InstanceState {
        /// The instance receives new placements.
        Active = "active",
        /// The instance keeps its placements and receives no new ones.
        Cordoned = "cordoned",
    }
    /// Step of a move that is in progress. The variants are in the order of the steps.
    MoveStep {
        /// No new Operation starts; running Operations finish.
        Freeze = "freeze",
        /// The project and the Secrets are created at the target.
        Prepare = "prepare",
        /// The Applications are created at the target, with reconciliation paused.
        Copy = "copy",
        /// Reconciliation of the Applications at the source is paused.
        Pause = "pause",
        /// The Applications at the source are deleted; their deployed resources stay.
        Release = "release",
        /// The rows are switched to the target.
        Cutover = "cutover",
        /// Reconciliation of the Applications at the target resumes.
        Resume = "resume",
        /// Unused objects at the source are deleted.
        Cleanup = "cleanup",
        /// The move is complete.
        Done = "done",
        /// The changes at the source and at the target are undone.
        Rollback = "rollback",
        /// The rollback is complete; the placement is where it was.
        RolledBack = "rolled-back",
    }
}
