//! Ids of rows, one type for each table, so that none is taken for another; and the words that some columns choose from.

use std::fmt;

use crate::key::Key;
use crate::value::{Field, Kind, Value};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<String>> From<T> for $name {
            fn from(text: T) -> $name {
                $name(text.into())
            }
        }

        impl From<&$name> for Key {
            fn from(id: &$name) -> Key {
                Key::of([id.as_str()])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Field for $name {
            const KIND: Kind = Kind::Text;
            fn to_value(&self) -> Value {
                Value::Text(Some(self.0.clone()))
            }
            fn from_value(value: Value) -> Option<$name> {
                String::from_value(value).filter(|text| !text.is_empty()).map($name)
            }
        }

        impl Field for Option<$name> {
            const KIND: Kind = Kind::Text;
            fn to_value(&self) -> Value {
                Value::Text(self.as_ref().map(|id| id.0.clone()))
            }
            fn from_value(value: Value) -> Option<Option<$name>> {
                let text = Option::<String>::from_value(value)?;
                Some(text.map($name))
            }
        }

        impl From<&$name> for Value {
            fn from(id: &$name) -> Value {
                id.to_value()
            }
        }
    )*};
}

ids! {
    /// Credentials of a cluster.
    CredentialsId;
    /// A cluster that hosts Argo CD.
    EngineClusterId;
    /// One Argo CD.
    EngineInstanceId;
    /// A target of deployments.
    ManagedEnvironmentId;
    /// A tenant.
    UserId;
    /// A piece of work for the agent.
    OperationId;
    /// An Application of Argo CD.
    ApplicationId;
    /// A sync that was asked for.
    SyncOperationId;
    /// Credentials of a git repository.
    RepositoryCredentialsId;
    /// A repository that a tenant's project may use.
    AppProjectRepositoryId;
    /// An environment that a tenant's project may use.
    AppProjectManagedEnvironmentId;
    /// A move of a unit from one Argo CD to another.
    MoveId;
    /// A service account of ours on a tenant's cluster.
    ServiceAccountId;
    /// What Kubernetes calls a thing, once and for all.
    Uid;
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $word:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$what])* $word,)* }

        impl $name {
            /// The word as it is stored.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$word => $text,)* }
            }
        }

        impl Field for $name {
            const KIND: Kind = Kind::Text;
            fn to_value(&self) -> Value {
                Value::from(self.as_str())
            }
            fn from_value(value: Value) -> Option<$name> {
                match value.as_text()? { $($text => Some($name::$word),)* _ => None }
            }
        }

        impl From<$name> for Value {
            fn from(word: $name) -> Value {
                word.to_value()
            }
        }
    )*};
}

words! {
    /// How far the agent is with an Operation.
    OperationState {
        /// Nobody has begun.
        Waiting = "Waiting",
        /// An agent works on it.
        InProgress = "In_Progress",
        /// Done.
        Completed = "Completed",
        /// Given up, with a reason.
        Failed = "Failed",
    }
    /// Which table an Operation points into.
    OperationResource {
        /// A target's credentials.
        ManagedEnvironment = "ManagedEnvironment",
        /// A sync.
        SyncOperation = "SyncOperation",
        /// An Application.
        Application = "Application",
        /// Credentials of a repository.
        RepositoryCredentials = "RepositoryCredentials",
        /// An Argo CD.
        EngineInstance = "GitOpsEngineInstance",
    }
    /// What a sync should do.
    DesiredState {
        /// Go on until it is done.
        Running = "Running",
        /// Stop.
        Terminated = "Terminated",
    }
    /// Which kind of a tenant's resource has a row.
    ApiResource {
        /// An environment.
        ManagedEnvironment = "GitOpsDeploymentManagedEnvironment",
        /// A sync run.
        SyncRun = "GitOpsDeploymentSyncRun",
        /// Credentials of a repository.
        RepositoryCredential = "GitOpsDeploymentRepositoryCredential",
    }
    /// The table of that row.
    ApiRelation {
        /// ManagedEnvironment.
        ManagedEnvironment = "ManagedEnvironment",
        /// SyncOperation.
        SyncOperation = "SyncOperation",
        /// RepositoryCredentials.
        RepositoryCredential = "RepositoryCredential",
    }
    /// Which kind of a Kubernetes object identifies a row.
    KubernetesResource {
        /// A namespace.
        Namespace = "Namespace",
    }
    /// The table of that row.
    KubernetesRelation {
        /// A target that is a namespace of the same cluster.
        ManagedEnvironment = "ManagedEnvironment",
        /// A cluster that hosts Argo CD.
        EngineCluster = "GitopsEngineCluster",
        /// One Argo CD.
        EngineInstance = "GitopsEngineInstance",
    }
    /// Whether an Argo CD is given new units.
    InstanceState {
        /// It is.
        Active = "active",
        /// It keeps what it has.
        Cordoned = "cordoned",
    }
    /// How far a move is. The words are in the order of the steps; a step that is named is the one under way.
    MoveStep {
        /// No new Operation begins; those that have begun end.
        Freeze = "freeze",
        /// Project and Secrets come to be at the target.
        Prepare = "prepare",
        /// Applications come to be at the target, asleep.
        Copy = "copy",
        /// Applications at the source fall asleep.
        Pause = "pause",
        /// Applications at the source go; what they deployed stays.
        Release = "release",
        /// The rows name the target.
        Flip = "flip",
        /// Applications at the target wake up and compare.
        Wake = "wake",
        /// What nobody uses at the source any more goes.
        Clean = "clean",
        /// Over.
        Done = "done",
        /// All becomes as it was at the source.
        Return = "return",
        /// Over, and the unit is where it was.
        Returned = "returned",
    }
}
