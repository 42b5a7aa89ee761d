//! Writer that treats existing objects as written, so that a partly applied directory can be applied again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use switchboard_kernel::applier::{WriteRequest, WriteResponse, Writer};
use switchboard_kernel::plan::WriteOp;
use switchboard_kernel::resource::ObjectKey;
use switchboard_object::equality;
use switchboard_object::quantity::Quantity;

/// Metadata fields that the server sets on every object.
const KEPT_BY_THE_SERVER: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];
/// Fields that hold quantities, which the server normalizes: `1000m` becomes `1`.
const AMOUNTS: [&str; 4] = ["capacity", "hard", "limits", "requests"];

/// Writer that reports an object as written if it already has the wanted content.
pub struct IdempotentWriter<W>(pub W);

impl<W: Writer> Writer for IdempotentWriter<W> {
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, WriteResponse> {
        async move {
            let answer = self.0.send(request).await;
            let WriteResponse::Refused { code: 409, .. } = answer else { return answer };
            let mutation = &request.write.mutation;
            match (&mutation.operation, mutation.subresource.as_deref()) {
                // An Event with the same content counts no matter who created it.
                (WriteOp::Create(_), _) if mutation.resource.kind == "Event" => answer,
                (WriteOp::Create(_), None) | (WriteOp::Update(_), None | Some("status")) => {
                    self.compare_existing(request, answer).await
                }
                _ => answer,
            }
        }
        .boxed()
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>> {
        self.0.get(key)
    }

    fn wait(&self, time: std::time::Duration) -> BoxFuture<'_, ()> {
        self.0.wait(time)
    }
}

impl<W: Writer> IdempotentWriter<W> {
    /// Returns the response for a conflict after a comparison with the existing object.
    async fn compare_existing(&self, request: &WriteRequest, refused: WriteResponse) -> WriteResponse {
        let Ok(Some(there)) = self.0.get(&request.write.object).await else { return refused };
        let mutation = &request.write.mutation;
        let missing = match &mutation.operation {
            WriteOp::Create(desired) => create_difference(&there, desired),
            WriteOp::Update(desired) => update_difference(&there, desired, mutation.subresource.as_deref()),
            _ => return refused,
        };
        match (missing, refused) {
            (None, _) => WriteResponse::AlreadyPresent { object: there },
            (Some(why), WriteResponse::Refused { code, reason, retry_after, .. }) => {
                let message = format!(
                    "{why}\nhint: fix the object by hand, or remove the request from the directory; then apply the \
                     directory again: finished mutations are skipped"
                );
                WriteResponse::Refused { code, reason, message, retry_after }
            }
            (Some(_), other) => other,
        }
    }
}

/// Returns how an existing object differs from the one to create. Fields added by the server or other writers do not
/// count.
fn create_difference(there: &Value, desired: &Value) -> Option<String> {
    if there.pointer("/metadata/deletionTimestamp").is_some() {
        return Some("it exists already and is being deleted".to_string());
    }
    let mut desired = desired.clone();
    remove_server_fields(&mut desired);
    fold_string_data(&mut desired);
    first_difference(there, &desired, "").map(|at| format!("it exists already and differs at `{at}`"))
}

/// Returns how an existing object differs from the updated one. An additional field counts as a difference.
fn update_difference(there: &Value, desired: &Value, subresource: Option<&str>) -> Option<String> {
    let same = match subresource {
        Some(part) => equality::equal(&there[part], &desired[part]),
        None => {
            let [mut there, mut desired] = [there.clone(), desired.clone()];
            [&mut there, &mut desired].into_iter().for_each(remove_server_fields);
            equality::equal(&there, &desired)
        }
    };
    (!same).then(|| "it changed since it was read, and differs from the update".to_string())
}

/// Removes the status and the metadata that the server sets.
fn remove_server_fields(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        KEPT_BY_THE_SERVER.iter().for_each(|name| drop(metadata.remove(*name)));
    }
}

/// Moves the `stringData` of a Secret to `data`, where the server stores it.
fn fold_string_data(desired: &mut Value) {
    if desired["kind"] != "Secret" || desired["apiVersion"] != "v1" {
        return;
    }
    let Some(texts) = desired.as_object_mut().and_then(|fields| fields.remove("stringData")) else { return };
    for (name, text) in texts.as_object().into_iter().flatten() {
        desired["data"][name] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
    }
}

/// Returns the path of the first wanted field that is missing or different.
fn first_difference(there: &Value, desired: &Value, at: &str) -> Option<String> {
    match (there, desired) {
        (_, Value::Null) => None,
        (Value::Object(_) | Value::Null, Value::Object(desired)) => desired.iter().find_map(|(name, value)| {
            first_difference(there.get(name).unwrap_or(&Value::Null), value, &format!("{at}.{name}"))
        }),
        (Value::Array(there), Value::Array(desired)) if there.len() == desired.len() => {
            let mut both = there.iter().zip(desired).enumerate();
            both.find_map(|(index, (there, desired))| first_difference(there, desired, &format!("{at}[{index}]")))
        }
        _ => (!equality::equal(there, desired) && !is_same_quantity(there, desired, at)).then(|| at.to_string()),
    }
}

fn is_same_quantity(there: &Value, desired: &Value, at: &str) -> bool {
    let amount = |value: &Value| Quantity::from_value(value).ok();
    at.split('.').any(|name| AMOUNTS.contains(&name)) && amount(there).is_some() && amount(there) == amount(desired)
}

#[cfg(test)]
mod tests;
