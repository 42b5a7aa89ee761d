//! Patch metadata of fields, from the schema.

use super::{StrategicResult, unexpected};
use crate::quote::quote;
use crate::schema::{Definitions, Schema};

/// Node of the schema, or none for free-form data.
#[derive(Clone, Copy)]
pub(super) struct PatchSchema<'a> {
    pub definitions: &'a Definitions,
    pub schema: Option<&'a Schema>,
}

/// Field with its strategy and merge key.
pub(super) struct PatchField<'a> {
    /// Schema of the field, or of its items for a list.
    pub typed: PatchSchema<'a>,
    pub strategies: &'a [Box<str>],
    pub merge_key: &'a str,
}

impl<'a> PatchSchema<'a> {
    /// Returns a field as a map.
    pub fn field(self, name: &str) -> StrategicResult<PatchField<'a>> {
        let Some(schema) = self.schema else { return Ok(self.free_form()) };
        let resolved = self.definitions.resolve(schema);
        if let Some(field) = resolved.properties.get(name) {
            return Ok(PatchField {
                typed: PatchSchema { schema: Some(field), ..self },
                strategies: &field.patch_strategy,
                merge_key: field.patch_merge_key.as_deref().unwrap_or_default(),
            });
        }
        if resolved.properties.is_empty() && resolved.additional.is_none() {
            return Ok(self.free_form());
        }
        if resolved.properties.is_empty() {
            let words = "merging an object in json but data type is not struct, instead is: map";
            return Err(unexpected(words.to_string()));
        }
        let of = schema.reference.as_deref().unwrap_or_default();
        let of = of.rsplit('.').next().unwrap_or_default();
        Err(unexpected(format!("unable to find api field in struct {of} for the json field {}", quote(name))))
    }

    /// Returns a field as a list, with the schema of its items.
    pub fn list(self, name: &str) -> StrategicResult<PatchField<'a>> {
        let field = self.field(name)?;
        let items = field.typed.schema.and_then(|s| self.definitions.resolve(s).items.as_deref());
        Ok(PatchField { typed: PatchSchema { schema: items, ..self }, ..field })
    }

    fn free_form(self) -> PatchField<'a> {
        PatchField { typed: PatchSchema { schema: None, ..self }, strategies: &[], merge_key: "" }
    }
}
