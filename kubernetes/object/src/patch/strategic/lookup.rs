//! What the schema says about a field's patching.

use super::{Outcome, unexpected};
use crate::schema::{Definitions, Schema};

/// A node of the schema, or none where anything goes.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a> {
    pub definitions: &'a Definitions,
    pub schema: Option<&'a Schema>,
}

/// A field with its strategy and merge key.
pub(super) struct Field<'a> {
    /// The field's own schema, or its items' for a list.
    pub typed: Typed<'a>,
    pub strategies: &'a [Box<str>],
    pub merge_key: &'a str,
}

impl<'a> Typed<'a> {
    /// The field of that name, as a map.
    pub fn field(self, name: &str) -> Outcome<Field<'a>> {
        let Some(schema) = self.schema else { return Ok(self.anything()) };
        let resolved = self.definitions.resolve(schema);
        if let Some(field) = resolved.properties.get(name) {
            return Ok(Field {
                typed: Typed { schema: Some(field), ..self },
                strategies: &field.patch_strategy,
                merge_key: field.patch_merge_key.as_deref().unwrap_or_default(),
            });
        }
        if resolved.properties.is_empty() && resolved.additional.is_none() {
            return Ok(self.anything());
        }
        if resolved.properties.is_empty() {
            let words = "merging an object in json but data type is not struct, instead is: map";
            return Err(unexpected(words.to_string()));
        }
        let of = schema.reference.as_deref().unwrap_or_default();
        let of = of.rsplit('.').next().unwrap_or_default();
        Err(unexpected(format!("unable to find api field in struct {of} for the json field {name:?}")))
    }

    /// The field of that name, as a list: its schema is the items'.
    pub fn list(self, name: &str) -> Outcome<Field<'a>> {
        let field = self.field(name)?;
        let items = field.typed.schema.and_then(|s| self.definitions.resolve(s).items.as_deref());
        Ok(Field { typed: Typed { schema: items, ..self }, ..field })
    }

    fn anything(self) -> Field<'a> {
        Field { typed: Typed { schema: None, ..self }, strategies: &[], merge_key: "" }
    }
}
