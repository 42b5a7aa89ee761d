//! What server-side apply sees in a schema: maps, lists and scalars, each separable, associative or atomic.
//!
//! The API server converts its OpenAPI into a schema of structured-merge-diff; these types give the same answers straight
//! from [`Schema`], without a second tree.

use std::borrow::Cow;

use crate::Value;
use crate::schema::{Definitions, ListType, Schema, Type};

use super::element::{Element, KeyField};
use super::scalar::Scalar;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// The type of a value, not yet resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ty<'a> {
    /// Nothing is known: objects are separable, lists atomic.
    Deduced,
    /// Nothing is known, and all of it is one leaf.
    Untyped,
    /// A string.
    Text,
    /// A node of a schema.
    Node {
        schema: &'a Schema,
        /// Unknown fields are kept here, said by this node or one above it.
        preserve: bool,
        /// The root of a custom resource, or an embedded one: it has `apiVersion`, `kind` and `metadata`.
        resource: bool,
    },
}

/// The kinds of scalar that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    Numeric,
    Text,
    Boolean,
    Untyped,
}

/// What a value of a type may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atom<'a> {
    pub(crate) map: Option<MapAtom<'a>>,
    pub(crate) scalar: Option<ScalarKind>,
    pub(crate) list: Option<ListAtom<'a>>,
}

/// An object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapAtom<'a> {
    schema: Option<&'a Schema>,
    definitions: &'a Definitions,
    preserve: bool,
    resource: bool,
    /// The type of fields that are not named; `None` when there may be none.
    pub(crate) element: Option<Ty<'a>>,
    pub(crate) atomic: bool,
}

/// A list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListAtom<'a> {
    pub(crate) atomic: bool,
    /// The key fields of an associative list; none for a set.
    keys: &'a [Box<str>],
    pub(crate) item: Ty<'a>,
    definitions: &'a Definitions,
}

/// The forms of an atom that a value fits, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Map,
    Scalar,
    List,
}

/// Which forms remain possible for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forms {
    /// The value decided.
    One(Form),
    /// The value is null or fits nothing; everything the type allows remains.
    All,
}

impl<'a> Ty<'a> {
    /// The type of the root object.
    pub(crate) fn root(schema: Option<&'a Schema>, custom: bool) -> Self {
        schema.map_or(Ty::Deduced, |schema| Ty::Node { schema, preserve: false, resource: custom })
    }

    /// What a value of this type may be.
    pub(crate) fn resolve(self, definitions: &'a Definitions) -> Atom<'a> {
        match self {
            Ty::Deduced => untyped(definitions, false),
            Ty::Untyped => untyped(definitions, true),
            Ty::Text => Atom { map: None, scalar: Some(ScalarKind::Text), list: None },
            Ty::Node { schema, preserve, resource } => match schema.reference.as_deref() {
                None => Atom::of(schema, preserve, resource, definitions),
                Some(QUANTITY) => Atom { map: None, scalar: Some(ScalarKind::Untyped), list: None },
                Some(RAW_EXTENSION) => untyped(definitions, true),
                Some(_) => {
                    let target = definitions.resolve(schema);
                    if std::ptr::eq(target, schema) {
                        return untyped(definitions, false);
                    }
                    let mut atom = Atom::of(target, false, resource, definitions);
                    // The place that refers may decide otherwise than the type it refers to.
                    if schema.map_atomic || schema.map_granular {
                        match &mut atom {
                            Atom { map: Some(map), .. } => map.atomic = schema.map_atomic,
                            Atom { list: Some(list), .. } => list.atomic = schema.map_atomic,
                            _ => {}
                        }
                    }
                    atom
                }
            },
        }
    }
}

fn untyped(definitions: &Definitions, atomic: bool) -> Atom<'_> {
    let element = if atomic { Ty::Untyped } else { Ty::Deduced };
    let map = MapAtom { schema: None, definitions, preserve: false, resource: false, element: Some(element), atomic };
    let list = ListAtom { atomic: true, keys: &[], item: Ty::Untyped, definitions };
    Atom { map: Some(map), scalar: Some(ScalarKind::Untyped), list: Some(list) }
}

impl<'a> Atom<'a> {
    fn of(schema: &'a Schema, preserve: bool, resource: bool, definitions: &'a Definitions) -> Self {
        let preserve = preserve || schema.preserve_unknown;
        let resource = resource || schema.embedded_resource;
        let map = || MapAtom::of(schema, preserve, resource, definitions);
        let list = || ListAtom::of(schema, preserve, definitions);
        let scalar = |kind| Atom { map: None, scalar: Some(kind), list: None };
        match schema.kind {
            Type::Any => Atom { map: Some(map()), scalar: Some(ScalarKind::Untyped), list: Some(list()) },
            Type::Object => Atom { map: Some(map()), scalar: None, list: None },
            Type::Array => Atom { map: None, scalar: None, list: Some(list()) },
            Type::Integer | Type::Number => scalar(ScalarKind::Numeric),
            Type::Boolean => scalar(ScalarKind::Boolean),
            Type::String => match schema.format.as_deref() {
                None | Some("" | "byte") => scalar(ScalarKind::Text),
                Some(_) => scalar(ScalarKind::Untyped),
            },
        }
    }

