//! Conditions: two shapes, and two ways to write them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What is said to tenants when the cause is none of theirs. The cause itself goes to the log.
pub const UNKNOWN_ERROR: &str = "an unknown error occurred";

/// Something is wrong that the backend noticed.
pub const ERROR_OCCURRED: &str = "ErrorOccurred";

/// The longest message of a condition. Of its own shape Kubernetes takes none that is longer, so that nothing at all would be told;
/// ours has no such limit, and is bounded all the same: what Argo CD and clusters say is theirs.
const MAX_MESSAGE_CHARS: usize = 32_768;
/// How much of a message that is too long is of its end, where programs say what it was in the end.
const END_CHARS: usize = 8_192;

/// A message as long as it may be: what is too long loses its middle.
fn cut(message: &str) -> Cow<'_, str> {
    const GAP: &str = " … ";
    let chars = message.chars().count();
    if chars <= MAX_MESSAGE_CHARS {
        return Cow::Borrowed(message);
    }
    let begin: String = message.chars().take(MAX_MESSAGE_CHARS - END_CHARS - GAP.chars().count()).collect();
    let end: String = message.chars().skip(chars - END_CHARS).collect();
    Cow::Owned(format!("{begin}{GAP}{end}"))
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Truth {
    /// It does.
    True,
    /// It does not.
    False,
    /// Nobody knows; also any other word: whoever may write a status may write what Kubernetes has no such word for.
    #[serde(other)]
    Unknown,
}

/// A condition of a deployment or a sync run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about.
    pub r#type: String,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// When it was last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_probe_time: Option<String>,
    /// When it last became something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// Whether it holds.
    pub status: Truth,
    /// One word for programs.
    #[serde(default)]
    pub reason: String,
}

/// A condition as Kubernetes has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetaCondition {
    /// What it is about.
    pub r#type: String,
    /// Whether it holds.
    pub status: Truth,
    /// One word for programs.
    pub reason: String,
    /// For people.
    pub message: String,
    /// When it last became something else.
    pub last_transition_time: String,
}

/// Says that a condition holds or not. Times change only with what is said: a status that says the same is not written again.
pub fn set(conditions: &mut Vec<Condition>, r#type: &str, status: Truth, reason: &str, message: &str, now: &str) {
    let message = cut(message);
    let said = |c: &Condition| c.status == status && c.reason == reason && c.message == *message;
    let new = Condition {
        r#type: r#type.to_string(),
        message: message.to_string(),
        last_probe_time: Some(now.to_string()),
        last_transition_time: Some(now.to_string()),
        status,
        reason: reason.to_string(),
    };
    match conditions.iter_mut().find(|c| c.r#type == r#type) {
        Some(old) if said(old) => {}
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

/// Says that a condition holds no longer, if it was ever said to.
pub fn resolve(conditions: &mut Vec<Condition>, r#type: &str, now: &str) {
    if conditions.iter().any(|c| c.r#type == r#type) {
        set(conditions, r#type, Truth::False, &format!("{type}Resolved", type = r#type), "", now);
    }
}

/// The same for conditions of Kubernetes' own shape.
pub fn set_meta(
    conditions: &mut Vec<MetaCondition>,
    r#type: &str,
    status: Truth,
    reason: &str,
    message: &str,
    now: &str,
) {
    let new = MetaCondition {
        r#type: r#type.to_string(),
        status,
        reason: reason.to_string(),
        message: cut(message).into_owned(),
        last_transition_time: now.to_string(),
    };
    match conditions.iter_mut().find(|c| c.r#type == r#type) {
        Some(old) if (old.status, &old.reason, &old.message) == (status, &new.reason, &new.message) => {}
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}
