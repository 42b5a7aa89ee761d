//! Properties that hold for every configuration.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::super::element::PathElement;
use super::super::scalar::PathValue;
use super::recorded::schema;
use super::*;

static THING: LazyLock<Schema> = LazyLock::new(|| schema("ex.io/v1"));

fn thing() -> KindSchema<'static> {
    KindSchema::custom(&DEFINITIONS, Some(&THING))
}

fn by<'a>(manager: &'a str, now: &'a str) -> WriteOrigin<'a> {
    WriteOrigin { manager, api_version: "ex.io/v1", kind: "Thing", subresource: "", now }
}

fn reset() -> ResetFields {
    ResetFields::custom("ex.io/v1", "", true)
}

fn applied(live: Option<&Value>, spec: &Value, manager: &str, force: bool) -> Result<Value, Status> {
    let config =
        json!({"apiVersion": "ex.io/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "ns"}, "spec": spec});
    apply(live, &config, by(manager, "2026-01-01T00:00:00Z"), thing(), force, &reset())
}

fn word() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "<&>", "ü"]).prop_map(String::from)
}

fn number() -> impl Strategy<Value = i64> {
    select(vec![0, 1, 80, 443])
}

/// Generates items with unique keys.
fn items() -> impl Strategy<Value = Value> {
    let item = (proptest::option::of(number()), proptest::option::of(btree_set(word(), 1..3)));
    btree_map(word(), item, 1..4).prop_map(|items| {
        let items = items.into_iter().map(|(name, (v, tags))| {
            let mut item = json!({"name": name});
            v.into_iter().for_each(|v| item["v"] = json!(v));
            tags.into_iter().for_each(|tags| item["tags"] = json!(tags));
            item
        });
        Value::Array(items.collect())
    })
}

fn ports() -> impl Strategy<Value = Value> {
    btree_map((number(), proptest::option::of(select(vec!["UDP", "SCTP"]))), word(), 1..4).prop_map(|ports| {
        let ports = ports.into_iter().map(|((port, proto), note)| match proto {
            Some(proto) => json!({"port": port, "proto": proto, "note": note}),
            None => json!({"port": port, "note": note}),
        });
        Value::Array(ports.collect())
    })
}

/// Generates fields of a spec by name, each valid on its own.
fn field() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        number().prop_map(|n| ("n", json!(n))),
        word().prop_map(|s| ("s", json!(s))),
        btree_set(word(), 1..4).prop_map(|set| ("set", json!(set))),
        btree_set(number(), 1..4).prop_map(|set| ("nums", json!(set))),
        vec(word(), 1..4).prop_map(|list| ("atoms", json!(list))),
        items().prop_map(|items| ("items", items)),
        ports().prop_map(|ports| ("ports", ports)),
        btree_map(word(), word(), 1..4).prop_map(|m| ("m", json!(m))),
        btree_map(word(), word(), 1..4).prop_map(|m| ("ma", json!(m))),
        number().prop_map(|n| ("st", json!({"a": n}))),
        number().prop_map(|n| ("nest", json!({"a": {"x": n}}))),
        number().prop_map(|n| ("any", json!({"q": {"r": [n]}}))),
    ]
}

fn spec() -> impl Strategy<Value = Value> {
    vec(field(), 1..6).prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
}

/// Sorts lists, because the order of items between managers depends on which manager came first.
fn unordered(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(unordered).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), unordered(v))).collect(),
        other => other.clone(),
    }
}

fn element() -> impl Strategy<Value = String> {
    prop_oneof![
        word().prop_map(|w| PathElement::Field(Box::leak(w.into_boxed_str())).encode()),
        (word(), number()).prop_map(|(name, port)| {
            let key =
                [(Cow::Borrowed("name"), PathValue::Text(name.into())), (Cow::Borrowed("port"), PathValue::Int(port))];
            PathElement::Key(key.into()).encode()
        }),
        any::<bool>().prop_map(|b| PathElement::Value(PathValue::Bool(b)).encode()),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(|f| PathElement::Value(PathValue::Float(f + 0.0)).encode()),
        word().prop_map(|w| PathElement::Value(PathValue::Text(w.into())).encode()),
        (0i64..20).prop_map(|i| PathElement::Index(i).encode()),
    ]
}

/// Generates any `fieldsV1` in normal form.
fn fields_v1() -> impl Strategy<Value = Value> {
    let leaf = Just(json!({}));
    leaf.prop_recursive(4, 64, 4, |inner| {
        (btree_map(element(), inner, 1..4), any::<bool>()).prop_map(|(fields, own)| {
            let mut fields: crate::Map = fields.into_iter().collect();
            if own {
                fields.insert(".".into(), json!({}));
            }
            Value::Object(fields)
        })
    })
    .prop_map(|mut root| {
        root.as_object_mut().unwrap().remove(".");
        root
    })
}

proptest! {
    #[test]
    fn applying_twice_changes_nothing(one in spec(), two in spec(), again in any::<bool>()) {
        let live = applied(None, &one, "other", false).unwrap();
        let once = applied(Some(&live), &two, "me", true).unwrap();
        let twice = applied(Some(&once), &two, "me", again).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn managers_that_do_not_overlap_commute(base in spec(), one in spec(), two in spec()) {
        // Fields of `two` that `one` also sets would overlap.
        let two: Value = two.as_object().unwrap().iter().filter(|(k, _)| one.get(k).is_none())
            .map(|(k, v)| (k.clone(), v.clone())).collect();
        let live = applied(None, &base, "base", false).unwrap();
        let run = |first: (&str, &Value), second: (&str, &Value)| {
            let middle = applied(Some(&live), first.1, first.0, true).unwrap();
            applied(Some(&middle), second.1, second.0, true).unwrap()
        };
        let forth = run(("one", &one), ("two", &two));
        let back = run(("two", &two), ("one", &one));
        prop_assert_eq!(unordered(&forth["spec"]), unordered(&back["spec"]));
        prop_assert_eq!(unordered(&untimed(&forth)), unordered(&untimed(&back)));
    }

    #[test]
    fn applied_fields_can_be_extracted(base in spec(), mine in spec()) {
        let live = applied(None, &base, "base", false).unwrap();
        let object = applied(Some(&live), &mine, "me", true).unwrap();
        let extracted = extract(&object, "me", "", thing()).unwrap();
        let again = applied(Some(&object), &extracted["spec"], "me", false).unwrap();
        prop_assert_eq!(object, again);
    }

    #[test]
    fn fields_without_other_owners_are_removed_with_their_applier(mine in spec()) {
        let live = applied(None, &mine, "me", false).unwrap();
        let empty = applied(Some(&live), &json!({}), "me", false).unwrap();
        prop_assert_eq!(&empty["spec"], &json!({}));
    }

    #[test]
    fn fields_v1_survive_reading_and_writing(fields in fields_v1()) {
        let read = super::super::fields::decode(&fields).unwrap();
        prop_assert_eq!(super::super::fields::encode(&read), fields);
    }
}

fn untimed(object: &Value) -> Value {
    let mut entries = object["metadata"]["managedFields"].clone();
    for entry in entries.as_array_mut().into_iter().flatten() {
        entry.as_object_mut().unwrap().remove("time");
    }
    entries
}
