//! Same operator with its configuration on another cluster, in namespaces with other names.

use super::*;
use crate::topology::NamespaceMapping;

/// Copies the words of `shop/words` beside every ConfigMap of the configuration cluster, and to the user workload
/// cluster.
fn copies() -> Arc<dyn Operator> {
    struct CopyOperator;
    impl Operator for CopyOperator {
        fn name(&self) -> &str {
            "copies"
        }

        fn declaration(&self) -> Declaration {
            let shop =
                |place| AccessRule { namespace: Some("shop".into()), ..AccessRule::every(&CONFIG_MAPS).on(place) };
            Declaration {
                inputs: BTreeSet::from([shop(ClusterType::Configuration)]),
                outputs: BTreeSet::from([shop(ClusterType::Configuration), shop(ClusterType::UserWorkload)]),
                service_account: None,
                units: Units::Each {
                    cluster_type: ClusterType::Configuration,
                    resource: CONFIG_MAPS,
                    selection: Selection::namespace("shop").with_labels("unit"),
                },
            }
        }

        fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
            let words = view.get(&CONFIG_MAPS, "shop", "words")?;
            let Some(words) = words else { return Ok(Plan::nothing().waiting("words")) };
            assert_eq!(words.value()["metadata"]["namespace"], "shop", "it never knows");
            let listed = view.list(&CONFIG_MAPS, &Selection::namespace("shop"))?;
            let names: Vec<String> = listed.iter().map(|o| format!("{}/{}", o.key.namespace, o.key.name)).collect();
            let copy = json!({"metadata": {"name": format!("{}-copy", unit.name()), "namespace": unit.namespace()},
                "data": {"names": names.join(" ")}});
            let mut plan = Plan::nothing();
            plan.push(Mutation::create(&CONFIG_MAPS, copy.clone()));
            plan.push(Mutation::create(&CONFIG_MAPS, copy).on(ClusterType::UserWorkload));
            Ok(plan)
        }
    }
    Arc::new(CopyOperator)
}

fn hosted() -> Core {
    let (hub, edge) = (cluster(), ClusterName::new("edge"));
    let acme = NamespaceMapping::new("acme-", Default::default()).unwrap();
    let topology = Topology::of([hub.clone(), hub, edge]);
    let topology = topology.with_namespaces([acme.clone(), acme, NamespaceMapping::identity()]).unwrap();
    let mut core = Core::new(Timestamp(0), 1, topology, GlobalLimits::default(), DecisionId(1));
    core.add(Timestamp(0), copies(), Limits::none());
    core
}

fn within(namespace: &str, name: &str, revision: u64) -> Value {
    let mut object = config_map(name, revision, "unit");
    object["metadata"]["namespace"] = namespace.into();
    object
}

#[test]
fn an_operator_uses_its_own_names_for_real_namespaces() {
    let mut core = hosted();
    core.poll(Timestamp(0));
    let mut words = within("acme-shop", "words", 2);
    words["metadata"]["labels"] = json!({});
    sync(&mut core, 0, &CONFIG_MAPS, &[within("acme-shop", "web", 1), words, within("shop", "not-ours", 3)]);
    let mut started = runs(core.poll(Timestamp(1)));
    assert_eq!(started.len(), 1, "what stands outside of the mapping is no unit");
    let run = started.remove(0);
    assert_eq!(run.unit.unit, Unit::object("shop", "web"));
    let RunProgress::Write { writes, .. } = decide(&mut core, 1, &run) else { panic!("it writes") };
    let real: Vec<String> =
        writes.iter().map(|write| format!("{} {}", write.object.table.cluster, write.object)).collect();
    assert_eq!(real, ["edge configmaps/shop/web-copy", "main configmaps/acme-shop/web-copy"]);
    let bodies: Vec<&Value> = writes
        .iter()
        .map(|write| match &write.mutation.operation {
            crate::plan::WriteOp::Create(body) => body,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bodies[0]["metadata"]["namespace"], "shop");
    assert_eq!(bodies[1]["metadata"]["namespace"], "acme-shop");
    assert_eq!(bodies[0]["data"]["names"], "shop/web shop/words");
}

#[test]
fn a_namespace_that_would_be_too_long_is_refused_with_a_hint() {
    let long = "a".repeat(60);
    let acme = NamespaceMapping::new("acme-", Default::default()).unwrap();
    let topology = Topology::standalone(&cluster()).with_namespaces([acme.clone(), acme.clone(), acme]).unwrap();
    let body = json!({"metadata": {"name": "x", "namespace": long}});
    let mutation = Mutation::create(&CONFIG_MAPS, body);
    let object = topology.object(ClusterType::Configuration, &CONFIG_MAPS, &long, "x");
    let mut write = crate::decision::Write { mutation, object, result: WriteResult::Skipped };
    let reason = topology.resolve_write(&mut write).unwrap_err();
    assert!(reason.contains("longer than 63 characters") && reason.contains("topology.namespaces"), "{reason}");
}

/// The name label of a Namespace holds the operator's name for it, not the one on the cluster.
#[test]
fn namespaces_are_units_by_the_labels_that_their_operator_sees() {
    const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
    let selection = Selection::all().with_labels("kubernetes.io/metadata.name in (shop, home)");
    let units = Units::Each { cluster_type: ClusterType::default(), resource: NAMESPACES, selection };
    let operator: Arc<dyn Operator> =
        Arc::new(FnOperator { name: "named".into(), units, decide: Box::new(|_, _| Ok(Plan::nothing())) });
    let acme = NamespaceMapping::new("acme-", Default::default()).unwrap();
    let topology = Topology::standalone(&cluster()).with_namespaces([acme.clone(), acme.clone(), acme]).unwrap();
    let mut core = Core::new(Timestamp(0), 1, topology, GlobalLimits::default(), DecisionId(1));
    core.add(Timestamp(0), operator, Limits::none());
    core.poll(Timestamp(0));
    let namespace = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": name, "resourceVersion": "1",
            "labels": {"kubernetes.io/metadata.name": name}}})
    };
    let all = ["acme-shop", "acme-other", "shop"].map(namespace);
    sync(&mut core, 0, &NAMESPACES, &all);
    let woken: Vec<Unit> = runs(core.poll(Timestamp(1))).into_iter().map(|run| run.unit.unit).collect();
    assert_eq!(woken, [Unit::object("", "shop")]);
    // Namespaces that exist before the operator is added are matched in the same way.
    let present =
        core.unit_index.existing_units(&OperatorName::new("named"), &table(&NAMESPACES), &core.cache.snapshot());
    assert_eq!(present.into_iter().map(|unit| unit.unit).collect::<Vec<_>>(), woken);
}
