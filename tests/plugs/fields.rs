//! An invalid value for each field of the three kinds in turn causes an admission error, or a condition with the
//! field's path and a hint. The fields are read from the definitions, so that the test is complete.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use kube::Client;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_cluster::Cluster;
use tokio::time::Instant;

use crate::api::{get, send};
use crate::kernel::CaseKernel;
use crate::kinds::list_path;

const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
const NAMESPACE: &str = "fields";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldRow {
    /// Kind; a Plug and a Socket if absent.
    on: Option<String>,
    field: String,
    #[serde(default)]
    spec: Value,
    /// Words of a condition.
    #[serde(default)]
    says: Vec<String>,
    /// Words of the refusal.
    #[serde(default)]
    refused: Vec<String>,
    /// Reason why every value is valid.
    any: Option<String>,
}

impl FieldRow {
    fn kinds(&self) -> Vec<String> {
        self.on.clone().map_or_else(|| vec!["Plug".to_string(), "Socket".to_string()], |kind| vec![kind])
    }
}

fn rows() -> Vec<FieldRow> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugs/fields.yaml");
    serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// A field of a kind: its path, such as `spec.vars[0].name`, and its schema.
struct SchemaField {
    kind: String,
    /// Path with `[0]` for items and `k` for keys of maps.
    path: Vec<FieldStep>,
    schema: Value,
}

#[derive(Clone)]
enum FieldStep {
    Field(String),
    Item,
    Key,
}

impl SchemaField {
    /// Returns the path as in messages.
    fn display_path(&self) -> String {
        self.path.iter().fold("spec".to_string(), |shown, step| match step {
            FieldStep::Field(name) => format!("{shown}.{name}"),
            FieldStep::Item => format!("{shown}[0]"),
            FieldStep::Key => format!("{shown}.k"),
        })
    }

    /// Returns the path as in the table; for a string map, the path of the map.
    fn row_path(&self) -> String {
        let last = self.path.len() - usize::from(matches!(self.path.last(), Some(FieldStep::Key)));
        let named = self.path[..last].iter().fold(String::new(), |named, step| match step {
            FieldStep::Field(name) => format!("{named}.{name}"),
            FieldStep::Item => format!("{named}[]"),
            FieldStep::Key => format!("{named}.*"),
        });
        named.trim_start_matches('.').to_string()
    }

    /// Returns a spec with a value at the path.
    fn spec_with(&self, value: Value) -> Value {
        self.path.iter().rev().fold(value, |inner, step| match step {
            FieldStep::Field(name) => Value::Object(Map::from_iter([(name.clone(), inner)])),
            FieldStep::Item => json!([inner]),
            FieldStep::Key => json!({"k": inner}),
        })
    }

    /// Returns values that the schema refuses.
    fn invalid_values(&self) -> Vec<Value> {
        if self.schema["x-kubernetes-int-or-string"] == true {
            return vec![json!([])];
        }
        let mut wrong = vec![match self.schema["type"].as_str() {
            Some("string") => json!(5),
            _ => json!("neither"),
        }];
        if self.schema["enum"].is_array() {
            wrong.push(json!("nosuch"));
        }
        if let Some(least) = self.schema["minimum"].as_i64() {
            wrong.push(json!(least - 1));
        }
        if let Some(most) = self.schema["maximum"].as_i64() {
            wrong.push(json!(most + 1));
        }
        if let Some(most) = self.schema["maxLength"].as_u64() {
            wrong.push(json!("x".repeat(most as usize + 1)));
        }
        if let Some(most) = self.schema["maxItems"].as_u64() {
            wrong.push(Value::Array((0..=most).map(|number| json!(format!("n{number}"))).collect()));
        }
        let asks = ["required", "x-kubernetes-validations"].iter().any(|word| self.schema[*word].is_array());
        if self.schema["type"] == "object" && asks {
            wrong.push(json!({}));
        }
        wrong
    }

    /// Whether the schema accepts all values of the right type.
    fn is_open(&self) -> bool {
        let text = self.schema["type"] == "string" && !self.schema["enum"].is_array();
        text || self.schema["x-kubernetes-preserve-unknown-fields"] == true
            || self.schema["x-kubernetes-int-or-string"] == true
    }
}

