//! What an object has to do with others.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::cache::Snapshot;
use switchboard_kernel::resource::{ObjectKey, Query, Selection, TableKey};
use switchboard_kernel::view::Picture as _;
use switchboard_object::selector::LabelSelector;

use crate::piece::{object_href, operator_href};
use crate::problem::Problem;
use crate::recent::Brief;
use crate::source::Source;

/// How many relations of one kind are shown.
const MAX_OF_A_KIND: usize = 8;
/// The label that Argo CD puts on what it deploys.
const INSTANCE: &str = "app.kubernetes.io/instance";
/// The annotation in which Argo CD says which Application deployed something.
const TRACKING: &str = "argocd.argoproj.io/tracking-id";

/// Another thing, and what it is to the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// What it is to the object: `owner`, `written by`, `decided from`, `owns`, `read by`, `socket`, `plug`, `application`.
    pub what: &'static str,
    /// Whether it comes before the object: what the object follows from.
    pub before: bool,
    /// Its name.
    pub name: String,
    /// Its page.
    pub href: String,
}

/// What an object has to do with others.
pub async fn relations(
    source: &Source,
    key: &ObjectKey,
    live: Option<&Value>,
    briefs: &VecDeque<Brief>,
) -> Result<Vec<Relation>, Problem> {
    let picture = source.picture().await?;
    let mut found = Found { key, all: Vec::new() };
    if let Some(live) = live {
        owners(&mut found, source, live).await;
        plugs(&mut found, live);
        application(&mut found, live);
    }
    decided(&mut found, briefs);
    if let Some(uid) = live.and_then(|live| live["metadata"]["uid"].as_str()) {
        owned(&mut found, &picture, uid);
    }
    Ok(found.all)
}

struct Found<'k> {
    key: &'k ObjectKey,
    all: Vec<Relation>,
}

impl Found<'_> {
    fn add(&mut self, what: &'static str, before: bool, name: String, href: String) {
        let known = self.all.iter().any(|one| one.what == what && one.name == name);
        if !known && self.all.iter().filter(|one| one.what == what).count() < MAX_OF_A_KIND {
            self.all.push(Relation { what, before, name, href });
        }
    }

    fn object(&mut self, what: &'static str, before: bool, key: &ObjectKey) {
        if key != self.key {
            self.add(what, before, key.to_string(), object_href(key));
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

async fn owners(found: &mut Found<'_>, source: &Source, live: &Value) {
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

fn plugs(found: &mut Found<'_>, live: &Value) {
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

fn application(found: &mut Found<'_>, live: &Value) {
    let tracked = live["metadata"]["annotations"][TRACKING].as_str().and_then(|id| id.split(':').next());
    let labelled = live["metadata"]["labels"][INSTANCE].as_str();
    if let Some(name) = tracked {
        found.add("application", true, name.to_string(), format!("/fleet?q={}", crate::piece::escaped(name)));
    } else if let Some(name) = labelled {
        found.add("instance", true, name.to_string(), format!("/search?q={}", crate::piece::escaped(name)));
    }
}

fn decided(found: &mut Found<'_>, briefs: &VecDeque<Brief>) {
    let key = found.key.clone();
    for brief in briefs {
        let unit = format!("{} {}", brief.operator, brief.unit);
        if brief.wrote.contains(&key) {
            found.add("written by", true, unit, operator_href(&brief.operator));
            if !found.all.iter().any(|one| one.what == "decided from") {
                brief.read.iter().for_each(|read| found.object("decided from", true, read));
            }
        } else if brief.read.contains(&key) || brief.missed.contains(&key) {
            found.add("read by", false, unit, operator_href(&brief.operator));
            if brief.outcome == crate::recent::Came::Wrote {
                brief.wrote.iter().for_each(|wrote| found.object("leads to", false, wrote));
            }
        }
    }
}

/// Objects that name this one's uid as their owner's; their bytes are searched, so that nothing is parsed in vain.
fn owned(found: &mut Found<'_>, picture: &Snapshot, uid: &str) {
    let finder = memchr::memmem::Finder::new(uid.as_bytes());
    let Ok(everything) = LabelSelector::parse("") else { return };
    for table in picture.tables().filter(|table| table.cluster == found.key.table.cluster) {
        let query = Query { table: table.clone(), selection: Selection::all() };
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