    /// The forms that remain possible once the value is seen.
    pub(crate) fn forms(&self, value: &Value) -> Forms {
        match value {
            Value::Object(_) if self.map.is_some() => Forms::One(Form::Map),
            Value::Array(_) if self.list.is_some() => Forms::One(Form::List),
            Value::Bool(_) | Value::Number(_) | Value::String(_) if self.scalar.is_some() => Forms::One(Form::Scalar),
            _ => self.only().map_or(Forms::All, Forms::One),
        }
    }

    fn only(&self) -> Option<Form> {
        match (self.map.is_some(), self.scalar.is_some(), self.list.is_some()) {
            (true, false, false) => Some(Form::Map),
            (false, true, false) => Some(Form::Scalar),
            (false, false, true) => Some(Form::List),
            _ => None,
        }
    }

    /// The form to treat a value with those forms as.
    pub(crate) fn first(&self, forms: Forms) -> Form {
        match forms {
            Forms::One(form) => form,
            Forms::All if self.map.is_some() => Form::Map,
            Forms::All if self.scalar.is_some() => Form::Scalar,
            Forms::All => Form::List,
        }
    }
}

impl<'a> MapAtom<'a> {
    fn of(schema: &'a Schema, preserve: bool, resource: bool, definitions: &'a Definitions) -> Self {
        let element = match &schema.additional {
            Some(schema) => Some(Ty::Node { schema, preserve, resource: false }),
            // An object without any properties is free-form.
            None if preserve || (schema.properties.is_empty() && !resource) => Some(Ty::Deduced),
            None => None,
        };
        Self { schema: Some(schema), definitions, preserve, resource, element, atomic: schema.map_atomic }
    }

    /// The type of a named field.
    pub(crate) fn field(&self, name: &str) -> Option<Ty<'a>> {
        if self.resource {
            match name {
                "apiVersion" | "kind" => return Some(Ty::Text),
                "metadata" => {
                    let meta = self.definitions.get(OBJECT_META);
                    return Some(Ty::root(meta.map(AsRef::as_ref), false));
                }
                _ => {}
            }
        }
        let schema = self.schema?.properties.get(name)?;
        Some(Ty::Node { schema, preserve: self.preserve, resource: false })
    }

    /// The type of any field; `None` when the schema does not allow it.
    pub(crate) fn field_or_element(&self, name: &str) -> Option<Ty<'a>> {
        self.field(name).or(self.element)
    }

    fn default_of(&self, name: &str) -> Option<&'a Value> {
        self.schema?.properties.get(name)?.default.as_ref()
    }

    /// No field is named, and nothing is known of any: such maps are never reconciled.
    pub(crate) fn is_free_form(&self) -> bool {
        let unnamed = !self.resource && self.schema.is_none_or(|s| s.properties.is_empty());
        unnamed
            && match self.element {
                Some(Ty::Deduced) => true,
                Some(ty @ Ty::Node { schema, .. }) if schema.reference.is_none() => {
                    ty.resolve(self.definitions).scalar == Some(ScalarKind::Untyped)
                }
                _ => false,
            }
    }
}

impl<'a> ListAtom<'a> {
    fn of(schema: &'a Schema, preserve: bool, definitions: &'a Definitions) -> Self {
        let (atomic, keys): (bool, &[Box<str>]) = match schema.list_type {
            Some(ListType::Atomic) => (true, &[]),
            Some(ListType::Set) => (false, &[]),
            Some(ListType::Map) => (false, &schema.map_keys),
            None if schema.patch_strategy.first().is_some_and(|s| &**s == "merge") => {
                (false, schema.patch_merge_key.as_slice())
            }
            None => (true, &[]),
        };
        let item = schema.items.as_ref().map_or(Ty::Untyped, |schema| Ty::Node { schema, preserve, resource: false });
        Self { atomic, keys, item, definitions }
    }

    /// The path element of an item of an associative list.
    pub(crate) fn element_of(&self, item: &'a Value) -> Result<Element<'a>, String> {
        if self.keys.is_empty() {
            return match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
                scalar => Ok(Element::Value(Scalar::from_value(scalar))),
            };
        }
        let item = match item {
            Value::Object(item) => item,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let mut key: Vec<KeyField<'a>> = Vec::with_capacity(self.keys.len());
        for name in self.keys {
            if let Some(value) = item.get(&**name) {
                key.push((Cow::Borrowed(name), Scalar::from_value(value)));
            } else if let Some(default) = self.default_of(name)? {
                key.push((Cow::Borrowed(name), Scalar::from_value(default)));
            }
        }
        if key.is_empty() {
            return Err(self.omits_all());
        }
        if key.len() > 1 {
            key.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Ok(Element::Key(key.into()))
    }

    fn default_of(&self, name: &str) -> Result<Option<&'a Value>, String> {
        match self.item.resolve(self.definitions).map {
            Some(map) => Ok(map.default_of(name)),
            None => Err(format!("couldn't find default value for {name}: associative list may not have non-map types")),
        }
    }

    fn omits_all(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|k| format!("{k:?}")).collect();
        format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            keys.join(" ")
        )
    }
}
