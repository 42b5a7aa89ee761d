//! Lists: pages at one revision, selectors, and the revision semantics.

mod chunks;

use bytes::Bytes;
use serde_json::json;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use self::chunks::ListChunks;
use super::ApiCall;
use super::continue_token::ContinueToken;
use super::list_selector::ListSelector;
use super::transform::ResponseTransformer;
use crate::request::list::{ListOptions, RevisionMatch};
use crate::request::media::ResponseFormat;
use crate::response::ApiResponse;
use crate::store::{ReadError, StoreKey, StoredObject};
use crate::wire;

/// Smallest read for a page with selectors.
const MIN_READ: usize = 512;

/// Responds with the list.
pub(super) fn list(call: &ApiCall) -> Result<ApiResponse, Status> {
    ResponseFormat::negotiate(&call.headers)?;
    let options = ListOptions::parse(&call.query)?;
    let selection = ListSelector::parse(call, &options)?;
    ListResult::read(call, &options, &selection)?.answer(call)
}

/// Result of a list.
pub(super) struct ListResult {
    /// Store keys.
    pub keys: Vec<StoreKey>,
    /// Encoded objects as stored.
    pub items: Vec<Bytes>,
    /// Revision of the whole list.
    pub revision: u64,
    /// Continue token.
    pub token: Option<String>,
    /// Number of objects after this page, if known.
    pub remaining: Option<u64>,
}

impl ListResult {
    /// Reads the objects of a list.
    pub fn read(call: &ApiCall, options: &ListOptions, selection: &ListSelector) -> Result<Self, Status> {
        let start = ListStart::resolve(call, options)?;
        let prefix = call.prefix();
        let mut after = start.after.as_ref().map(|a| format!("{prefix}{a}"));
        let mut at = start.at;
        let everything = selection.is_everything();
        let mut found: Vec<(StoreKey, StoredObject)> = Vec::new();
        loop {
            // With selectors, a page is filled from several reads, all at the revision of the first.
            let wanted = if everything || options.limit == 0 { options.limit } else { options.limit.max(MIN_READ) };
            let page = call
                .inner
                .store
                .list(&prefix, after.as_deref(), wanted, at)
                .map_err(|e| start.read_error_status(&e))?;
            at = Some(page.revision);
            after = page.records.last().map(|(key, _)| key.as_str().to_string());
            let records = page.records.len();
            let room = if options.limit == 0 { usize::MAX } else { options.limit - found.len() };
            let mut chosen = page.records.into_iter().enumerate().filter(|(_, (k, r))| selection.matches(k, &r.bytes));
            let mut last = None;
            for (index, record) in chosen.by_ref().take(room) {
                last = Some(index);
                found.push(record);
            }
            let full = options.limit > 0 && found.len() == options.limit;
            // Objects that were read but did not fit are also remaining.
            let unread = if full { records - last.map_or(0, |l| l + 1) } else { 0 };
            let remaining = page.remaining + unread as u64;
            if full || page.remaining == 0 {
                let follows = full && remaining > 0;
                let remaining = follows.then_some(remaining);
                return Ok(Self::of(call, found, page.revision, remaining, everything));
            }
        }
    }

    fn of(
        call: &ApiCall,
        records: Vec<(StoreKey, StoredObject)>,
        revision: u64,
        remaining: Option<u64>,
        everything: bool,
    ) -> Self {
        let prefix = call.prefix();
        let token = remaining.and(records.last()).map(|(key, _)| {
            let after = key.as_str().strip_prefix(prefix.as_str()).unwrap_or_default().to_string();
            ContinueToken { revision: Some(revision), after }.encode()
        });
        let (keys, items) = records.into_iter().map(|(key, record)| (key, call.served(&record))).unzip();
        Self {
            keys,
            items,
            revision,
            token,
            // With selectors, the number of remaining objects is unknown.
            remaining: remaining.filter(|_| everything),
        }
    }

