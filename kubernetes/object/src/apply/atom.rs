//! Types of server-side apply: maps, lists and scalars, each separable, associative or atomic.
//!
//! kube-apiserver converts its OpenAPI document into a schema of structured-merge-diff. The types here derive the same
//! information directly from [`Schema`], without a second tree.

use std::borrow::Cow;

use crate::Value;
use crate::quote::quote;
use crate::schema::{Definitions, ListType, Schema, SchemaType};

use super::element::{KeyField, PathElement};
use super::scalar::PathValue;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// Unresolved type of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TypeRef<'a> {
    /// Unknown type: objects are separable, lists atomic.
    Deduced,
    /// Unknown type, and the whole value is one leaf.
    Untyped,
    /// String.
    Text,
    /// Node of a schema.
    Node {
        schema: &'a Schema,
        /// Whether unknown fields are preserved, by this node or by an ancestor.
        preserve: bool,
        /// Whether the node is a custom resource's root or an embedded resource, which has `apiVersion`, `kind` and
        /// `metadata`.
        resource: bool,
    },
}

/// Scalar types of structured-merge-diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    Numeric,
    Text,
    Boolean,
    Untyped,
}

/// Resolved type: the forms a value may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atom<'a> {
    pub(crate) map: Option<MapAtom<'a>>,
    pub(crate) scalar: Option<ScalarKind>,
    pub(crate) list: Option<ListAtom<'a>>,
}

/// Type of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapAtom<'a> {
    schema: Option<&'a Schema>,
    definitions: &'a Definitions,
    preserve: bool,
    resource: bool,
    /// Type of fields without a schema of their own; `None` if such fields are not allowed.
    pub(crate) element: Option<TypeRef<'a>>,
    pub(crate) atomic: bool,
}

/// Type of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListAtom<'a> {
    pub(crate) atomic: bool,
    /// Key fields of an associative list; empty for a set.
    keys: &'a [Box<str>],
    pub(crate) item: TypeRef<'a>,
    definitions: &'a Definitions,
}

/// Forms of an atom, in the order in which a value is matched against them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomForm {
    Map,
    Scalar,
    List,
}

/// Forms of an atom that a value can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomForms {
    /// The value has this form.
    One(AtomForm),
    /// The value is null or fits no form, so every form of the type remains.
    All,
}

impl<'a> TypeRef<'a> {
    /// Returns the type of the root object.
    pub(crate) fn root(schema: Option<&'a Schema>, custom: bool) -> Self {
        schema.map_or(TypeRef::Deduced, |schema| TypeRef::Node { schema, preserve: false, resource: custom })
    }

