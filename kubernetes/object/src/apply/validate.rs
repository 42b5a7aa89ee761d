//! Validation of a value against its type.

use std::collections::BTreeSet;

use crate::schema::Definitions;
use crate::{Value, go_format};

use super::atom::{AtomForm, ListAtom, MapAtom, ScalarKind, TypeRef};
use super::element::PathElement;
use super::scalar::go_syntax;
use super::schema_mismatch::SchemaMismatches;

/// Validates a value against its type. `duplicates` allows an item to occur twice in an associative list.
pub(crate) fn validate(
    value: &Value,
    ty: TypeRef<'_>,
    definitions: &Definitions,
    duplicates: bool,
) -> Result<(), SchemaMismatches> {
    ValidateWalker { definitions, duplicates }.value(value, ty).into_result()
}

/// Explains why the value is not a scalar of that kind. `prefix` names the side of a comparison.
pub(crate) fn scalar_mismatch(kind: ScalarKind, value: &Value, prefix: &str) -> Option<String> {
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
        ScalarKind::Numeric => format!("{prefix}expected numeric (int or float), got {}", go_format::type_name(value)),
        ScalarKind::Text => {
            format!("{prefix}expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value))
        }
        ScalarKind::Boolean => format!("{prefix}expected boolean, got &{{{}}}", go_format::value(value)),
        ScalarKind::Untyped => format!("{prefix}expected any scalar, got &{{{}}}", go_format::value(value)),
    })
}

struct ValidateWalker<'a> {
    definitions: &'a Definitions,
    duplicates: bool,
}

impl<'a> ValidateWalker<'a> {
    fn value(&self, value: &'a Value, ty: TypeRef<'a>) -> SchemaMismatches {
        let atom = ty.resolve(self.definitions);
        match (atom.first(atom.forms(value)), &atom.map, &atom.list, atom.scalar) {
            (AtomForm::Map, Some(map), _, _) => self.map(value, map),
            (AtomForm::List, _, Some(list), _) => self.list(value, list),
            (AtomForm::Scalar, _, _, Some(kind)) => {
                scalar_mismatch(kind, value, "").map(SchemaMismatches::from).unwrap_or_default()
            }
            _ => SchemaMismatches::default(),
        }
    }

    fn map(&self, value: &'a Value, map: &MapAtom<'a>) -> SchemaMismatches {
        let mut problems = SchemaMismatches::default();
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return problems,
            other => return format!("expected map, got &{{{}}}", go_format::value(other)).into(),
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

    fn list(&self, value: &'a Value, list: &ListAtom<'a>) -> SchemaMismatches {
        let mut problems = SchemaMismatches::default();
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return problems,
            other => return format!("expected list, got &{{{}}}", go_format::value(other)).into(),
        };
        let mut seen: BTreeSet<PathElement<'a>> = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            let element = if list.atomic {
                PathElement::Index(i as i64)
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
