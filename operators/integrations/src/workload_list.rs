//! List of running workloads and their overrides.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::desired::{DesiredNamespace, DesiredObject, DesiredObjects};
use crate::sharding::Shard;

/// Workload with its overrides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WorkloadRow {
    /// Integration.
    pub integration: String,
    /// Environment.
    pub environment: String,
    /// Cluster.
    pub cluster: String,
    /// Namespace.
    pub namespace: String,
    /// Shard; empty if there is only one.
    pub shard: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Image.
    pub image: String,
    /// Differences to the defaults: `image superdangerous, not stable`.
    pub differs: Vec<String>,
}

/// List of all workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkloadList {
    /// Rows, sorted by integration, environment, cluster, namespace and shard.
    pub rows: Vec<WorkloadRow>,
}

impl WorkloadList {
    /// Lists the workloads of the desired objects.
    pub fn from_desired(desired: &DesiredObjects) -> Self {
        let mut rows = Vec::new();
        for target in desired.namespaces.values() {
            for one in &target.integrations {
                let divided = one.shards.len() > 1 || one.shards.iter().any(|shard| !shard.key.is_empty());
                rows.extend(one.objects.iter().map(|object| {
                    row(target, object, &one.entry.integration, divided, one.entry.spec.get("imageRef"))
                }));
            }
        }
        rows.sort();
        Self { rows }
    }

    /// Keeps the rows of integrations whose name contains a text.
    pub fn only(&mut self, text: &str) {
        self.rows.retain(|row| row.integration.contains(text));
    }

    /// Keeps the rows with differences.
    pub fn only_different(&mut self) {
        self.rows.retain(|row| !row.differs.is_empty());
    }
}

fn row(
    target: &DesiredNamespace,
    object: &DesiredObject,
    integration: &str,
    divided: bool,
    usual: Option<&Value>,
) -> WorkloadRow {
    let namespace = &target.namespace;
    let shard = object.shard.as_ref().filter(|_| divided);
    WorkloadRow {
        integration: integration.to_string(),
        environment: namespace.environment.name.to_string(),
        cluster: namespace.cluster.name.to_string(),
        namespace: namespace.name.to_string(),
        shard: shard.map(Shard::name).unwrap_or_default(),
        kind: object.kind.kind.to_string(),
        name: object.name.clone(),
        image: image(&object.body).unwrap_or_default().to_string(),
        differs: object.shard.as_ref().map(|shard| differs(shard, usual)).unwrap_or_default(),
    }
}

fn image(body: &Value) -> Option<&str> {
    let pods = ["/spec/template/spec/containers/0", "/spec/jobTemplate/spec/template/spec/containers/0"];
    pods.iter().find_map(|pointer| body.pointer(pointer)?.get("image")?.as_str())
}

fn differs(shard: &Shard, usual: Option<&Value>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(Value::String(image)) = shard.override_value("imageRef") {
        let usual = usual.and_then(Value::as_str).unwrap_or("the default");
        found.push(format!("image {image}, not {usual}"));
    }
    if shard.override_value("disabled") == Some(&Value::Bool(true)) {
        found.push("disabled".to_string());
    }
    if shard.override_value("resources").is_some() {
        found.push("resources of its own".to_string());
    }
    if let Some(arguments) = &shard.own_args {
        found.push(format!("arguments {arguments}"));
    }
    if !shard.key.is_empty() && !shard.id.is_empty() {
        found.push(format!("part {} of {}", shard.id, shard.shards));
    }
    found
}

/// Formats as a table with aligned columns.
impl fmt::Display for WorkloadList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["INTEGRATION", "ENVIRONMENT", "CLUSTER", "NAMESPACE", "SHARD", "IMAGE", "DIFFERS"];
        let mut lines = vec![head.map(str::to_string)];
        for row in &self.rows {
            let WorkloadRow { integration, environment, cluster, namespace, shard, image, differs, .. } = row;
            let texts = [integration, environment, cluster, namespace, shard, image, &differs.join("; ")];
            lines.push(texts.map(|text| if text.is_empty() { "-".to_string() } else { text.clone() }));
        }
        let widths: Vec<usize> =
            (0..head.len()).map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect();
        for line in &lines {
            let cells = line.iter().zip(&widths).map(|(text, width)| format!("{text:width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::tests::{desired, files, runs};

    #[test]
    fn a_shard_with_additional_arguments_differs() {
        let sharding = "{strategy: static, shards: 2, shardSpecOverrides: [{shard: 1, extraArgs: --careful}]}";
        let mut who = WorkloadList::from_desired(&desired(&files(&[("one", runs("/stage.yml", "", sharding))]), false));
        who.only_different();
        assert_eq!(who.rows.iter().map(|row| row.shard.as_str()).collect::<Vec<_>>(), ["1"]);
        assert_eq!(who.rows[0].differs, ["arguments --careful"]);
    }

    #[test]
    fn overrides_are_listed() {
        let sharding = "{strategy: per-aws-account, shardSpecOverrides: [{shard: {$ref: /aws/2.yml}, imageRef: dangerous, disabled: true}]}";
        let bundle = files(&[
            ("terraform-resources", runs("/stage.yml", ", imageRef: stable", sharding)),
            ("one", runs("/prod.yml", "", "")),
        ]);
        let mut who = WorkloadList::from_desired(&desired(&bundle, false));
        assert_eq!(who.rows.len(), 3);
        let text = who.to_string();
        assert!(
            text.lines().nth(3).is_some_and(|line| line.ends_with("image dangerous, not stable; disabled")),
            "{text}"
        );
        who.only_different();
        assert_eq!(who.rows.iter().map(|row| row.shard.as_str()).collect::<Vec<_>>(), ["acc-2"]);
        who.only("one");
        assert!(who.rows.is_empty());
    }
}
