//! Conditions in the two formats of the kinds.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Message for errors that the tenant did not cause. The cause is logged.
pub const UNKNOWN_ERROR: &str = "an unknown error occurred";

/// Condition for errors that the backend detects.
pub const ERROR_OCCURRED: &str = "ErrorOccurred";

/// Maximum length of a message. Kubernetes rejects a status with a longer message in a metav1 condition. The other
/// format has no limit but is bounded as well, because Argo CD and clusters determine the message.
const MAX_MESSAGE_CHARS: usize = 32_768;
/// Part of a truncated message that is kept from its end, where programs usually report the cause.
const END_CHARS: usize = 8_192;

/// Truncates a message in the middle if it is too long.
fn truncate_middle(message: &str) -> Cow<'_, str> {
    const GAP: &str = " … ";
    let chars = message.chars().count();
    if chars <= MAX_MESSAGE_CHARS {
        return Cow::Borrowed(message);
    }
    let begin: String = message.chars().take(MAX_MESSAGE_CHARS - END_CHARS - GAP.chars().count()).collect();
    let end: String = message.chars().skip(chars - END_CHARS).collect();
    Cow::Owned(format!("{begin}{GAP}{end}"))
}

/// Status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// It is unknown whether the condition holds. Unexpected values, which any writer of a status may produce, are read
    /// as this.
    #[serde(other)]
    Unknown,
}

/// Condition of a deployment or a sync run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentCondition {
    /// Type of the condition.
    pub r#type: String,
    /// Message for users.
    #[serde(default)]
    pub message: String,
    /// Time of the last probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_probe_time: Option<String>,
    /// Time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// Status.
    pub status: ConditionStatus,
    /// Machine-readable reason.
    #[serde(default)]
    pub reason: String,
}

/// Condition in the format of metav1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetaCondition {
    /// Type of the condition.
    pub r#type: String,
    /// Status.
    pub status: ConditionStatus,
    /// Machine-readable reason.
    pub reason: String,
    /// Message for users.
    pub message: String,
    /// Time of the last change.
    pub last_transition_time: String,
}

/// Sets a condition. Its times only change with its content, so that an unchanged status is not written again.
pub fn set(
    conditions: &mut Vec<DeploymentCondition>,
    r#type: &str,
    status: ConditionStatus,
    reason: &str,
    message: &str,
    now: &str,
) {
    let message = truncate_middle(message);
    let said = |c: &DeploymentCondition| c.status == status && c.reason == reason && c.message == *message;
    let new = DeploymentCondition {
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

/// Sets a condition to false if it exists.
pub fn resolve(conditions: &mut Vec<DeploymentCondition>, r#type: &str, now: &str) {
    if conditions.iter().any(|c| c.r#type == r#type) {
        set(conditions, r#type, ConditionStatus::False, &format!("{type}Resolved", type = r#type), "", now);
    }
}

/// Sets a condition in the format of metav1.
pub fn set_meta(
    conditions: &mut Vec<MetaCondition>,
    r#type: &str,
    status: ConditionStatus,
    reason: &str,
    message: &str,
    now: &str,
) {
    let new = MetaCondition {
        r#type: r#type.to_string(),
        status,
        reason: reason.to_string(),
        message: truncate_middle(message).into_owned(),
        last_transition_time: now.to_string(),
    };
    match conditions.iter_mut().find(|c| c.r#type == r#type) {
        Some(old) if (old.status, &old.reason, &old.message) == (status, &new.reason, &new.message) => {}
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}
