//! Execution of queries over a bundle with the types of its `graphql` part, and the server's rules for references,
//! nulls and scalars.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::parse::{FieldSelection, QueryDocument};

/// Null in a non-null field, which propagates to the closest nullable object.
struct NullViolation;

struct QueryExecution<'a> {
    data: &'a Map<String, Value>,
    types: BTreeMap<&'a str, &'a Value>,
    document: &'a QueryDocument,
    errors: Vec<Value>,
    schemas: Vec<String>,
    path: Vec<Value>,
}

/// Executes a query and returns the response, or an error if it does not match the types.
pub fn execute(bundle: &Value, document: &QueryDocument) -> Result<Value, String> {
    let confs = bundle["graphql"]["confs"].as_array().ok_or("the bundle has no types")?;
    let types = confs.iter().filter_map(|conf| Some((conf["name"].as_str()?, conf))).collect();
    let data = bundle["data"].as_object().ok_or("the bundle has no data")?;
    let mut run = QueryExecution { data, types, document, errors: Vec::new(), schemas: Vec::new(), path: Vec::new() };
    run.fits("Query", &document.query)?;
    let data = run.object("Query", &Value::Null, &document.query).unwrap_or(Value::Null);
    let mut answer = json!({"data": without_empty(data), "extensions": {"schemas": run.schemas}});
    if !run.errors.is_empty() {
        answer["errors"] = Value::Array(run.errors);
    }
    Ok(answer)
}

