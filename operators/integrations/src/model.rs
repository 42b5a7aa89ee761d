//! What the data says: integrations, where each is to run, how, and in how many shards.

mod aliases;
mod namespace;
mod overrides;
mod spec;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

pub use aliases::RENAMED;
pub use namespace::{Cluster, Environment, Namespace, Token};
pub use overrides::{Override, ShardName};
pub use spec::known as known_spec_fields;

use crate::field::Field;
use crate::problem::Problem;
use crate::source::Bundle;

/// The schema of integration files.
pub const INTEGRATION: &str = "/app-sre/integration-1.yml";
/// The schema of AWS account files.
pub const AWS_ACCOUNT: &str = "/aws/account-1.yml";
/// The schema of cluster files.
pub const CLUSTER: &str = "/openshift/cluster-1.yml";
/// The schema of OCM organization files.
pub const OCM_ORGANIZATION: &str = "/openshift/openshift-cluster-manager-1.yml";
/// The schema of namespace files.
pub const NAMESPACE: &str = "/openshift/namespace-1.yml";
/// The schema of namespace files that hold their cluster and environment themselves.
pub const LEAN_NAMESPACE: &str = "/openshift/lean-namespace-1.yml";

/// The schema of environment files.
pub const ENVIRONMENT: &str = "/app-sre/environment-1.yml";

/// An integration in one namespace: one element of `managed`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The integration's name.
    pub integration: Arc<str>,
    /// Its file.
    pub file: Arc<str>,
    /// The element: `managed[0]`.
    pub field: String,
    /// Its line.
    pub line: Option<usize>,
    /// The upstream of the integration.
    pub upstream: Option<String>,
    /// The schemas that its file lets it read, where the file says so.
    pub schemas: Option<Arc<[String]>>,
    /// Where it runs.
    pub namespace: Arc<Namespace>,
    /// How it runs: `spec` as charts get it.
    pub spec: Map<String, Value>,
    /// How it is divided.
    pub sharding: Sharding,
}

impl Entry {
    fn read(element: &Field<'_>, head: &Head, namespace: Arc<Namespace>, compat: bool) -> Result<Self, Problem> {
        let spec = element.need("spec")?;
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

    /// Something is wrong with it.
    pub fn problem(&self, message: impl std::fmt::Display) -> Problem {
        let problem = Problem::of_file(&self.file, message).at_line(self.line);
        Problem { field: self.field.clone(), ..problem }
    }
}

/// What an integration's file says of all its elements.
struct Head {
    name: Arc<str>,
    upstream: Option<String>,
    schemas: Option<Arc<[String]>>,
}

impl Head {
    fn read(file: &Field<'_>) -> Result<Self, Problem> {
        let (name, upstream) = (Arc::from(file.need_text("name")?), file.some_text("upstream")?);
        let listed = file.file().value().get("schemas").and_then(Value::as_array).cloned();
        let texts = |all: Vec<Value>| all.iter().filter_map(|one| one.as_str().map(str::to_string)).collect();
        Ok(Self { name, upstream, schemas: listed.map(texts) })
    }
}

/// How an integration is divided.
#[derive(Clone, Debug)]
pub struct Sharding {
    /// Into what.
    pub strategy: Strategy,
    /// What is different in single shards.
    pub overrides: Vec<Override>,
}

/// Into what an integration is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Into that many shards.
    Static(i64),
    /// Into as many shards as there are objects, or a part of that many.
    Counted {
        /// The schema of the objects counted.
        schema: String,
        /// How many of them one shard is for.
        per_shard: i64,
    },
    /// Into one shard for each object of a schema.
    PerObject(ObjectKind),
}

impl Strategy {
    /// The schema of the files that it makes or counts shards of.
    pub fn schema(&self) -> Option<&str> {
        match self {
            Self::Static(_) => None,
            Self::Counted { schema, .. } => Some(schema),
            Self::PerObject(kind) => Some(&kind.schema),
        }
    }
}

