#![allow(clippy::unwrap_used)]

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::fake_view::FakeView;
use crate::operator::{Declaration, Operator, Unit};
use crate::plan::{Mutation, Plan};

/// Custom resource with a status.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Ticket", namespaced, status = "TicketStatus")]
struct TicketSpec {
    seats: u32,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct TicketStatus {
    number: u32,
}

fn ticket(finalizers: &[&str]) -> Ticket {
    let mut ticket = Ticket::new("a", TicketSpec { seats: 2 });
    ticket.metadata.namespace = Some("shop".into());
    ticket.metadata.finalizers = Some(finalizers.iter().map(|one| one.to_string()).collect());
    ticket
}

/// Operator whose decision is a function.
struct Deciding<F>(F);

impl<F: Fn(TypedView<'_>) -> Result<Plan, DecideError> + Send + Sync + 'static> Operator for Deciding<F> {
    fn name(&self) -> &str {
        "deciding"
    }

    fn declaration(&self) -> Declaration {
        Declaration::whole().reads::<ConfigMap>().reads::<Namespace>().reads::<Secret>().reads::<Ticket>()
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        (self.0)(view.typed())
    }
}

fn decide(
    scene: &FakeView,
    decision: impl Fn(TypedView<'_>) -> Result<Plan, DecideError> + Send + Sync + 'static,
) -> Result<Plan, DecideError> {
    scene.decide(&Deciding(decision), &Unit::Whole)
}

fn failure(scene: &FakeView, decision: fn(TypedView<'_>) -> Result<Plan, DecideError>) -> String {
    decide(scene, decision).unwrap_err().to_string()
}

#[test]
fn kinds_of_types_have_their_scope_and_path() {
    assert_eq!(ConfigMap::resource(), Resource::namespaced("", "v1", "ConfigMap", "configmaps"));
    assert_eq!(Namespace::resource(), Resource::cluster_scoped("", "v1", "Namespace", "namespaces"));
    assert_eq!(Ticket::resource(), Resource::namespaced("example.com", "v1", "Ticket", "tickets"));
}

#[test]
fn objects_are_read_by_name_and_in_lists() {
    let map = |name: &str| ConfigMap {
        metadata: ObjectMeta { name: Some(name.into()), namespace: Some("shop".into()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let shop = Namespace {
        metadata: ObjectMeta { name: Some("shop".into()), ..ObjectMeta::default() },
        ..Namespace::default()
    };
    let scene = FakeView::default().with_object(&map("b")).with_object(&map("a")).with_object(&shop);
    let decided = decide(&scene, |view| {
        assert_eq!(view.get::<ConfigMap>("shop", "missing")?, None);
        assert_eq!(view.get::<Namespace>("", "shop")?.and_then(|shop| shop.metadata.name), Some("shop".into()));
        let maps = view.list::<ConfigMap>(&Selection::namespace("shop"))?;
        let names: Vec<_> = maps.into_iter().filter_map(|map| map.metadata.name).collect();
        assert_eq!(names, ["a", "b"]);
        // Reads of the dynamic view are beside the typed ones.
        assert_eq!(view.reads().gets.len(), 2);
        Ok(Plan::nothing())
    });
    assert_eq!(decided, Ok(Plan::nothing()));
}

#[test]
fn an_object_that_does_not_decode_is_named_with_its_field() {
    let bad = |spec: Value| {
        let object = json!({"metadata": {"name": "a", "namespace": "shop"}, "spec": spec});
        FakeView::of(&Ticket::resource(), [object])
    };
    let by_name = |view: TypedView<'_>| view.get::<Ticket>("shop", "a").map(|_| Plan::nothing());
    let error = failure(&bad(json!({"seats": "two"})), by_name);
    let wanted = "could not decode Ticket shop/a: field spec.seats: invalid type: string \"two\", expected u32";
    assert_eq!(error, wanted);
    let listed =
        failure(&bad(json!({"seats": "two"})), |view| view.list::<Ticket>(&Selection::all()).map(|_| Plan::nothing()));
    assert_eq!(listed, wanted);
    let error = failure(&bad(json!({})), by_name);
    assert_eq!(error, "could not decode Ticket shop/a: field spec: missing field `seats`");
    let error =
        failure(&FakeView::of(&Ticket::resource(), [json!({"metadata": {"name": "a", "namespace": "shop"}})]), by_name);
    assert_eq!(error, "could not decode Ticket shop/a: missing field `spec`");
}

#[test]
fn the_value_of_a_secret_is_in_no_error() {
    let secret = json!({"metadata": {"name": "a", "namespace": "shop"}, "data": {"token": ["hunter2"]}});
    let scene = FakeView::of(&Secret::resource(), [secret]);
    let error = failure(&scene, |view| view.get::<Secret>("shop", "a").map(|_| Plan::nothing()));
    assert_eq!(error, "could not decode Secret shop/a: field data.token: not of the expected type");
}

#[test]
fn an_apply_has_neither_status_nor_metadata_of_the_server() {
    let mut read = ticket(&[]);
    read.metadata.resource_version = Some("7".into());
    read.metadata.uid = Some("u".into());
    read.metadata.generation = Some(3);
    read.status = Some(TicketStatus { number: 1 });
    let mut plan = Plan::nothing();
    plan.apply(&read).unwrap().apply_status(&read).unwrap();
    let object = json!({"apiVersion": "example.com/v1", "kind": "Ticket",
        "metadata": {"name": "a", "namespace": "shop", "finalizers": []}, "spec": {"seats": 2}});
    let status = json!({"apiVersion": "example.com/v1", "kind": "Ticket",
        "metadata": {"name": "a", "namespace": "shop"}, "status": {"number": 1}});
    let resource = Ticket::resource();
    let expected = [Mutation::apply(&resource, object), Mutation::apply(&resource, status).status()];
    assert_eq!(plan.mutations, expected);
    let texts: Vec<String> = plan.mutations.iter().map(Mutation::to_string).collect();
    assert_eq!(texts, ["apply tickets.example.com/shop/a", "apply tickets.example.com/shop/a status"]);
}

#[test]
fn a_write_without_name_namespace_or_status_is_refused() {
    let mut plan = Plan::nothing();
    let mut refused = |object: &Ticket| plan.apply(object).unwrap_err().to_string();
    let unplaced = Ticket::new("a", TicketSpec { seats: 2 });
    assert_eq!(refused(&unplaced), "could not apply Ticket a: metadata.namespace is not set");
    let mut unnamed = ticket(&[]);
    unnamed.metadata.name = None;
    assert_eq!(refused(&unnamed), "could not apply Ticket shop/: metadata.name is not set");
    let error = plan.apply_status(&ticket(&[])).unwrap_err().to_string();
    assert_eq!(error, "could not apply the status of Ticket shop/a: status is not set");
    unnamed.metadata.generate_name = Some("a-".into());
    assert!(plan.create(&unnamed).is_ok());
    let placed = Namespace {
        metadata: ObjectMeta { namespace: Some("shop".into()), name: Some("a".into()), ..ObjectMeta::default() },
        ..Namespace::default()
    };
    let error = plan.apply(&placed).unwrap_err().to_string();
    assert_eq!(error, "could not apply Namespace shop/a: metadata.namespace is set, but the kind is cluster-scoped");
}

#[test]
fn finalizers_of_other_writers_are_kept() {
    let written = |change: fn(&mut Plan, &Ticket), finalizers: &[&str]| {
        let mut plan = Plan::nothing();
        change(&mut plan, &ticket(finalizers));
        plan.mutations.into_iter().next().map(|mutation| match mutation.operation {
            crate::plan::WriteOp::Patch { body, .. } => body["metadata"]["finalizers"].clone(),
            other => panic!("{other:?}"),
        })
    };
    let add = |plan: &mut Plan, ticket: &Ticket| _ = plan.add_finalizer(ticket, "own");
    assert_eq!(written(add, &["other"]), Some(json!(["other", "own"])));
    assert_eq!(written(add, &["own"]), None);
    let remove = |plan: &mut Plan, ticket: &Ticket| _ = plan.remove_finalizer(ticket, "own");
    assert_eq!(written(remove, &["other", "own"]), Some(json!(["other"])));
    assert_eq!(written(remove, &["other"]), None);
}