impl<'a> QueryExecution<'a> {
    fn field(&self, of: &str, name: &str) -> Option<&'a Value> {
        self.types.get(of)?["fields"].as_array()?.iter().find(|field| field["name"] == name)
    }

    /// Checks that every selected field exists.
    fn fits(&self, of: &str, selections: &[FieldSelection]) -> Result<(), String> {
        for selection in selections {
            match selection {
                FieldSelection::Spread(name) => {
                    let (of, inner) =
                        self.document.fragments.get(name).ok_or(format!("Unknown fragment \"{name}\"."))?;
                    self.fits(of, inner)?;
                }
                FieldSelection::On(of, inner) => {
                    self.types.get(of.as_str()).ok_or(format!("Unknown type \"{of}\"."))?;
                    self.fits(of, inner)?;
                }
                FieldSelection::Field { name, selections, .. } => {
                    let field = self.field(of, name);
                    let field = field.ok_or(format!("Cannot query field \"{name}\" on type \"{of}\"."))?;
                    let inner = field["type"].as_str().unwrap_or_default();
                    if self.types.contains_key(inner) == selections.is_empty() {
                        return Err(format!("Field \"{name}\" must, or must not, have a selection of subfields."));
                    }
                    self.fits(inner, selections)?;
                }
            }
        }
        Ok(())
    }

    fn object(&mut self, of: &str, root: &Value, selections: &[FieldSelection]) -> Result<Value, NullViolation> {
        let mut answer = Map::new();
        self.select(of, root, selections, &mut answer)?;
        Ok(Value::Object(answer))
    }

    fn select(
        &mut self,
        of: &str,
        root: &Value,
        selections: &[FieldSelection],
        into: &mut Map<String, Value>,
    ) -> Result<(), NullViolation> {
        for selection in selections {
            match selection {
                FieldSelection::Spread(name) => {
                    let document = self.document;
                    if let Some((_, inner)) = document.fragments.get(name) {
                        self.select(of, root, inner, into)?;
                    }
                }
                FieldSelection::On(only, inner) if only == of => self.select(of, root, inner, into)?,
                FieldSelection::On(..) => {}
                FieldSelection::Field { answer, name, path, selections } => {
                    let Some(field) = self.field(of, name) else { continue };
                    self.path.push(json!(answer));
                    let mut found = self.found(field, root, name);
                    if let (Some(path), Value::Array(files)) = (path, &mut found) {
                        files.retain(|file| file["path"] == path.as_str());
                    }
                    let value = self.value(field, found, name, selections);
                    self.path.pop();
                    into.insert(answer.clone(), value?);
                }
            }
        }
        Ok(())
    }

    fn value(
        &mut self,
        field: &Value,
        found: Value,
        name: &str,
        inner: &[FieldSelection],
    ) -> Result<Value, NullViolation> {
        let completed = match field["isList"].as_bool() {
            Some(true) if !found.is_null() => self.list(field, &found, inner),
            _ => self.one(field, &found, inner),
        };
        match completed {
            Ok(Value::Null) | Err(NullViolation) if field["isRequired"] == true => {
                if completed.is_ok() {
                    self.fail(format!("Cannot return null for non-nullable field {name}."));
                }
                Err(NullViolation)
            }
            Ok(value) => Ok(value),
            Err(NullViolation) => Ok(Value::Null),
        }
    }

    fn list(&mut self, field: &Value, found: &Value, inner: &[FieldSelection]) -> Result<Value, NullViolation> {
        let Some(list) = found.as_array() else {
            self.fail("Expected Iterable".to_string());
            return Err(NullViolation);
        };
        let mut answer = Vec::new();
        for (index, one) in list.iter().enumerate() {
            self.path.push(json!(index));
            let value = self.one(field, one, inner);
            if matches!(value, Ok(Value::Null)) {
                self.fail("Cannot return null for non-nullable field of a list.".to_string());
            }
            self.path.pop();
            match value {
                Ok(Value::Null) | Err(NullViolation) => return Err(NullViolation),
                Ok(value) => answer.push(value),
            }
        }
        Ok(Value::Array(answer))
    }

    fn one(&mut self, field: &Value, value: &Value, inner: &[FieldSelection]) -> Result<Value, NullViolation> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let name = field["type"].as_str().unwrap_or_default();
        let Some(conf) = self.types.get(name).copied() else { return self.scalar(name, value) };
        if conf["isInterface"] != true {
            return self.object(name, value, inner);
        }
        let resolve = &conf["interfaceResolve"];
        let by = value.get(resolve["field"].as_str().unwrap_or_default()).and_then(Value::as_str);
        match by.and_then(|by| resolve["fieldMap"][by].as_str()) {
            Some(of) => self.object(of, value, inner),
            None => {
                self.fail(format!("Abstract type \"{name}\" must resolve to an Object type at runtime."));
                Err(NullViolation)
            }
        }
    }

    fn scalar(&mut self, name: &str, value: &Value) -> Result<Value, NullViolation> {
        let said = match (name, value) {
            ("json", value) => Some(Value::from(value.to_string())),
            ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => Some(value.clone()),
            ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::from(value.to_string())),
            ("boolean", Value::Number(number)) => Some(Value::from(number.as_f64() != Some(0.0))),
            ("int", Value::Bool(yes)) => Some(Value::from(i32::from(*yes))),
            ("int", Value::Number(number)) => number.as_i64().filter(|n| i32::try_from(*n).is_ok()).map(Value::from),
            ("int", Value::String(text)) => text.parse::<i32>().ok().map(Value::from),
            _ => None,
        };
        said.ok_or_else(|| {
            self.fail(format!("{name} cannot represent value: {value}"));
            NullViolation
        })
    }

    /// Returns the value of a field with its references resolved, for an object or a list of references.
    fn found(&mut self, field: &Value, root: &Value, name: &str) -> Value {
        if let Some(schema) = field["datafileSchema"].as_str() {
            let files = self.data.iter().filter(|(_, file)| file["$schema"] == schema);
            return Value::Array(files.map(|(path, file)| with_path(path, file)).collect());
        }
        if let Some(schema) = root["$schema"].as_str().filter(|schema| !self.schemas.iter().any(|s| s == schema)) {
            self.schemas.push(schema.to_string());
        }
        match root.get(name) {
            None => Value::Null,
            Some(Value::Array(list)) if !list.is_empty() && list.iter().all(|one| reference(one).is_some()) => {
                Value::Array(list.iter().map(|one| self.resolved(one)).collect())
            }
            Some(value) => self.resolved(value),
        }
    }

    fn resolved(&self, value: &Value) -> Value {
        match reference(value) {
            Some(path) => self.data.get_key_value(path).map_or(Value::Null, |(path, file)| with_path(path, file)),
            None => value.clone(),
        }
    }

    fn fail(&mut self, message: String) {
        self.errors.push(json!({"message": message, "path": self.path}));
    }
}

fn reference(value: &Value) -> Option<&str> {
    value.as_object().filter(|map| map.len() == 1)?.get("$ref")?.as_str()
}

fn with_path(path: &str, file: &Value) -> Value {
    let mut file = file.clone();
    file["path"] = json!(path);
    file
}

/// The server removes empty objects from lists.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Array(list) => {
            let some = list.into_iter().filter(|one| !one.as_object().is_some_and(Map::is_empty));
            Value::Array(some.map(without_empty).collect())
        }
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| (key, without_empty(value))).collect()),
        other => other,
    }
}