    /// Resolves the type.
    pub(crate) fn resolve(self, definitions: &'a Definitions) -> Atom<'a> {
        match self {
            TypeRef::Deduced => untyped(definitions, false),
            TypeRef::Untyped => untyped(definitions, true),
            TypeRef::Text => Atom { map: None, scalar: Some(ScalarKind::Text), list: None },
            TypeRef::Node { schema, preserve, resource } => match schema.reference.as_deref() {
                None => Atom::of(schema, preserve, resource, definitions),
                Some(QUANTITY) => Atom { map: None, scalar: Some(ScalarKind::Untyped), list: None },
                Some(RAW_EXTENSION) => untyped(definitions, true),
                Some(_) => {
                    let target = definitions.resolve(schema);
                    if std::ptr::eq(target, schema) {
                        return untyped(definitions, false);
                    }
                    let mut atom = Atom::of(target, false, resource, definitions);
                    // The referring node may override the map type of the node it refers to.
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
    let element = if atomic { TypeRef::Untyped } else { TypeRef::Deduced };
    let map = MapAtom { schema: None, definitions, preserve: false, resource: false, element: Some(element), atomic };
    let list = ListAtom { atomic: true, keys: &[], item: TypeRef::Untyped, definitions };
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
            SchemaType::Any => Atom { map: Some(map()), scalar: Some(ScalarKind::Untyped), list: Some(list()) },
            SchemaType::Object => Atom { map: Some(map()), scalar: None, list: None },
            SchemaType::Array => Atom { map: None, scalar: None, list: Some(list()) },
            SchemaType::Integer | SchemaType::Number => scalar(ScalarKind::Numeric),
            SchemaType::Boolean => scalar(ScalarKind::Boolean),
            SchemaType::String => match schema.format.as_deref() {
                None | Some("" | "byte") => scalar(ScalarKind::Text),
                Some(_) => scalar(ScalarKind::Untyped),
            },
        }
    }

    /// Returns the forms that a value can have.
    pub(crate) fn forms(&self, value: &Value) -> AtomForms {
        match value {
            Value::Object(_) if self.map.is_some() => AtomForms::One(AtomForm::Map),
            Value::Array(_) if self.list.is_some() => AtomForms::One(AtomForm::List),
            Value::Bool(_) | Value::Number(_) | Value::String(_) if self.scalar.is_some() => {
                AtomForms::One(AtomForm::Scalar)
            }
            _ => self.only().map_or(AtomForms::All, AtomForms::One),
        }
    }

    fn only(&self) -> Option<AtomForm> {
        match (self.map.is_some(), self.scalar.is_some(), self.list.is_some()) {
            (true, false, false) => Some(AtomForm::Map),
            (false, true, false) => Some(AtomForm::Scalar),
            (false, false, true) => Some(AtomForm::List),
            _ => None,
        }
    }

    /// Returns the form to treat a value with these forms as.
    pub(crate) fn first(&self, forms: AtomForms) -> AtomForm {
        match forms {
            AtomForms::One(form) => form,
            AtomForms::All if self.map.is_some() => AtomForm::Map,
            AtomForms::All if self.scalar.is_some() => AtomForm::Scalar,
            AtomForms::All => AtomForm::List,
        }
    }
}

impl<'a> MapAtom<'a> {
    fn of(schema: &'a Schema, preserve: bool, resource: bool, definitions: &'a Definitions) -> Self {
        let element = match &schema.additional {
            Some(schema) => Some(TypeRef::Node { schema, preserve, resource: false }),
            // An object without properties is free-form.
            None if preserve || (schema.properties.is_empty() && !resource) => Some(TypeRef::Deduced),
            None => None,
        };
        Self { schema: Some(schema), definitions, preserve, resource, element, atomic: schema.map_atomic }
    }

    /// Returns the type of a named field.
    pub(crate) fn field(&self, name: &str) -> Option<TypeRef<'a>> {
        if self.resource {
            match name {
                "apiVersion" | "kind" => return Some(TypeRef::Text),
                "metadata" => {
                    let meta = self.definitions.get(OBJECT_META);
                    return Some(TypeRef::root(meta.map(AsRef::as_ref), false));
                }
                _ => {}
            }
        }
        let schema = self.schema?.properties.get(name)?;
        Some(TypeRef::Node { schema, preserve: self.preserve, resource: false })
    }

    /// Returns the type of any field; `None` if the schema does not allow the field.
    pub(crate) fn field_or_element(&self, name: &str) -> Option<TypeRef<'a>> {
        self.field(name).or(self.element)
    }

    fn default_of(&self, name: &str) -> Option<&'a Value> {
        self.schema?.properties.get(name)?.default.as_ref()
    }

    /// Whether the map has no named fields and its elements have no known type. Such maps are never reconciled.
    pub(crate) fn is_free_form(&self) -> bool {
        let unnamed = !self.resource && self.schema.is_none_or(|s| s.properties.is_empty());
        unnamed
            && match self.element {
                Some(TypeRef::Deduced) => true,
                Some(ty @ TypeRef::Node { schema, .. }) if schema.reference.is_none() => {
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
        let item = schema.items.as_ref().map_or(TypeRef::Untyped, |schema| TypeRef::Node {
            schema,
            preserve,
            resource: false,
        });
        Self { atomic, keys, item, definitions }
    }

    /// Returns the path element of an item of an associative list.
    pub(crate) fn element_of(&self, item: &'a Value) -> Result<PathElement<'a>, String> {
        if self.keys.is_empty() {
            return match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
                scalar => Ok(PathElement::Value(PathValue::from_value(scalar))),
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
                key.push((Cow::Borrowed(name), PathValue::from_value(value)));
            } else if let Some(default) = self.default_of(name)? {
                key.push((Cow::Borrowed(name), PathValue::from_value(default)));
            }
        }
        if key.is_empty() {
            return Err(self.omits_all());
        }
        if key.len() > 1 {
            key.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Ok(PathElement::Key(key.into()))
    }

    fn default_of(&self, name: &str) -> Result<Option<&'a Value>, String> {
        match self.item.resolve(self.definitions).map {
            Some(map) => Ok(map.default_of(name)),
            None => Err(format!("couldn't find default value for {name}: associative list may not have non-map types")),
        }
    }

    fn omits_all(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|k| quote(k)).collect();
        format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            keys.join(" ")
        )
    }
}
