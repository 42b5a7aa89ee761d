//! Output of instances, placements and moves: tables, JSON and YAML.

use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use switchboard_gitops::instance::fleet::{FleetInstance, PlacementInfo};
use switchboard_gitops::rows::fleet::Move;

use crate::gitops::object_table::{ObjectTable, column, text, wide};

/// Table of instances or placements; as JSON and YAML a list, or one object if one was requested.
pub struct FleetTable(ObjectTable);

impl FleetTable {
    /// Creates a table of instances.
    pub fn instances(entries: &[FleetInstance]) -> Self {
        Self::of_instances(entries.iter().map(Value::from).collect(), false)
    }

    /// Creates a table of one instance.
    pub fn instance(entry: &FleetInstance) -> Self {
        Self::of_instances(vec![Value::from(entry)], true)
    }

    /// Creates a table of placements.
    pub fn placements(placements: &[PlacementInfo]) -> Self {
        let columns = vec![
            column("Tenant", |one, _| text(one, "/tenant")),
            column("Environment", |one, _| text(one, "/environment")),
            column("Instance", |one, _| text(one, "/instance")),
            column("Applications", |one, _| number(one, "/applications").to_string()),
            column("Moving", |one, _| one["movingTo"].as_str().map_or("-".to_string(), |to| format!("to {to}"))),
            wide("Tenant-Uid", |one, _| text(one, "/tenantUid")),
            wide("Environment-Uid", |one, _| text(one, "/environmentUid")),
            wide("Cluster", |one, _| text(one, "/cluster")),
        ];
        let objects = placements.iter().map(Value::from).collect();
        Self(ObjectTable { columns, objects, is_one: false, now: Timestamp::UNIX_EPOCH })
    }

    fn of_instances(objects: Vec<Value>, is_one: bool) -> Self {
        let columns = vec![
            column("Namespace", |one, _| text(one, "/namespace")),
            column("State", |one, _| text(one, "/state")),
            column("Applications", |one, _| used(one, "/applications", "/maxApplications")),
            column("Placements", |one, _| used(one, "/placements", "/maxPlacements")),
            column("Moving", |one, _| number(one, "/moving").to_string()),
            wide("Id", |one, _| text(one, "/id")),
            wide("Cluster", |one, _| text(one, "/cluster")),
        ];
        Self(ObjectTable { columns, objects, is_one, now: Timestamp::UNIX_EPOCH })
    }
}

fn number(one: &Value, pointer: &str) -> i64 {
    one.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// Formats a usage with its limit, if there is one.
fn used(one: &Value, used: &str, max: &str) -> String {
    let of = one.pointer(max).and_then(Value::as_i64).map(|max| format!("/{max}"));
    format!("{}{}", number(one, used), of.unwrap_or_default())
}

impl fmt::Display for FleetTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Serialize for FleetTable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.objects.first().filter(|_| self.0.is_one) {
            Some(one) => one.serialize(to),
            None => self.0.objects.serialize(to),
        }
    }
}

/// Creates a table of one move.
pub fn move_table(row: &Move, tenant: &str, environment: Option<&str>, to: &str) -> ObjectTable {
    let columns = vec![
        column("Tenant", |one, _| text(one, "/tenant")),
        column("Environment", |one, _| text(one, "/environment")),
        column("To", |one, _| text(one, "/to")),
        column("Step", |one, _| text(one, "/step")),
        wide("Id", |one, _| text(one, "/id")),
        wide("Message", |one, _| text(one, "/message")),
    ];
    let object = json!({
        "id": row.id.as_str(),
        "tenant": tenant,
        "environment": environment,
        "to": to,
        "step": row.step.as_str(),
        "message": row.human_readable_state,
    });
    ObjectTable { columns, objects: vec![object], is_one: true, now: Timestamp::UNIX_EPOCH }
}
