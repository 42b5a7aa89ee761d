//! Declared outputs, names, preconditions, order.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::decision::WriteResult;
use crate::plan::{PatchType, Preconditions, WriteOp};

fn reason(write: &Write) -> &str {
    match &write.result {
        WriteResult::Refused { reason } => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn undeclared_outputs_are_refused_and_the_rest_goes_on() {
    let outputs = [
        AccessRule { namespace: Some("shop".into()), ..AccessRule::every(&CONFIG_MAPS) },
        AccessRule { name: Some("web".into()), ..AccessRule::every(&DEPLOYMENTS) },
        AccessRule::every(&PLUGS).on(ClusterType::Management),
    ];
    let elsewhere = json!({ "metadata": { "namespace": "bank", "name": "web" } });
    let mutations = vec![
        Mutation::apply(&CONFIG_MAPS, config_map(json!({}))),
        Mutation::apply(&CONFIG_MAPS, elsewhere),
        Mutation::apply(&DEPLOYMENTS, body(&DEPLOYMENTS, "web", json!({}))),
        Mutation::apply(&DEPLOYMENTS, body(&DEPLOYMENTS, "db", json!({}))),
        Mutation::apply(&PLUGS, body(&PLUGS, "web", json!({}))),
        Mutation::apply(&PLUGS, body(&PLUGS, "web", json!({}))).on(ClusterType::Management).status(),
        Mutation::delete(&PODS, "shop", "web"),
    ];
    let result = judge_with(&outputs, 7, &MapReader::default(), mutations);
    let allowed =
        ["apply configmaps/shop/web", "apply deployments.apps/shop/web", "apply plugs.example.com/shop/web status"];
    assert_eq!(told(&result.writes), allowed);
    let reasons: Vec<_> = result.refused.iter().map(reason).collect();
    let refused =
        |object: &str| format!("{object} of the configuration cluster is not among the operator's declared outputs");
    let objects = ["configmaps/bank/web", "deployments.apps/shop/db", "plugs.example.com/shop/web", "pods/shop/web"];
    assert_eq!(reasons, objects.map(refused));
}

#[test]
fn a_write_without_a_name_is_refused() {
    let bare = json!({ "metadata": {} });
    let spaced = json!({ "metadata": { "name": "a", "namespace": "shop" } });
    let nameless = json!({ "metadata": { "namespace": "shop" } });
    let mutations = vec![
        Mutation::create(&CONFIG_MAPS, bare),
        Mutation::create(&NAMESPACES, spaced),
        Mutation::create(&CONFIG_MAPS, nameless.clone()),
        Mutation::apply(&CONFIG_MAPS, nameless),
        Mutation::delete(&NAMESPACES, "", ""),
    ];
    let result = judge(&MapReader::default(), mutations);
    assert_eq!(result.writes, []);
    let reasons: Vec<_> = result.refused.iter().map(reason).collect();
    assert_eq!(
        reasons,
        [
            "create configmaps/? has no namespace",
            "create namespaces/shop/a has a namespace, but namespaces are cluster-scoped",
            "create configmaps/shop/? has neither `name` nor `generateName`",
            "apply configmaps/shop/? has no name",
            "delete namespaces/? has no name",
        ]
    );
}

#[test]
fn invalid_writes_are_refused() {
    let merge = |name: &str, body| Mutation::patch(&CONFIG_MAPS, "shop", name, PatchType::Merge, body);
    let made = |metadata| Mutation {
        name: "web".into(),
        namespace: "shop".into(),
        ..Mutation::create(&CONFIG_MAPS, metadata)
    };
    let below = |part: &str| Mutation { subresource: Some(part.into()), ..merge("web", json!({})) };
    let refused = [
        (made(json!({ "metadata": 5 })), "the metadata is not an object"),
        (merge("web", json!({ "metadata": "x" })), "the metadata is not an object"),
        (merge("web", json!(5)), "the body is not an object"),
        (Mutation::patch(&CONFIG_MAPS, "shop", "web", PatchType::Json, json!({})), "the JSON patch is not a list"),
        (below("../secrets"), "subresource \"../secrets\" is not a single path segment: it may not contain '/'"),
        (below(".."), "subresource \"..\" is not a single path segment: it may not be '..'"),
        (merge("a/../b", json!({})), "name \"a/../b\" is not a single path segment: it may not contain '/'"),
        (merge("a%2Fb", json!({})), "name \"a%2Fb\" is not a single path segment: it may not contain '%'"),
        (Mutation::delete(&PODS, "..", "a"), "namespace \"..\" is not a single path segment: it may not be '..'"),
    ];
    // A prefix covers all names that start with it.
    let job = AccessRule { name: Some("job-*".into()), ..AccessRule::every(&PODS) };
    let outside = Mutation::delete(&PODS, "shop", "job-/../../../../nodes/a");
    let result = judge_with(&[job], 7, &MapReader::default(), vec![outside]);
    assert_eq!(result.writes, []);
    assert!(reason(&result.refused[0]).ends_with("may not contain '/'"), "{}", reason(&result.refused[0]));
    for (mutation, why) in refused {
        let result = judge(&MapReader::default(), vec![mutation]);
        assert_eq!(result.writes, [], "{why}");
        let object = &result.refused[0].object;
        assert_eq!(reason(&result.refused[0]), format!("invalid write of {object}: {why}"));
    }
    let fit = [merge("system:a?b#c", json!({})), merge("web", json!({ "metadata": null })), below("scale")];
    assert_eq!(judge(&MapReader::default(), fit.into()).refused, []);
}

#[test]
fn generated_names_follow_from_the_decision() {
    let job = || Mutation::create(&PODS, json!({ "metadata": { "namespace": "shop", "generateName": "job-" } }));
    let names = |decision| -> Vec<String> {
        let outputs = [AccessRule::every(&PODS)];
        let result = judge_with(&outputs, decision, &MapReader::default(), vec![job(), job()]);
        for write in &result.writes {
            let WriteOp::Create(body) = &write.mutation.operation else { panic!("{write:?}") };
            assert_eq!(body["metadata"]["name"], write.mutation.name);
            assert_eq!(*write.object.name, *write.mutation.name);
        }
        result.writes.into_iter().map(|write| write.mutation.name).collect()
    };
    let seven = names(7);
    assert_eq!(seven, names(7));
    assert_ne!(seven[0], seven[1]);
    assert!(names(8).iter().all(|name| !seven.contains(name)));
    assert!(seven.iter().all(|name| name.starts_with("job-") && name.len() == "job-".len() + 5));
}

#[test]
fn a_long_generated_name_is_cut_at_a_letter() {
    let prefix = format!("{}ü", "a".repeat(57));
    let job = Mutation::create(&PODS, json!({ "metadata": { "namespace": "shop", "generateName": prefix } }));
    let name = judge(&MapReader::default(), vec![job]).writes.remove(0).mutation.name;
    assert_eq!((name.len(), &name[..57]), (62, "a".repeat(57).as_str()));
}

#[test]
fn as_read_becomes_exact() {
    let seen = MapReader::default().object(5, config_map(json!({ "a": "1" }))).absent(key(&PLUGS, "web"));
    let patch = |resource: &Resource, name: &str| {
        Mutation::patch(resource, "shop", name, PatchType::Merge, json!({ "data": { "a": "2" } }))
    };
    let expect = |mutation: Mutation| judge(&seen, vec![mutation]).writes.remove(0).mutation.preconditions;
    let exactly = Preconditions::Exact { uid: "uid-of-web".to_string(), revision: 5 };
    assert_eq!(expect(patch(&CONFIG_MAPS, "web")), exactly);
    assert_eq!(expect(patch(&CONFIG_MAPS, "web").status()), exactly);
    assert_eq!(expect(Mutation::update(&CONFIG_MAPS, config_map(json!({ "a": "2" })))), exactly);
    assert_eq!(expect(Mutation::delete(&CONFIG_MAPS, "shop", "web")), exactly);
    assert_eq!(expect(patch(&CONFIG_MAPS, "web").unconditional()), Preconditions::Unconditional);
    assert_eq!(expect(patch(&CONFIG_MAPS, "other")), Preconditions::Unconditional, "it was not read");
    assert_eq!(expect(patch(&PLUGS, "web")), Preconditions::Unconditional, "it was not there");
}

#[test]
fn writes_without_changes_are_not_sent() {
    let held = config_map(json!({ "a": "1" }));
    let seen = MapReader::default().object(5, held.clone()).absent(key(&CONFIG_MAPS, "gone"));
    let results = |mutations: Vec<Mutation>| -> Vec<WriteResult> {
        judge(&seen, mutations).writes.into_iter().map(|write| write.result).collect()
    };
    let merge = |body| Mutation::patch(&CONFIG_MAPS, "shop", "web", PatchType::Merge, body);
    let (idle, sent) = (vec![WriteResult::Unchanged], vec![WriteResult::Skipped]);
    assert_eq!(results(vec![Mutation::update(&CONFIG_MAPS, held.clone())]), idle);
    assert_eq!(results(vec![merge(json!({ "data": { "a": "1", "b": null } }))]), idle);
    assert_eq!(results(vec![merge(json!({ "data": { "a": "2" } }))]), sent);
    assert_eq!(results(vec![Mutation::delete(&CONFIG_MAPS, "shop", "gone")]), idle);
    assert_eq!(results(vec![Mutation::delete(&CONFIG_MAPS, "shop", "gone").unconditional()]), sent);
    // An empty map differs from an absent one.
    let mut emptied = held.clone();
    emptied["binaryData"] = json!({});
    assert_eq!(results(vec![Mutation::update(&CONFIG_MAPS, emptied)]), sent);
    // Changes nothing by itself, but may do so after another write of the run.
    let strategic = Mutation::patch(&CONFIG_MAPS, "shop", "web", PatchType::Strategic, json!({ "data": { "a": "2" } }));
    assert_eq!(results(vec![strategic, Mutation::update(&CONFIG_MAPS, held)]), [sent.clone(), sent].concat());
}

fn one_of_each() -> Vec<Mutation> {
    let made = ALL
        .iter()
        .flat_map(|resource| ["a", "b"].map(|name| Mutation::apply(resource, body(resource, name, json!({ "x": 1 })))));
    let status = Mutation::apply(&PLUGS, body(&PLUGS, "a", json!({ "status": {} }))).status();
    let gone = ALL.iter().map(|resource| {
        let namespace = if resource.namespaced { "shop" } else { "" };
        Mutation::delete(resource, namespace, "old").unconditional()
    });
    made.chain([status]).chain(gone).collect()
}

#[test]
fn dependencies_come_first_and_deletions_last() {
    let expected = [
        "apply namespaces/a",
        "apply namespaces/b",
        "apply customresourcedefinitions.apiextensions.k8s.io/a",
        "apply customresourcedefinitions.apiextensions.k8s.io/b",
        "apply serviceaccounts/shop/a",
        "apply serviceaccounts/shop/b",
        "apply roles.rbac.authorization.k8s.io/shop/a",
        "apply roles.rbac.authorization.k8s.io/shop/b",
        "apply rolebindings.rbac.authorization.k8s.io/shop/a",
        "apply rolebindings.rbac.authorization.k8s.io/shop/b",
        "apply configmaps/shop/a",
        "apply configmaps/shop/b",
        "apply plugs.example.com/shop/a",
        "apply plugs.example.com/shop/b",
        "apply pods/shop/a",
        "apply pods/shop/b",
        "apply deployments.apps/shop/a",
        "apply deployments.apps/shop/b",
        "apply plugs.example.com/shop/a status",
        "delete deployments.apps/shop/old",
        "delete pods/shop/old",
        "delete plugs.example.com/shop/old",
        "delete configmaps/shop/old",
        "delete rolebindings.rbac.authorization.k8s.io/shop/old",
        "delete roles.rbac.authorization.k8s.io/shop/old",
        "delete serviceaccounts/shop/old",
        "delete customresourcedefinitions.apiextensions.k8s.io/old",
        "delete namespaces/old",
    ];
    assert_eq!(told(&judge(&MapReader::default(), one_of_each()).writes), expected);
}

#[test]
fn a_recreated_object_is_ordered_before_its_users() {
    let mutations = vec![
        Mutation::apply(&DEPLOYMENTS, body(&DEPLOYMENTS, "web", json!({}))),
        Mutation::delete(&CONFIG_MAPS, "shop", "web"),
        Mutation::create(&CONFIG_MAPS, config_map(json!({}))),
    ];
    let expected = ["delete configmaps/shop/web", "create configmaps/shop/web", "apply deployments.apps/shop/web"];
    assert_eq!(told(&judge(&MapReader::default(), mutations).writes), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_does_not_depend_on_the_operators(mutations in Just(one_of_each()).prop_shuffle()) {
        let ordered = judge(&MapReader::default(), one_of_each());
        prop_assert_eq!(judge(&MapReader::default(), mutations), ordered);
    }
}

#[test]
fn an_ordered_plan_is_executed_in_its_order() {
    let seen = MapReader::default().object(5, config_map(json!({})));
    let mut plan = Plan::ordered();
    plan.push(Mutation::delete(&PODS, "shop", "web"));
    plan.push(Mutation::patch(&CONFIG_MAPS, "shop", "web", PatchType::Merge, json!({ "data": { "a": "1" } })));
    plan.push(Mutation::create(&NAMESPACES, body(&NAMESPACES, "bank", json!({}))));
    plan.push(Mutation::patch(&CONFIG_MAPS, "shop", "web", PatchType::Merge, json!({ "data": { "a": "2" } })));
    let writes = judge_plan(&ALL.iter().map(AccessRule::every).collect::<Vec<_>>(), 7, &seen, &plan).writes;
    let wanted =
        ["delete pods/shop/web", "patch configmaps/shop/web", "create namespaces/bank", "patch configmaps/shop/web"];
    assert_eq!(told(&writes), wanted);
    let any = judge_plan(&[AccessRule::every_kind()], 7, &seen, &plan);
    assert_eq!((told(&any.writes), any.refused.len()), (told(&writes), 0), "who may write every kind may write these");
}

#[test]
fn a_write_for_two_cluster_types_of_one_cluster_is_made_once() {
    let outputs: Vec<AccessRule> =
        ClusterType::ALL.iter().map(|cluster_type| AccessRule::every(&CONFIG_MAPS).on(*cluster_type)).collect();
    let append = json!([{ "op": "add", "path": "/data/-", "value": "x" }]);
    let made = |text: &str| {
        let body = json!({ "metadata": { "generateName": "made-", "namespace": "shop" }, "data": { "text": text } });
        Mutation::create(&CONFIG_MAPS, body)
    };
    let wanted = [
        Mutation::create(&CONFIG_MAPS, config_map(json!({ "a": "1" }))),
        Mutation::patch(&CONFIG_MAPS, "shop", "list", PatchType::Json, append),
        made("one"),
        made("one"),
        made("other"),
    ];
    let at = |cluster_type: ClusterType| wanted.iter().map(move |one| one.clone().on(cluster_type));
    let everywhere: Vec<Mutation> = ClusterType::ALL.into_iter().flat_map(at).collect();
    let result = judge_with(&outputs, 7, &MapReader::default(), everywhere.clone());
    assert_eq!(result.refused, []);
    assert_eq!(
        result.writes,
        judge_with(&outputs, 7, &MapReader::default(), at(ClusterType::Configuration).collect()).writes
    );
    assert_eq!(result.writes.len(), wanted.len(), "what is wanted twice at one place is meant so");
    let steps = Plan { mutations: everywhere.clone(), ..Plan::ordered() };
    assert_eq!(judge_plan(&outputs, 7, &MapReader::default(), &steps).writes.len(), everywhere.len());
    let apart = Topology::of(["home", "home", "edge"].map(ClusterName::new));
    let result =
        judge_at(&apart, &outputs, 7, &MapReader::default(), &Plan { mutations: everywhere, ..Plan::default() });
    assert_eq!(result.writes.len(), 2 * wanted.len());
}
