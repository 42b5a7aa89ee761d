//! Several writes of one run to one object become one, where that one leaves the same object behind.
//!
//! Two applies are the exception, on purpose: one after the other, the second would take back what only the first wants;
//! as one, both are wanted. The parts of an operator that want fields of one object need not know of each other.
//!
//! A deletion swallows nothing: a finalizer may keep the object, and then what was written before it shows. Only what was
//! read as absent, and is made and deleted within the run, need not be made.

use serde_json::{Map, Value, json};
use switchboard_object::patch::{json as json_patch, merge};

use super::order::Group;
use crate::decision::Write;
use crate::plan::{Act, Expect, PatchForm};
use crate::resource::ObjectKey;

/// Groups writes by object and subresource, in the order of each group's first, and squashes each group.
pub(super) fn squash(writes: Vec<Write>, absent: &dyn Fn(&ObjectKey) -> bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for write in writes {
        let same = |group: &&mut Group| {
            group[0].object == write.object && group[0].mutation.subresource == write.mutation.subresource
        };
        match groups.iter_mut().find(same) {
            Some(group) => add(group, write, absent),
            None => groups.push(vec![write]),
        }
    }
    groups
}

fn add(group: &mut Group, second: Write, absent: &dyn Fn(&ObjectKey) -> bool) {
    let alone = group.len() == 1;
    if let Some(first) = group.last_mut()
        && let Some((act, expect)) = both(first, &second, alone && absent(&second.object))
    {
        first.mutation.act = act;
        first.mutation.expect = expect;
        first.mutation.field_manager = second.mutation.field_manager;
    } else {
        group.push(second);
    }
}

/// What does the same as the first and then the second; nothing when no single write does.
fn both(first: &Write, second: &Write, absent: bool) -> Option<(Act, Expect)> {
    let (a, b) = (&first.mutation, &second.mutation);
    if let (Act::Create(body), Act::Delete { .. }) = (&a.act, &b.act) {
        let kept = body.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|f| !f.is_empty());
        // The deletion of what is not there is nothing to send.
        return (absent && !kept).then(|| (b.act.clone(), Expect::Seen));
    }
    let made = matches!(a.act, Act::Create(_));
    let alike = a.field_manager == b.field_manager && a.field_validation == b.field_validation && a.user == b.user;
    if !alike || !(a.expect == b.expect || made && !exact(&b.expect)) {
        return None;
    }
    let act = match (&a.act, &b.act) {
        (Act::Create(body), Act::Patch { form, body: patch }) => Act::Create(patched(body, *form, patch)?),
        (Act::Create(_), Act::Update(body)) => Act::Create(unversioned(body)),
        (Act::Update(_), Act::Update(body)) => Act::Update(body.clone()),
        (Act::Update(body), Act::Patch { form, body: patch }) => Act::Update(patched(body, *form, patch)?),
        (Act::Apply { body: one, force: f }, Act::Apply { body: two, force: g }) if f == g => {
            Act::Apply { body: overlaid(one.clone(), two), force: *f }
        }
        (Act::Patch { form: f, body: one }, Act::Patch { form: g, body: two }) if f == g => {
            Act::Patch { form: *f, body: composed(*f, one, two)? }
        }
        _ => return None,
    };
    Some((act, a.expect.clone()))
}

fn exact(expect: &Expect) -> bool {
    matches!(expect, Expect::Exactly { .. })
}

fn patched(body: &Value, form: PatchForm, patch: &Value) -> Option<Value> {
    match form {
        PatchForm::Json => json_patch::apply(body.clone(), patch).ok(),
        PatchForm::Merge => merge::apply(body.clone(), patch.clone()).ok(),
        // Its lists merge by keys that only the kind's schema knows.
        PatchForm::Strategic => None,
    }
}

fn unversioned(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        ["resourceVersion", "uid"].iter().for_each(|field| drop(metadata.remove(*field)));
    }
    body
}

/// Two sets of wanted fields as one: both are wanted, and where they differ the second is.
fn overlaid(one: Value, two: &Value) -> Value {
    match (one, two) {
        (Value::Object(mut fields), Value::Object(over)) => {
            for (key, value) in over {
                let under = fields.remove(key).unwrap_or(Value::Null);
                fields.insert(key.clone(), overlaid(under, value));
            }
            Value::Object(fields)
        }
        _ => two.clone(),
    }
}

fn composed(form: PatchForm, one: &Value, two: &Value) -> Option<Value> {
    match form {
        PatchForm::Json => {
            let (one, two) = (one.as_array()?, two.as_array()?);
            (!follows(one, two)).then(|| json!(one.iter().chain(two).collect::<Vec<_>>()))
        }
        PatchForm::Merge => merged(one.as_object()?, two.as_object()?).map(Value::Object),
        PatchForm::Strategic => None,
    }
}

/// One merge patch for two. There is none when the second goes into what the first replaced: a merge patch cannot say
/// "this map instead of whatever is there".
fn merged(one: &Map<String, Value>, two: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut both = one.clone();
    for (key, value) in two {
        let joined = match (one.get(key), value) {
            (Some(Value::Object(under)), Value::Object(over)) => Value::Object(merged(under, over)?),
            (Some(_), Value::Object(_)) => return None,
            _ => value.clone(),
        };
        both.insert(key.clone(), joined);
    }
    Some(both)
}

/// Whether the second JSON patch goes into what the first has set: the server may put defaults there between the two.
fn follows(one: &[Value], two: &[Value]) -> bool {
    let paths = |steps: &[Value]| -> Vec<String> {
        let path = |step: &Value, key: &str| step.get(key).and_then(Value::as_str).map(str::to_string);
        steps.iter().flat_map(|step| [path(step, "path"), path(step, "from")]).flatten().collect()
    };
    let set = paths(one);
    paths(two).iter().any(|path| {
        set.iter()
            .any(|set| path.strip_prefix(set.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    })
}