fn schema_fields() -> Vec<SchemaField> {
    let mut all = Vec::new();
    for crd in switchboard_plugs::crds::crds() {
        let kind = crd["spec"]["names"]["kind"].as_str().unwrap().to_string();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        walk(&kind, schema, &mut Vec::new(), &mut all);
    }
    all
}

fn walk(kind: &str, schema: &Value, path: &mut Vec<FieldStep>, all: &mut Vec<SchemaField>) {
    if !path.is_empty() {
        all.push(SchemaField { kind: kind.to_string(), path: path.clone(), schema: schema.clone() });
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        path.push(FieldStep::Field(name.clone()));
        walk(kind, inner, path, all);
        path.pop();
    }
    for (field, step) in [("items", FieldStep::Item), ("additionalProperties", FieldStep::Key)] {
        if schema[field].is_object() {
            path.push(step);
            walk(kind, &schema[field], path, all);
            path.pop();
        }
    }
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

async fn create(client: &Client, object: Value) -> Result<Value, String> {
    let path = list_path(object["kind"].as_str().unwrap(), NAMESPACE);
    send(client, "POST", &path, object).await
}

/// Creates rights on ConfigMaps and one Secret, the objects used by the table, and a socket that accepts every plug.
async fn create_fixtures(client: &Client) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    send(client, "POST", "/api/v1/namespaces", namespace).await.unwrap();
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"]},
        {"apiGroups": ["nosuch.example.com"], "resources": ["*"], "verbs": ["*"]}]);
    let rbac =
        |kind: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "some"}});
    let mut role = rbac("Role");
    role["rules"] = rules;
    let mut binding = rbac("RoleBinding");
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "some"});
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}]);
    let there = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "there"}});
    let interface = json!({"interface": {"name": "postgres", "version": "v1"}});
    for object in [role, binding, there("ConfigMap"), there("Secret"), object("Socket", "good", interface)] {
        create(client, object).await.unwrap();
    }
}

#[test]
fn every_open_field_has_a_row_and_every_row_a_field() {
    let rows = rows();
    let known: BTreeSet<(String, String)> =
        rows.iter().flat_map(|row| row.kinds().into_iter().map(|kind| (kind, row.field.clone()))).collect();
    let open = schema_fields().into_iter().filter(SchemaField::is_open);
    let missing: BTreeSet<(String, String)> = open
        .map(|leaf| (leaf.kind.clone(), leaf.row_path()))
        // Other fields of an apparatus are fields of a pod; `containers` represents them.
        .filter(|(kind, field)| field != "apparatus" && !known.contains(&(kind.clone(), field.clone())))
        .collect();
    assert_eq!(missing, BTreeSet::new(), "fields without a row in tests/plugs/fields.yaml");
    let fields: BTreeSet<(String, String)> =
        schema_fields().into_iter().map(|leaf| (leaf.kind.clone(), leaf.row_path())).collect();
    assert_eq!(known.difference(&fields).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "rows about no field");
    for row in rows {
        assert!(row.any.is_some() || !row.says.is_empty() || !row.refused.is_empty(), "{} tests nothing", row.field);
    }
}

