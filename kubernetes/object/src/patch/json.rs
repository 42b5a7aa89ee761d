//! JSON patch (RFC 6902), with the leniencies of kube-apiserver's Go library: `replace` creates fields, negative
//! indices count from the end, `test` of an absent field succeeds for null.

mod pointer;

use super::PatchError;
use crate::{Value, go_format};
use pointer::{PointerTarget, find};

/// Largest number of operations in one patch.
pub const MAX_OPERATIONS: usize = 10_000;
/// Number of encoded bytes that the `copy` operations of one patch may add.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

const MISSING: &str = "missing value";

/// Applies the operations of `patch` in order.
///
/// # Errors
/// When the patch is malformed, or an operation does not fit the object.
pub fn apply(mut target: Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = read(patch)?;
    let mut copied = 0;
    for operation in operations {
        operation.apply(&mut target, &mut copied).map_err(PatchError::Unprocessable)?;
    }
    Ok(target)
}

/// Returns the errors of strict field validation about a patch: unknown fields of operations.
pub fn unknown_fields(patch: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (index, operation) in patch.as_array().into_iter().flatten().enumerate() {
        let fields = operation.as_object().into_iter().flat_map(|o| o.keys());
        for field in fields.filter(|f| !matches!(f.as_str(), "op" | "path" | "from" | "value")) {
            found.push(format!("unknown field \"[{index}].{field}\""));
        }
    }
    found
}

struct JsonPatchOperation<'a> {
    op: Option<&'a str>,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: Option<&'a Value>,
}

fn read(patch: &Value) -> Result<Vec<JsonPatchOperation<'_>>, PatchError> {
    let refuse = |value: &Value, into: &str| {
        let found = go_format::json_type(value);
        PatchError::BadRequest(format!("error decoding patch: json: cannot unmarshal {found} into Go {into}"))
    };
    let list = match patch {
        Value::Array(list) => list.as_slice(),
        Value::Null => &[],
        other => return Err(refuse(other, "value of type []handlers.jsonPatchOp")),
    };
    if list.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            list.len()
        )));
    }
    let mut operations = Vec::with_capacity(list.len());
    for item in list {
        if !(item.is_object() || item.is_null()) {
            return Err(refuse(item, "value of type handlers.jsonPatchOp"));
        }
        let text = |field: &str| match item.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(refuse(other, &format!("struct field jsonPatchOp.{field} of type string"))),
        };
        operations.push(JsonPatchOperation {
            op: text("op")?,
            path: text("path")?,
            from: text("from")?,
            value: item.get("value"),
        });
    }
    Ok(operations)
}

type OperationResult = Result<(), String>;

impl JsonPatchOperation<'_> {
    fn apply(&self, target: &mut Value, copied: &mut usize) -> OperationResult {
        match self.op.unwrap_or("unknown") {
            "add" => self.add(target),
            "remove" => self.remove(target),
            "replace" => self.replace(target),
            "move" => self.relocate(target),
            "test" => self.test(target),
            "copy" => self.copy(target, copied),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn path(&self, act: &str) -> Result<&str, String> {
        self.path.ok_or_else(|| match act {
            "add" | "remove" | "copy" => format!("{act} operation failed to decode path: {MISSING}"),
            _ => format!("{act} operation failed to decode path: operation missing path field: {MISSING}"),
        })
    }

    fn from(&self, act: &str) -> Result<&str, String> {
        let words = || format!("{act} operation failed to decode from: operation, missing from field: {MISSING}");
        self.from.ok_or_else(words)
    }

    fn value(&self) -> Value {
        self.value.cloned().unwrap_or(Value::Null)
    }

    fn add(&self, target: &mut Value) -> OperationResult {
        let path = self.path("add")?;
        let missing = || format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}");
        let place = find(target, path).ok_or_else(missing)?;
        place.add(self.value()).map_err(|e| format!("error in add for path: '{path}': {e}"))
    }

    fn remove(&self, target: &mut Value) -> OperationResult {
        let path = self.path("remove")?;
        let missing = || format!("remove operation does not apply: doc is missing path: \"{path}\": {MISSING}");
        let place = find(target, path).ok_or_else(missing)?;
        place.remove().map(drop).map_err(|e| format!("error in remove for path: '{path}': {e}"))
    }

    fn replace(&self, target: &mut Value) -> OperationResult {
        let path = self.path("replace")?;
        if path.is_empty() {
            return match self.value() {
                value @ (Value::Object(_) | Value::Array(_)) => {
                    *target = value;
                    Ok(())
                }
                _ => Err("replace operation value must be object or array: %!w(<nil>)".to_string()),
            };
        }
        let missing =
            |what: &str| format!("replace operation does not apply: doc is missing {what}: {path}: {MISSING}");
        let place = find(target, path).ok_or_else(|| missing("path"))?;
        place.get().map_err(|_| missing("key"))?;
        place.set(self.value()).map_err(|e| format!("error in remove for path: '{path}': {e}"))
    }

    fn relocate(&self, target: &mut Value) -> OperationResult {
        let from = self.from("move")?;
        let missing = |what: &str, at: &str| {
            format!("move operation does not apply: doc is missing {what} path: {at}: {MISSING}")
        };
        let place = find(target, from).ok_or_else(|| missing("from", from))?;
        let key = place.key().to_string();
        let moved = place.get().map(drop).and_then(|()| place.remove());
        let moved = moved.map_err(|e| format!("error in move for path: '{key}': {e}"))?;
        let path = self.path("move")?;
        let place = find(target, path).ok_or_else(|| missing("destination", path))?;
        place.add(moved).map_err(|e| format!("error in move for path: '{path}': {e}"))
    }

    fn copy(&self, target: &mut Value, copied: &mut usize) -> OperationResult {
        let from = self.from("copy")?;
        let missing = |what: &str, at: &str| {
            format!("copy operation does not apply: doc is missing {what} path: {at}: {MISSING}")
        };
        let place = find(target, from).ok_or_else(|| missing("from", from))?;
        let value = place.get().map_err(|e| format!("error in copy for from: '{from}': {e}"))?;
        let value = value.cloned().unwrap_or(Value::Null);
        *copied += value.to_string().len();
        if *copied > MAX_COPIED_BYTES {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED_BYTES}"
            ));
        }
        let path = self.path("copy")?;
        let place = find(target, path).ok_or_else(|| missing("destination", path))?;
        place.add(value).map_err(|e| format!("error while adding value during copy: {e}"))
    }

    fn test(&self, target: &mut Value) -> OperationResult {
        let path = self.path("test")?;
        let failed = || Err(format!("testing value {path} failed: test failed"));
        let expected = self.value.unwrap_or(&Value::Null);
        if path.is_empty() {
            return if target == expected { Ok(()) } else { failed() };
        }
        let missing = || format!("test operation does not apply: is missing path: {path}: {MISSING}");
        let place: PointerTarget<'_> = find(target, path).ok_or_else(missing)?;
        let found = place.get().map_err(|e| format!("error in test for path: '{path}': {e}"))?;
        if found.unwrap_or(&Value::Null) == expected { Ok(()) } else { failed() }
    }
}

#[cfg(test)]
mod tests;
