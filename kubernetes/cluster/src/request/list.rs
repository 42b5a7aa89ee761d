//! Options of list, watch and deletecollection.

use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use super::query::UrlQuery;

/// Meaning of the requested revision of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionMatch {
    /// Exactly that revision.
    Exact,
    /// That revision or a later one.
    NotOlderThan,
}

/// `ListOptions` of the query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOptions {
    /// `watch`.
    pub watch: bool,
    /// Unparsed `labelSelector`.
    pub label_selector: String,
    /// Unparsed `fieldSelector`.
    pub field_selector: String,
    /// `resourceVersion`; empty if not set.
    pub resource_version: String,
    /// `resourceVersionMatch`.
    pub matching: Option<RevisionMatch>,
    /// `limit`; 0 means all.
    pub limit: usize,
    /// `continue`.
    pub token: String,
    /// `sendInitialEvents`.
    pub send_initial_events: Option<bool>,
    /// `allowWatchBookmarks`.
    pub bookmarks: bool,
    /// `timeoutSeconds`.
    pub timeout_seconds: Option<u64>,
}

impl ListOptions {
    /// Parses and validates the options.
    pub fn parse(query: &UrlQuery) -> Result<Self, Status> {
        let text = |name| query.get(name).unwrap_or_default().to_string();
        let matching = text("resourceVersionMatch");
        let mut options = Self {
            watch: query.flag("watch") == Some(true),
            label_selector: text("labelSelector"),
            field_selector: text("fieldSelector"),
            resource_version: text("resourceVersion"),
            matching: parse_match(&matching),
            limit: query.number("limit")?.unwrap_or(0).max(0) as usize,
            token: text("continue"),
            send_initial_events: query.flag("sendInitialEvents"),
            bookmarks: query.flag("allowWatchBookmarks") == Some(true),
            timeout_seconds: query.number("timeoutSeconds")?.map(|n| n.max(0) as u64),
        };
        if matching.is_empty() {
            options.default_initial_events();
        }
        let errors = if options.watch { options.check_watch(&matching) } else { options.check_list(&matching) };
        if errors.is_empty() { Ok(options) } else { Err(invalid_options("ListOptions", &errors)) }
    }

    /// Sets `sendInitialEvents` for a watch without a revision or with revision 0, as older clients expect.
    fn default_initial_events(&mut self) {
        let legacy = self.resource_version.is_empty() || self.resource_version == "0";
        if self.watch && self.send_initial_events.is_none() && legacy {
            self.send_initial_events = Some(true);
            self.matching = Some(RevisionMatch::NotOlderThan);
        }
    }

    fn check_list(&self, matching: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let forbidden = |why: &str| FieldError::forbidden("resourceVersionMatch", why);
        if !matching.is_empty() {
            if self.resource_version.is_empty() {
                errors.push(forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"));
            }
            if !self.token.is_empty() {
                errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
            if self.matching.is_none() {
                let supported = ["Exact", "NotOlderThan", ""];
                errors.push(FieldError::not_supported("resourceVersionMatch", matching, &supported));
            }
            if self.matching == Some(RevisionMatch::Exact) && self.resource_version == "0" {
                errors.push(forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
            }
        }
        if self.send_initial_events.is_some() {
            errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        errors
    }

    fn check_watch(&self, matching: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let forbidden = |why: &str| FieldError::forbidden("resourceVersionMatch", why);
        if self.send_initial_events.is_some() && self.matching != Some(RevisionMatch::NotOlderThan) {
            errors.push(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        if !matching.is_empty() {
            if self.send_initial_events.is_none() {
                errors.push(forbidden(
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            if self.matching != Some(RevisionMatch::NotOlderThan) {
                errors.push(FieldError::not_supported("resourceVersionMatch", matching, &["NotOlderThan"]));
            }
            if !self.token.is_empty() {
                errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        errors
    }
}

fn parse_match(text: &str) -> Option<RevisionMatch> {
    match text {
        "Exact" => Some(RevisionMatch::Exact),
        "NotOlderThan" => Some(RevisionMatch::NotOlderThan),
        _ => None,
    }
}

/// Returns the 422 about the options of a request: `ListOptions.meta.k8s.io "" is invalid: ...`.
pub fn invalid_options(kind: &str, errors: &[FieldError]) -> Status {
    Status::invalid(&GroupVersionKind::new("meta.k8s.io", "v1", kind), "", errors)
}