#[test]
fn every_rule_on_a_text_has_a_row_that_is_refused() {
    let rows = rows();
    let ruled = schema_fields().into_iter().filter(|leaf| leaf.schema["x-kubernetes-validations"].is_array());
    for leaf in ruled.filter(|leaf| leaf.schema["type"] == "string") {
        let of = |row: &&FieldRow| row.kinds().contains(&leaf.kind) && row.field == leaf.row_path();
        assert!(rows.iter().filter(of).any(|row| !row.refused.is_empty()), "{} {}", leaf.kind, leaf.row_path());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_another_type_is_refused_by_the_name_of_its_field() {
    let cluster = Cluster::ephemeral().await;
    let client = cluster.client();
    crate::install(&client).await;
    create_fixtures(&client).await;
    let mut tried = 0;
    for leaf in schema_fields() {
        for value in leaf.invalid_values() {
            let spec = leaf.spec_with(value.clone());
            let refused = create(&client, object(&leaf.kind, "wrong", spec)).await.err().unwrap_or_default();
            assert!(
                refused.contains(&leaf.display_path()),
                "{} of {value}: {} says `{refused}`",
                leaf.kind,
                leaf.display_path()
            );
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried} fields are tried");
}

/// Returns the messages of an object's conditions.
async fn messages(client: &Client, kind: &str, name: &str) -> Vec<String> {
    let found = get(client, &format!("{}/{name}", list_path(kind, NAMESPACE))).await.unwrap_or_default();
    let all = found.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    all.iter().filter_map(|one| one["message"].as_str().map(str::to_string)).collect()
}

/// Creates the object of a row and its counterpart, and returns the objects that may report the error.
async fn create_row_objects(
    client: &Client,
    row: &FieldRow,
    kind: &str,
    name: &str,
) -> Result<Vec<(String, String)>, String> {
    let mut spec = row.spec.clone();
    match kind {
        "Plug" => {
            if spec["socket"].is_null() {
                spec["socket"] = json!({"name": "good"});
            }
            create(client, object("Plug", name, spec)).await?;
            Ok(vec![("Plug".to_string(), name.to_string())])
        }
        "Socket" => {
            create(client, object("Socket", name, spec)).await?;
            let plug = json!({"socket": {"name": name}, "config": {"howdy": "x"}, "result": {"r": "x"}});
            create(client, object("Plug", &format!("{name}-plug"), plug)).await?;
            Ok(vec![("Socket".to_string(), name.to_string()), ("Plug".to_string(), format!("{name}-plug"))])
        }
        _ => {
            if spec["resource"].is_null() {
                spec["resource"] = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            }
            create(client, object(kind, name, spec)).await?;
            Ok(vec![(kind.to_string(), name.to_string())])
        }
    }
}

async fn until_message(client: &Client, places: &[(String, String)], words: &[String]) -> Result<(), String> {
    let end = Instant::now() + TIMEOUT;
    loop {
        let mut all = Vec::new();
        for (kind, name) in places {
            all.extend(messages(client, kind, name).await);
        }
        if all.iter().any(|message| words.iter().all(|word| message.contains(word.as_str()))) {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("no condition says {words:?}: {all:#?}"));
        }
        tokio::time::sleep(POLL).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_wrong_in_turn_is_named_and_stops_nothing_else() {
    let cluster = Cluster::ephemeral().await;
    cluster.start_controllers();
    let client = cluster.client();
    crate::install(&client).await;
    create_fixtures(&client).await;
    let folder = tempfile::tempdir().unwrap();
    let kernel = CaseKernel::start(&client, folder.path());
    let (mut wrong, mut begun) = (Vec::new(), Vec::new());
    for (number, row) in rows().iter().enumerate().filter(|(_, row)| row.any.is_none()) {
        for kind in row.kinds() {
            let name = format!("w{number}-{}", kind.to_lowercase());
            match create_row_objects(&client, row, &kind, &name).await {
                Ok(places) if row.refused.is_empty() => begun.push((row.clone(), kind, places)),
                Err(refused)
                    if row.refused.iter().all(|word| refused.contains(word.as_str())) && !row.refused.is_empty() => {}
                other => wrong.push(format!("{kind} {}: {other:?}", row.field)),
            }
        }
    }
    for (row, kind, places) in &begun {
        if let Err(problem) = until_message(&client, places, &row.says).await {
            wrong.push(format!("{kind} {} {}: {problem}", row.field, row.spec));
        }
    }
    // Meanwhile, another pair couples, updates and decouples.
    create(&client, object("Plug", "well", json!({"socket": {"name": "good"}}))).await.unwrap();
    until_message(&client, &[("Plug".to_string(), "well".to_string())], &["coupling succeeded".to_string()])
        .await
        .unwrap();
    kernel.stop().await;
    assert!(wrong.is_empty(), "{} fields:\n{}", wrong.len(), wrong.join("\n"));
}