/// Objects that are shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectKind {
    /// The strategy's name.
    pub strategy: String,
    /// The schema of the objects.
    pub schema: String,
    /// The path of what the argument and the shard key are.
    pub key: String,
    /// The option the integration is given.
    pub argument: String,
    /// Whether objects that disable the integration were always left out.
    pub honours_disable: bool,
    /// Whether shards can be divided once more.
    pub sub_shards: bool,
}

/// Something that is not used because of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disabled {
    /// The integration, where it is known.
    pub integration: Option<Arc<str>>,
    /// Cluster and namespace, where they are known.
    pub namespace: Option<(Arc<str>, Arc<str>)>,
    /// Why.
    pub problem: Problem,
}

/// All that is wanted.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The elements of all `managed` lists, integrations by path.
    pub entries: Vec<Entry>,
    /// What is not used.
    pub disabled: Vec<Disabled>,
    /// The namespaces of the data, by path, whether something runs there or not.
    pub namespaces: BTreeMap<Arc<str>, Arc<Namespace>>,
}

/// What the model is read for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only this environment; all when absent.
    pub environment: Option<String>,
    /// Only integrations of this upstream; all when absent.
    pub upstream: Option<String>,
    /// Exactly as the original: names of the seeds are not understood.
    pub compat: bool,
}

impl Model {
    /// Reads a bundle.
    pub fn read(bundle: &Bundle, scope: &Scope) -> Self {
        let mut model = Self::default();
        for schema in [NAMESPACE, LEAN_NAMESPACE] {
            for file in bundle.of_schema(schema) {
                // A namespace that is wrong is told of where something wants to run there.
                if let Ok(namespace) = Namespace::read(&Field::of(bundle, file)) {
                    model.namespaces.insert(file.path.clone(), Arc::new(namespace));
                }
            }
        }
        for file in bundle.of_schema(INTEGRATION) {
            model.integration(&Field::of(bundle, file), scope);
        }
        model.namespaces.retain(|_, namespace| scope.takes(namespace));
        model
    }

    /// The environments that a bundle knows, by name.
    pub fn environments(bundle: &Bundle) -> BTreeSet<String> {
        let files = bundle.of_schema(ENVIRONMENT).filter_map(|file| file.value().get("name")?.as_str());
        let model = Self::read(bundle, &Scope::default());
        let of_namespaces = model.namespaces.values().map(|namespace| namespace.environment.name.to_string());
        files.map(str::to_string).chain(of_namespaces).collect()
    }

    fn integration(&mut self, file: &Field<'_>, scope: &Scope) {
        let head = match Head::read(file) {
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
            let namespace = match self.place(&element, scope) {
                Ok(Some(namespace)) => namespace,
                Ok(None) => continue,
                Err(problem) => {
                    self.disable(Some(&name), None, problem);
                    continue;
                }
            };
            let place = (namespace.cluster.name.clone(), namespace.name.clone());
            match Entry::read(&element, &head, namespace, scope.compat) {
                Ok(entry) => self.entries.push(entry),
                Err(problem) => self.disable(Some(&name), Some(place), problem),
            }
        }
    }

    /// Where an element is to run; `None` when that is not looked at.
    fn place(&self, element: &Field<'_>, scope: &Scope) -> Result<Option<Arc<Namespace>>, Problem> {
        let reference = element.need("namespace")?;
        let namespace = match self.namespaces.get(&reference.file().path) {
            Some(known) => known.clone(),
            None => Arc::new(Namespace::read(&reference)?),
        };
        Ok(Some(namespace).filter(|namespace| scope.takes(namespace)))
    }

    fn disable(&mut self, integration: Option<&Arc<str>>, place: Option<(Arc<str>, Arc<str>)>, problem: Problem) {
        self.disabled.push(Disabled { integration: integration.cloned(), namespace: place, problem });
    }
}

impl Scope {
    fn takes(&self, namespace: &Namespace) -> bool {
        self.environment.as_ref().is_none_or(|wanted| *wanted == *namespace.environment.name)
    }
}

#[cfg(test)]
mod tests;
