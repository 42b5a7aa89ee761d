//! Model of the data: integrations with their namespaces, specs and sharding.

mod aliases;
mod namespace;
mod overrides;
mod spec;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

pub use aliases::RENAMED;
pub use namespace::{IntegrationCluster, IntegrationEnvironment, IntegrationNamespace, TokenReference};
pub use overrides::{ShardOverride, ShardSelector};
pub use spec::field_names as known_spec_fields;

use crate::data_field::DataField;
use crate::problem::DataProblem;
use crate::source::Bundle;

/// Schema of integration files.
pub const INTEGRATION: &str = "/app-sre/integration-1.yml";
/// Schema of AWS account files.
pub const AWS_ACCOUNT: &str = "/aws/account-1.yml";
/// Schema of cluster files.
pub const CLUSTER: &str = "/openshift/cluster-1.yml";
/// Schema of OCM organization files.
pub const OCM_ORGANIZATION: &str = "/openshift/openshift-cluster-manager-1.yml";
/// Schema of namespace files.
pub const NAMESPACE: &str = "/openshift/namespace-1.yml";
/// Schema of namespace files with inline cluster and environment.
pub const LEAN_NAMESPACE: &str = "/openshift/lean-namespace-1.yml";

/// Schema of environment files.
pub const ENVIRONMENT: &str = "/app-sre/environment-1.yml";

/// Integration in one namespace: an element of `managed`.
#[derive(Clone, Debug)]
pub struct ManagedEntry {
    /// Name of the integration.
    pub integration: Arc<str>,
    /// File of the integration.
    pub file: Arc<str>,
    /// Position of the element: `managed[0]`.
    pub field: String,
    /// Line of the element.
    pub line: Option<usize>,
    /// Upstream of the integration.
    pub upstream: Option<String>,
    /// Schemas that the file permits the integration to read, if it lists them.
    pub schemas: Option<Arc<[String]>>,
    /// Namespace to run in.
    pub namespace: Arc<IntegrationNamespace>,
    /// `spec` in the form of chart values.
    pub spec: Map<String, Value>,
    /// Sharding of the integration.
    pub sharding: Sharding,
}

impl ManagedEntry {
    fn read(
        element: &DataField<'_>,
        head: &IntegrationHeader,
        namespace: Arc<IntegrationNamespace>,
        compat: bool,
    ) -> Result<Self, DataProblem> {
        let spec = element.required("spec")?;
        Ok(Self {
            integration: head.name.clone(),
            file: element.file().path.clone(),
            field: element.name(),
            line: element.problem("").line,
            upstream: head.upstream.clone(),
            schemas: head.schemas.clone(),
            namespace,
            sharding: aliases::sharding(element, &spec, compat)?,
            spec: spec::read(&spec)?,
        })
    }

    /// Creates a problem with the entry.
    pub fn problem(&self, message: impl std::fmt::Display) -> DataProblem {
        let problem = DataProblem::of_file(&self.file, message).at_line(self.line);
        DataProblem { field: self.field.clone(), ..problem }
    }
}

/// Fields that all entries of a file share.
struct IntegrationHeader {
    name: Arc<str>,
    upstream: Option<String>,
    schemas: Option<Arc<[String]>>,
}

impl IntegrationHeader {
    fn read(file: &DataField<'_>) -> Result<Self, DataProblem> {
        let (name, upstream) = (Arc::from(file.required_text("name")?), file.optional_text("upstream")?);
        let listed = file.file().value().get("schemas").and_then(Value::as_array).cloned();
        let texts = |all: Vec<Value>| all.iter().filter_map(|one| one.as_str().map(str::to_string)).collect();
        Ok(Self { name, upstream, schemas: listed.map(texts) })
    }
}

/// Sharding of an integration.
#[derive(Clone, Debug)]
pub struct Sharding {
    /// Strategy.
    pub strategy: ShardingStrategy,
    /// Overrides of single shards.
    pub overrides: Vec<ShardOverride>,
}

/// Sharding strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardingStrategy {
    /// Fixed number of shards.
    Static(i64),
    /// Number of shards derived from the number of objects.
    Counted {
        /// Schema of the counted objects.
        schema: String,
        /// Number of objects per shard.
        per_shard: i64,
    },
    /// One shard for each object of a schema.
    PerObject(PerObjectStrategy),
}

impl ShardingStrategy {
    /// Returns the schema of the files that determine the shards.
    pub fn schema(&self) -> Option<&str> {
        match self {
            Self::Static(_) => None,
            Self::Counted { schema, .. } => Some(schema),
            Self::PerObject(kind) => Some(&kind.schema),
        }
    }
}

