//! Property test: a native operator decides the same on a dump pruned to its declared inputs as on the whole dump.
//! `tests/hosting/pruning.rs` tests the same for programs.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_gather::contract::ContractRules;
use switchboard_gather::input::{InputFolder, InputFormat};
use switchboard_gather::must_gather::MustGather;
use switchboard_gather::prune::prune;
use switchboard_greeter::Greeter;
use switchboard_hosted::native::{ControllerSelection, RunOnceOptions, RunOutput, input_resources, run_once};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::view::View;
use switchboard_suite::dump;
use switchboard_suite::random::RandomNumbers;

/// Number of random dumps.
const DUMPS: u64 = 60;
const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// Reads one object by name and the Secrets of a namespace, and records them.
struct NarrowOperator;

impl Operator for NarrowOperator {
    fn name(&self) -> &str {
        "narrow"
    }

    fn declaration(&self) -> Declaration {
        let one = |resource: &Resource, namespace: &str, name: Option<&str>| AccessRule {
            namespace: Some(namespace.into()),
            name: name.map(Into::into),
            ..AccessRule::every(resource)
        };
        Declaration {
            inputs: BTreeSet::from([one(&CONFIG_MAPS, "shop", Some("greeting")), one(&SECRETS, "home", None)]),
            outputs: BTreeSet::from([one(&CONFIG_MAPS, "shop", Some("seen"))]),
            service_account: None,
            units: Units::Whole,
        }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let greeting = view.get(&CONFIG_MAPS, "shop", "greeting")?.map(|object| object.value());
        let secrets = view.list(&SECRETS, &Selection::namespace("home").with_labels("greeter.example.com/greet"))?;
        let names: Vec<&str> = secrets.iter().map(|object| &*object.key.name).collect();
        let seen = json!({"greeting": greeting.unwrap_or_default()["data"], "secrets": names}).to_string();
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen", "namespace": "shop"},
            "data": {"seen": seen}});
        let mut plan = Plan::nothing();
        plan.push(Mutation::apply(&CONFIG_MAPS, body));
        Ok(plan)
    }
}

/// Returns random ConfigMaps and Secrets, with and without the label or the words, inside and outside of the declared
/// namespaces.
fn random_objects(random: &mut RandomNumbers) -> Vec<Value> {
    let mut objects = Vec::new();
    for kind in ["ConfigMap", "Secret"] {
        for namespace in ["shop", "home", "elsewhere"] {
            for name in ["ada", "bob", "greeting", "other"] {
                if random.below(2) == 0 {
                    continue;
                }
                let mut object = json!({"apiVersion": "v1", "kind": kind,
                    "metadata": {"name": name, "namespace": namespace, "resourceVersion": "1"}});
                if random.below(2) == 0 {
                    object["metadata"]["labels"] = json!({"greeter.example.com/greet": "yes"});
                }
                if random.below(3) > 0 {
                    object["data"] = json!({"name": name, "words": format!("Hello{}", random.below(3))});
                }
                objects.push(object);
            }
        }
    }
    objects
}

fn run(operator: &dyn Operator, given: MustGather) -> RunOutput {
    let once = RunOnceOptions { now: Timestamp(0), controllers: ControllerSelection::default(), live: false };
    run_once(operator, given, &once).unwrap()
}

#[test]
fn what_is_decided_on_a_pruned_dump_is_what_is_decided_on_the_whole() {
    let operators: [&dyn Operator; 2] = [&Greeter, &NarrowOperator];
    let (mut wanted, mut dropped) = (0, 0);
    for seed in 0..DUMPS {
        let objects = random_objects(&mut RandomNumbers::new(seed));
        let folder = tempfile::tempdir().unwrap();
        dump::write(&folder.path().join("whole"), &objects).unwrap();
        for operator in operators {
            let whole = MustGather::open(&folder.path().join("whole")).unwrap();
            let inputs = input_resources(&operator.declaration()).apply_configuration_resources;
            let pruned = prune(&inputs, &whole, ContractRules::Native).unwrap();
            dropped += objects.len() - pruned.objects.len();
            let to = folder.path().join(operator.name());
            std::fs::create_dir_all(&to).unwrap();
            // Without discovery, which is the same for all dumps and slow to read.
            InputFolder::new(&to, InputFormat::Json, ContractRules::Native).write(&pruned.input(), None).unwrap();
            let pruned = run(operator, MustGather::open(&to).unwrap());
            assert_eq!(pruned, run(operator, whole), "{} on world {seed}", operator.name());
            wanted += pruned.mutations.len();
        }
    }
    assert!(wanted > 100 && dropped > 100, "the worlds are too dull: {wanted} mutations, {dropped} objects dropped");
}
