//! Relations of an object to other objects.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::cache::Snapshot;
use switchboard_kernel::resource::{ListQuery, ObjectKey, Selection, TableKey};
use switchboard_kernel::view::Reader as _;
use switchboard_object::selector::LabelSelector;

use crate::components::{object_href, operator_href};
use crate::problem::ConsoleProblem;
use crate::recent::DecisionSummary;
use crate::source::ConsoleSource;

/// Maximum number of relations of a kind.
const MAX_OF_A_KIND: usize = 8;
/// Label of Argo CD on deployed objects.
const INSTANCE: &str = "app.kubernetes.io/instance";
/// Annotation of Argo CD with the Application of a deployed object.
const TRACKING: &str = "argocd.argoproj.io/tracking-id";

/// Relation to another object or a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// Kind of the relation: `owner`, `written by`, `decided from`, `owns`, `read by`, `socket`, `plug`, `application`.
    pub relation: &'static str,
    /// Whether the other object is a cause of this one.
    pub before: bool,
    /// Name of the other object.
    pub name: String,
    /// Link to the other object's page.
    pub href: String,
}

/// Returns the relations of an object.
pub async fn relations(
    source: &ConsoleSource,
    key: &ObjectKey,
    live: Option<&Value>,
    summaries: &VecDeque<DecisionSummary>,
) -> Result<Vec<Relation>, ConsoleProblem> {
    let picture = source.snapshot().await?;
    let mut found = RelationList { key, all: Vec::new() };
    if let Some(live) = live {
        add_owners(&mut found, source, live).await;
        add_plugs(&mut found, live);
        add_application(&mut found, live);
    }
    add_decisions(&mut found, summaries);
    if let Some(uid) = live.and_then(|live| live["metadata"]["uid"].as_str()) {
        add_owned(&mut found, &picture, uid);
    }
    Ok(found.all)
}

struct RelationList<'k> {
    key: &'k ObjectKey,
    all: Vec<Relation>,
}

impl RelationList<'_> {
    fn add(&mut self, relation: &'static str, before: bool, name: String, href: String) {
        let known = self.all.iter().any(|one| one.relation == relation && one.name == name);
        if !known && self.all.iter().filter(|one| one.relation == relation).count() < MAX_OF_A_KIND {
            self.all.push(Relation { relation, before, name, href });
        }
    }

    fn object(&mut self, relation: &'static str, before: bool, key: &ObjectKey) {
        if key != self.key {
            self.add(relation, before, key.to_string(), object_href(key));
        }
    }

    fn of_cluster(&self, plural: &str, group: &str, namespace: &str, name: &str) -> ObjectKey {
        let resource = switchboard_kernel::resource::Resource {
            group: group.to_string().into(),
            version: "".into(),
            kind: "".into(),
            plural: plural.to_string().into(),
            namespaced: !namespace.is_empty(),
        };
        let table = TableKey { cluster: self.key.table.cluster.clone(), resource: Arc::new(resource) };
        ObjectKey { table, namespace: namespace.into(), name: name.into() }
    }
}

async fn add_owners(found: &mut RelationList<'_>, source: &ConsoleSource, live: &Value) {
    let cluster = found.key.table.cluster.0.clone();
    let Ok(kinds) = source.kinds(&cluster).await else { return };
    for owner in live.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        if let Some(kind) = kinds.iter().find(|kind| kind.kind == text("kind") && kind.group == group) {
            let namespace = if kind.namespaced { &*found.key.namespace } else { "" };
            let key = found.of_cluster(&kind.plural, group, namespace, text("name"));
            found.object("owner", true, &key);
        }
    }
}

fn add_plugs(found: &mut RelationList<'_>, live: &Value) {
    use switchboard_plugs::model::{GROUP, PLUGS, SOCKETS};
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let own = found.key.namespace.to_string();
    if *found.key.table.resource.kind == *PLUGS.kind {
        let socket = &live["spec"]["socket"];
        let namespace = Some(text(&socket["namespace"])).filter(|given| !given.is_empty()).unwrap_or(own);
        if socket["name"].is_string() {
            let key = found.of_cluster(&SOCKETS.plural, GROUP, &namespace, &text(&socket["name"]));
            found.object("socket", false, &key);
        }
    } else if *found.key.table.resource.kind == *SOCKETS.kind {
        for plug in live.pointer("/status/coupledPlugs").and_then(Value::as_array).into_iter().flatten() {
            let key = found.of_cluster(&PLUGS.plural, GROUP, &text(&plug["namespace"]), &text(&plug["name"]));
            found.object("plug", true, &key);
        }
    }
}

fn add_application(found: &mut RelationList<'_>, live: &Value) {
    let tracked = live["metadata"]["annotations"][TRACKING].as_str().and_then(|id| id.split(':').next());
    let labelled = live["metadata"]["labels"][INSTANCE].as_str();
    if let Some(name) = tracked {
        found.add(
            "application",
            true,
            name.to_string(),
            format!("/fleet?q={}", crate::components::percent_encode(name)),
        );
    } else if let Some(name) = labelled {
        found.add("instance", true, name.to_string(), format!("/search?q={}", crate::components::percent_encode(name)));
    }
}

fn add_decisions(found: &mut RelationList<'_>, summaries: &VecDeque<DecisionSummary>) {
    let key = found.key.clone();
    for summary in summaries {
        let unit = format!("{} {}", summary.operator, summary.unit);
        if summary.wrote.contains(&key) {
            found.add("written by", true, unit, operator_href(&summary.operator));
            if !found.all.iter().any(|one| one.relation == "decided from") {
                summary.read.iter().for_each(|read| found.object("decided from", true, read));
            }
        } else if summary.read.contains(&key) || summary.missed.contains(&key) {
            found.add("read by", false, unit, operator_href(&summary.operator));
            if summary.outcome == crate::recent::SummaryOutcome::Written {
                summary.wrote.iter().for_each(|wrote| found.object("leads to", false, wrote));
            }
        }
    }
}

/// Adds objects with an owner reference to the uid. The raw bytes are searched first, so that few objects are parsed.
fn add_owned(found: &mut RelationList<'_>, picture: &Snapshot, uid: &str) {
    let finder = memchr::memmem::Finder::new(uid.as_bytes());
    let Ok(everything) = LabelSelector::parse("") else { return };
    for table in picture.tables().filter(|table| table.cluster == found.key.table.cluster) {
        let query = ListQuery { table: table.clone(), selection: Selection::all() };
        for object in picture.list(&query, &everything).unwrap_or_default() {
            if object.key == *found.key || finder.find(&object.json).is_none() {
                continue;
            }
            let value = object.value();
            let owners = value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            if owners.into_iter().flatten().any(|owner| owner["uid"] == uid) {
                found.object("owns", false, &object.key);
            }
        }
    }
}