    /// Returns the list's own metadata.
    pub fn metadata(&self) -> serde_json::Value {
        let mut metadata = json!({"resourceVersion": self.revision.to_string()});
        if let Some(token) = &self.token {
            metadata["continue"] = token.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }

    /// Returns the response in the requested form.
    pub fn answer(self, call: &ApiCall) -> Result<ApiResponse, Status> {
        let output = ResponseFormat::negotiate(&call.headers)?;
        if output == ResponseFormat::default() {
            let pieces = self.pieces(call);
            return Ok(ApiResponse::pieces(200, "application/json", pieces.bytes(), pieces));
        }
        ResponseTransformer::new(call, output)?.list(&self.items, self.metadata())
    }

    /// Returns the whole list as JSON, spliced from the stored bytes.
    fn pieces(self, call: &ApiCall) -> ListChunks {
        let resource = &call.resource;
        let custom = resource.custom.is_some();
        let mut metadata = self.metadata();
        // Lists of custom resources have the field even if it is empty.
        if custom && self.token.is_none() {
            metadata["continue"] = "".into();
        }
        let mut head = wire::envelope(&resource.kind.api_version(), &resource.list_kind, custom);
        head.push_str(&format!("\"metadata\":{metadata},\"items\":["));
        // As in kube-apiserver, items of built-in kinds have no kind and version.
        let item_head = if custom { call.envelope() } else { "{".to_string() };
        ListChunks::new(head, item_head, self.items)
    }
}

/// Start of a list, with its revision.
struct ListStart {
    at: Option<u64>,
    after: Option<String>,
    /// Whether the client continues an earlier list.
    continued: bool,
}

impl ListStart {
    fn resolve(call: &ApiCall, options: &ListOptions) -> Result<Self, Status> {
        if !options.token.is_empty() {
            let token = ContinueToken::decode(&options.token)?;
            if !matches!(options.resource_version.as_str(), "" | "0") {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            return Ok(Self { at: token.revision, after: Some(token.after), continued: true });
        }
        let newest = Self { at: None, after: None, continued: false };
        if options.resource_version.is_empty() {
            return Ok(newest);
        }
        let asked = parse_revision(&options.resource_version)
            .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
        let legacy_exact = options.matching.is_none() && options.limit > 0 && asked > 0;
        if options.matching == Some(RevisionMatch::Exact) || legacy_exact {
            return Ok(Self { at: Some(asked), ..newest });
        }
        let current = call.inner.store.revision();
        if asked > current { Err(too_large(asked, current)) } else { Ok(newest) }
    }

    fn read_error_status(&self, error: &ReadError) -> Status {
        match (error, self.at, &self.after) {
            (ReadError::Compacted { .. }, _, Some(after)) if self.continued => {
                let token = ContinueToken { revision: None, after: after.clone() }.encode();
                let mut status = Status::expired(INCONSISTENT_CONTINUE);
                status.continue_token = Some(token.into());
                status
            }
            (ReadError::Compacted { .. }, ..) => {
                Status::expired("The resourceVersion for the provided list is too old.")
            }
            (ReadError::Future { current }, asked, _) => too_large(asked.unwrap_or_default(), *current),
            (ReadError::Closed, ..) => Status::new(503, "ServiceUnavailable", "the server is stopping"),
        }
    }
}

const INCONSISTENT_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. \
    You can start a new list without the continue parameter, or use the continue token in this response to retrieve the \
    remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were \
    created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// Returns the 504: the client has seen a revision that this server has not reached.
pub(super) fn too_large(asked: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    Status::new(504, "Timeout", message).with_details(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }))
}

/// Parses a resourceVersion from a request.
pub(super) fn parse_revision(text: &str) -> Result<u64, InvalidRevision> {
    text.parse().map_err(|_| InvalidRevision(text.to_string()))
}

/// Invalid resourceVersion, with the text of kube-apiserver's storage.
#[derive(Debug, thiserror::Error)]
#[error("resourceVersion: Invalid value: {}: {why}", quote(.0), why = self.number())]
pub(super) struct InvalidRevision(String);

impl InvalidRevision {
    /// Returns only the error about the number.
    pub fn number(&self) -> String {
        let digits = !self.0.is_empty() && self.0.bytes().all(|b| b.is_ascii_digit());
        let why = if digits { "value out of range" } else { "invalid syntax" };
        format!("strconv.ParseUint: parsing {}: {why}", quote(&self.0))
    }
}