/// Strategy with one shard for each object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerObjectStrategy {
    /// Name of the strategy.
    pub strategy: String,
    /// Schema of the objects.
    pub schema: String,
    /// Path of the field with the shard key, which is also the value of the argument.
    pub key: String,
    /// Option that is passed to the integration.
    pub argument: String,
    /// Whether qontract-reconcile omits objects that disable the integration.
    pub honors_disable: bool,
    /// Whether shards can have sub-shards.
    pub sub_shards: bool,
}

/// Part of the data that is not used because of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisabledEntry {
    /// Integration, if known.
    pub integration: Option<Arc<str>>,
    /// Cluster and namespace, if known.
    pub namespace: Option<(Arc<str>, Arc<str>)>,
    /// Problem.
    pub problem: DataProblem,
}

/// All entries of a bundle.
#[derive(Clone, Debug, Default)]
pub struct IntegrationModel {
    /// Elements of all `managed` lists, sorted by file.
    pub entries: Vec<ManagedEntry>,
    /// Parts of the data that are not used.
    pub disabled: Vec<DisabledEntry>,
    /// Namespaces of the data by path, with or without integrations.
    pub namespaces: BTreeMap<Arc<str>, Arc<IntegrationNamespace>>,
}

/// Part of the data to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataScope {
    /// Environment; `None` for all.
    pub environment: Option<String>,
    /// Upstream of the integrations; `None` for all.
    pub upstream: Option<String>,
    /// Whether to match qontract-reconcile byte for byte, without support for outdated field names.
    pub compat: bool,
}

impl IntegrationModel {
    /// Reads a bundle.
    pub fn read(bundle: &Bundle, scope: &DataScope) -> Self {
        let mut model = Self::default();
        for schema in [NAMESPACE, LEAN_NAMESPACE] {
            for file in bundle.of_schema(schema) {
                // An invalid namespace is reported by the entries that use it.
                if let Ok(namespace) = IntegrationNamespace::read(&DataField::root(bundle, file)) {
                    model.namespaces.insert(file.path.clone(), Arc::new(namespace));
                }
            }
        }
        for file in bundle.of_schema(INTEGRATION) {
            model.integration(&DataField::root(bundle, file), scope);
        }
        model.namespaces.retain(|_, namespace| scope.includes(namespace));
        model
    }

    /// Returns the names of all environments of a bundle.
    pub fn environments(bundle: &Bundle) -> BTreeSet<String> {
        let files = bundle.of_schema(ENVIRONMENT).filter_map(|file| file.value().get("name")?.as_str());
        let model = Self::read(bundle, &DataScope::default());
        let of_namespaces = model.namespaces.values().map(|namespace| namespace.environment.name.to_string());
        files.map(str::to_string).chain(of_namespaces).collect()
    }

    fn integration(&mut self, file: &DataField<'_>, scope: &DataScope) {
        let head = match IntegrationHeader::read(file) {
            Ok(head) => head,
            Err(problem) => return self.disable(None, None, problem),
        };
        let name = head.name.clone();
        if scope.upstream.is_some() && scope.upstream != head.upstream {
            return;
        }
        let elements = match aliases::managed(file, scope.compat) {
            Ok(elements) => elements,
            Err(problem) => return self.disable(Some(&name), None, problem),
        };
        for element in elements {
            let namespace = match self.target_namespace(&element, scope) {
                Ok(Some(namespace)) => namespace,
                Ok(None) => continue,
                Err(problem) => {
                    self.disable(Some(&name), None, problem);
                    continue;
                }
            };
            let place = (namespace.cluster.name.clone(), namespace.name.clone());
            match ManagedEntry::read(&element, &head, namespace, scope.compat) {
                Ok(entry) => self.entries.push(entry),
                Err(problem) => self.disable(Some(&name), Some(place), problem),
            }
        }
    }

    /// Returns the namespace of an entry, or `None` if it is out of scope.
    fn target_namespace(
        &self,
        element: &DataField<'_>,
        scope: &DataScope,
    ) -> Result<Option<Arc<IntegrationNamespace>>, DataProblem> {
        let reference = element.required("namespace")?;
        let namespace = match self.namespaces.get(&reference.file().path) {
            Some(known) => known.clone(),
            None => Arc::new(IntegrationNamespace::read(&reference)?),
        };
        Ok(Some(namespace).filter(|namespace| scope.includes(namespace)))
    }

    fn disable(&mut self, integration: Option<&Arc<str>>, place: Option<(Arc<str>, Arc<str>)>, problem: DataProblem) {
        self.disabled.push(DisabledEntry { integration: integration.cloned(), namespace: place, problem });
    }
}

impl DataScope {
    fn includes(&self, namespace: &IntegrationNamespace) -> bool {
        self.environment.as_ref().is_none_or(|wanted| *wanted == *namespace.environment.name)
    }
}

#[cfg(test)]
mod tests;
