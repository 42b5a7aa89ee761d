//! Column definitions: those of the Kubernetes release for built-in kinds, those of the CRD for custom resources.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::json;
use switchboard_object::Value;

use crate::resource::ServedResource;

#[derive(Deserialize)]
struct ColumnTable {
    descriptions: Vec<String>,
    kinds: HashMap<String, Vec<ColumnRow>>,
}

/// Name, type, format, priority, index of the description.
#[derive(Deserialize)]
struct ColumnRow(String, String, String, i32, usize);

static CARRIED: LazyLock<ColumnTable> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/columns.json")).expect("the embedded columns are well formed")
});

/// Index of the description of `Name` columns.
const NAME: usize = 0;
/// Kind whose columns (name and creation time) all kinds without their own columns have.
const PLAIN: &str = "rbac.authorization.k8s.io/v1/ClusterRole";

/// Returns the `columnDefinitions` of a resource.
pub fn columns(resource: &ServedResource) -> Value {
    let Some(custom) = &resource.custom else {
        let kind = format!("{}/{}", resource.kind.api_version(), resource.kind.kind);
        let found = CARRIED.kinds.get(kind.as_str()).or_else(|| CARRIED.kinds.get(PLAIN));
        return found.into_iter().flatten().map(column_definition).collect();
    };
    let mut all = vec![json!({
        "name": "Name", "type": "string", "format": "name", "description": name_description(), "priority": 0,
    })];
    if custom.columns.is_empty() {
        let created = CARRIED.kinds.get(PLAIN).and_then(|columns| columns.get(1)).map_or(NAME, |column| column.4);
        all.push(column_definition(&ColumnRow("Age".into(), "date".into(), String::new(), 0, created)));
    }
    all.extend(custom.columns.iter().map(|column| {
        let description = match (&*column.description, &*column.path) {
            ("", path) => format!("Custom resource definition column (in JSONPath format): {path}"),
            (stated, _) => stated.to_string(),
        };
        json!({
            "name": &*column.name, "type": &*column.kind, "format": &*column.format,
            "description": description, "priority": column.priority,
        })
    }));
    all.into()
}

fn column_definition(column: &ColumnRow) -> Value {
    let ColumnRow(name, kind, format, priority, description) = column;
    let description = CARRIED.descriptions.get(*description).map_or("", String::as_str);
    json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
}

fn name_description() -> &'static str {
    CARRIED.descriptions.get(NAME).map_or("", String::as_str)
}
