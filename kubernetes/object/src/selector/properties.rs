#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;
use crate::{Map, Value};

fn key() -> impl Strategy<Value = String> {
    "([a-z][a-z0-9]{0,3}\\.[a-z]{1,2}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,4}[A-Za-z0-9])?"
}

fn word() -> impl Strategy<Value = String> {
    "([A-Za-z0-9]([-A-Za-z0-9_.]{0,4}[A-Za-z0-9])?)?"
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let operator = prop_oneof![
        Just(SelectorOperator::In),
        Just(SelectorOperator::NotIn),
        Just(SelectorOperator::Equals),
        Just(SelectorOperator::DoubleEquals),
        Just(SelectorOperator::NotEquals),
        Just(SelectorOperator::Exists),
        Just(SelectorOperator::DoesNotExist),
        Just(SelectorOperator::GreaterThan),
        Just(SelectorOperator::LessThan),
    ];
    let values = proptest::collection::btree_set(word(), 1..4);
    (key(), operator, values, 0..1000i64).prop_map(|(key, operator, values, number)| {
        let values: Vec<String> = match operator {
            SelectorOperator::In | SelectorOperator::NotIn => values.into_iter().collect(),
            SelectorOperator::Exists | SelectorOperator::DoesNotExist => Vec::new(),
            SelectorOperator::GreaterThan | SelectorOperator::LessThan => vec![number.to_string()],
            _ => values.into_iter().take(1).collect(),
        };
        Requirement::new(key, operator, values).unwrap()
    })
}

fn labels() -> impl Strategy<Value = Map> {
    proptest::collection::btree_map("[a-d]", "[a-d]|[0-9]", 0..4)
        .prop_map(|m| m.into_iter().map(|(k, v)| (k, Value::from(v))).collect())
}

fn printed(requirements: &[Requirement]) -> String {
    requirements.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

proptest! {
    #[test]
    fn printed_selectors_parse_back(requirements in proptest::collection::vec(requirement(), 0..5)) {
        let selector = LabelSelector::parse(&printed(&requirements)).unwrap();
        let again = LabelSelector::parse(&selector.to_string()).unwrap();
        prop_assert_eq!(&again, &selector);
        prop_assert_eq!(selector.requirements().len(), requirements.len());
        for requirement in &requirements {
            prop_assert!(selector.requirements().contains(requirement));
        }
    }

    #[test]
    fn a_selector_matches_when_each_requirement_does(text in "[a-d](=|!=| in \\(|>|<)?", labels in labels(), value in "[a-d]|[0-9]") {
        let one = match text.as_str() {
            t if t.ends_with('(') => format!("{t}{value})"),
            t if t.len() == 1 => t.to_string(),
            t => format!("{t}{value}"),
        };
        if let Ok(selector) = LabelSelector::parse(&one) {
            let both = LabelSelector::parse(&format!("{one},a")).unwrap();
            let a = labels.contains_key("a");
            prop_assert_eq!(both.matches(Some(&labels)), selector.matches(Some(&labels)) && a);
        }
    }

    #[test]
    fn in_and_notin_are_opposites(key in "[a-d]", value in "[a-d]", labels in labels()) {
        let matches = |text: String| LabelSelector::parse(&text).unwrap().matches(Some(&labels));
        prop_assert_ne!(matches(format!("{key} in ({value})")), matches(format!("{key} notin ({value})")));
        prop_assert_ne!(matches(format!("{key}={value}")), matches(format!("{key}!={value}")));
        prop_assert_ne!(matches(key.clone()), matches(format!("!{key}")));
    }

    #[test]
    fn field_selectors_read_back(terms in proptest::collection::vec(("[a-z.]{1,6}", any::<bool>(), "[a-z,=\\\\ ]{0,6}"), 0..4)) {
        let text: Vec<String> = terms.iter()
            .map(|(f, equals, v)| format!("{f}{}{}", if *equals { "=" } else { "!=" }, escape_value(v))).collect();
        let selector = FieldSelector::parse(&text.join(",")).unwrap();
        prop_assert_eq!(selector.terms().len(), terms.len());
        prop_assert_eq!(&FieldSelector::parse(&selector.to_string()).unwrap(), &selector);
        for (field, equals, value) in terms {
            let term = FieldTerm { field, equals, value };
            prop_assert!(selector.terms().contains(&term));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,20}") {
        let _ = LabelSelector::parse(&text);
        let _ = FieldSelector::parse(&text);
    }
}
