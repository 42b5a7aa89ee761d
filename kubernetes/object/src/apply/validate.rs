//! Does a value fit its type?

use std::collections::BTreeSet;

use crate::schema::Definitions;
use crate::{Value, gofmt};

use super::atom::{Form, ListAtom, MapAtom, ScalarKind, Ty};
use super::element::Element;
use super::problem::Problems;
use super::scalar::go_syntax;

/// Checks a value against its type. `duplicates` allows an item to stand twice in an associative list.
pub(crate) fn validate(value: &Value, ty: Ty<'_>, definitions: &Definitions, duplicates: bool) -> Result<(), Problems> {
    Walk { definitions, duplicates }.value(value, ty).into_result()
}

/// Why the value is not a scalar of that kind; `prefix` says which side of a comparison it is on.
pub(crate) fn scalar_problem(kind: ScalarKind, value: &Value, prefix: &str) -> Option<String> {
    let fits = match (kind, value) {
        (_, Value::Null) => true,
        (ScalarKind::Numeric, v) => v.is_number(),
        (ScalarKind::Text, v) => v.is_string(),
        (ScalarKind::Boolean, v) => v.is_boolean(),
        (ScalarKind::Untyped, v) => !v.is_object() && !v.is_array(),
    };
    if fits {
        return None;
    }
    Some(match kind {
        ScalarKind::Numeric => format!("{prefix}expected numeric (int or float), got {}", gofmt::type_name(value)),
        ScalarKind::Text => {
            format!("{prefix}expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value))
        }
        ScalarKind::Boolean => format!("{prefix}expected boolean, got &{{{}}}", gofmt::value(value)),
        ScalarKind::Untyped => format!("{prefix}expected any scalar, got &{{{}}}", gofmt::value(value)),
    })
}

struct Walk<'a> {
    definitions: &'a Definitions,
    duplicates: bool,
}

impl<'a> Walk<'a> {
    fn value(&self, value: &'a Value, ty: Ty<'a>) -> Problems {
        let atom = ty.resolve(self.definitions);
        match (atom.first(atom.forms(value)), &atom.map, &atom.list, atom.scalar) {
            (Form::Map, Some(map), _, _) => self.map(value, map),
            (Form::List, _, Some(list), _) => self.list(value, list),
            (Form::Scalar, _, _, Some(kind)) => scalar_problem(kind, value, "").map(Problems::from).unwrap_or_default(),
            _ => Problems::default(),
        }
    }

    fn map(&self, value: &'a Value, map: &MapAtom<'a>) -> Problems {
        let mut problems = Problems::default();
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return problems,
            other => return format!("expected map, got &{{{}}}", gofmt::value(other)).into(),
        };
        for (name, field) in fields {
            let below = match map.field_or_element(name) {
                Some(ty) => self.value(field, ty),
                None => {
                    problems.add_below(|| format!(".{name}"), "field not declared in schema".to_string().into());
                    break;
                }
            };
            problems.add_below(|| format!(".{name}"), below);
        }
        problems
    }

    fn list(&self, value: &'a Value, list: &ListAtom<'a>) -> Problems {
        let mut problems = Problems::default();
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return problems,
            other => return format!("expected list, got &{{{}}}", gofmt::value(other)).into(),
        };
        let mut seen: BTreeSet<Element<'a>> = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            let element = if list.atomic {
                Element::Index(i as i64)
            } else {
                match list.element_of(item) {
                    Ok(element) => element,
                    Err(why) => {
                        problems.add(format!("element {i}: {why}"));
                        return problems;
                    }
                }
            };
            if !list.atomic && !self.duplicates && !seen.insert(element.clone()) {
                problems.add(format!("duplicate entries for key {}", element.path()));
            }
            problems.add_below(|| element.path(), self.value(item, list.item));
        }
        problems
    }
}
