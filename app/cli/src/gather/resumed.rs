//! What is there already counts as done: a directory that was carried out half is carried on by carrying it out again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use switchboard_kernel::applier::{Answer, WriteRequest, Writer};
use switchboard_kernel::plan::Act;
use switchboard_kernel::resource::ObjectKey;
use switchboard_object::equality;
use switchboard_object::quantity::Quantity;

/// What the server keeps in the metadata of every object, whatever was sent.
const KEPT_BY_THE_SERVER: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];
/// Where amounts stand, which the server writes in its own way: `1000m` is `1`.
const AMOUNTS: [&str; 4] = ["capacity", "hard", "limits", "requests"];

/// A writer that takes what is there as it should be for written.
pub struct Resumed<W>(pub W);

impl<W: Writer> Writer for Resumed<W> {
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, Answer> {
        async move {
            let answer = self.0.send(request).await;
            let Answer::Refused { code: 409, .. } = answer else { return answer };
            let mutation = &request.write.mutation;
            match (&mutation.act, mutation.subresource.as_deref()) {
                // What an Event says is told whoever told it.
                (Act::Create(_), _) if mutation.resource.kind == "Event" => answer,
                (Act::Create(_), None) | (Act::Update(_), None | Some("status")) => self.beside(request, answer).await,
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

impl<W: Writer> Resumed<W> {
    /// What there is to say when the object that is there is looked at.
    async fn beside(&self, request: &WriteRequest, refused: Answer) -> Answer {
        let Ok(Some(there)) = self.0.get(&request.write.object).await else { return refused };
        let mutation = &request.write.mutation;
        let missing = match &mutation.act {
            Act::Create(wanted) => lacking(&there, wanted),
            Act::Update(wanted) => differing(&there, wanted, mutation.subresource.as_deref()),
            _ => return refused,
        };
        match (missing, refused) {
            (None, _) => Answer::There { object: there },
            (Some(why), Answer::Refused { code, reason, retry_after, .. }) => {
                let message = format!(
                    "{why}\nhint: settle by hand what it should be, or take the request out of the directory; then carry it \
                     out again: what is done by then is passed over"
                );
                Answer::Refused { code, reason, message, retry_after }
            }
            (Some(_), other) => other,
        }
    }
}

/// Why an object is not the one that was to be made; what the server or others added to it does not count.
fn lacking(there: &Value, wanted: &Value) -> Option<String> {
    if there.pointer("/metadata/deletionTimestamp").is_some() {
        return Some("it is there already, and about to go".to_string());
    }
    let mut wanted = wanted.clone();
    bare(&mut wanted);
    fold(&mut wanted);
    missing(there, &wanted, "").map(|at| format!("it is there already, and is another at `{at}`"))
}

/// Why an object is not what it was to become: there a field too many counts as well.
fn differing(there: &Value, wanted: &Value, subresource: Option<&str>) -> Option<String> {
    let same = match subresource {
        Some(part) => equality::equal(&there[part], &wanted[part]),
        None => {
            let [mut there, mut wanted] = [there.clone(), wanted.clone()];
            [&mut there, &mut wanted].into_iter().for_each(bare);
            equality::equal(&there, &wanted)
        }
    };
    (!same).then(|| "it has changed since it was read, and is not yet what it was to become".to_string())
}

/// Without what is the server's to say.
fn bare(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        KEPT_BY_THE_SERVER.iter().for_each(|name| drop(metadata.remove(*name)));
    }
}

/// A Secret's `stringData` is kept in `data`.
fn fold(wanted: &mut Value) {
    if wanted["kind"] != "Secret" || wanted["apiVersion"] != "v1" {
        return;
    }
    let Some(texts) = wanted.as_object_mut().and_then(|fields| fields.remove("stringData")) else { return };
    for (name, text) in texts.as_object().into_iter().flatten() {
        wanted["data"][name] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
    }
}

/// The first field that is wanted and not there so.
fn missing(there: &Value, wanted: &Value, at: &str) -> Option<String> {
    match (there, wanted) {
        (_, Value::Null) => None,
        (Value::Object(_) | Value::Null, Value::Object(wanted)) => wanted
            .iter()
            .find_map(|(name, value)| missing(there.get(name).unwrap_or(&Value::Null), value, &format!("{at}.{name}"))),
        (Value::Array(there), Value::Array(wanted)) if there.len() == wanted.len() => {
            let mut both = there.iter().zip(wanted).enumerate();
            both.find_map(|(index, (there, wanted))| missing(there, wanted, &format!("{at}[{index}]")))
        }
        _ => (!equality::equal(there, wanted) && !same_amount(there, wanted, at)).then(|| at.to_string()),
    }
}

fn same_amount(there: &Value, wanted: &Value, at: &str) -> bool {
    let amount = |value: &Value| Quantity::from_value(value).ok();
    at.split('.').any(|name| AMOUNTS.contains(&name)) && amount(there).is_some() && amount(there) == amount(wanted)
}

#[cfg(test)]
mod tests;
