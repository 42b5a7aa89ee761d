//! Reading many objects: pages at one revision, selectors, and the revision rules.

mod pieces;

use bytes::Bytes;
use serde_json::json;
use switchboard_object::status::Status;

use self::pieces::Pieces;
use super::Call;
use super::form::Shaper;
use super::select::Selection;
use super::token::Token;
use crate::answer::Answer;
use crate::request::list::{ListOptions, Match};
use crate::request::media::Output;
use crate::store::{Key, ReadError, Record};
use crate::wire;

/// The least a selected page reads at once.
const MIN_READ: usize = 512;

/// Answers with the list.
pub(super) fn list(call: &Call) -> Result<Answer, Status> {
    Output::negotiate(&call.headers)?;
    let options = ListOptions::parse(&call.query)?;
    let selection = Selection::parse(call, &options)?;
    Found::read(call, &options, &selection)?.answer(call)
}

/// What a list found.
pub(super) struct Found {
    /// Where they are stored.
    pub keys: Vec<Key>,
    /// Encoded objects as stored.
    pub items: Vec<Bytes>,
    /// The revision the whole list shows.
    pub revision: u64,
    /// Where it goes on.
    pub token: Option<String>,
    /// How many objects follow, when that is known.
    pub remaining: Option<u64>,
}

impl Found {
    /// Reads what the options ask for.
    pub fn read(call: &Call, options: &ListOptions, selection: &Selection) -> Result<Self, Status> {
        let start = Start::resolve(call, options)?;
        let prefix = call.prefix();
        let mut after = start.after.as_ref().map(|a| format!("{prefix}{a}"));
        let mut at = start.at;
        let everything = selection.is_everything();
        let mut found: Vec<(Key, Record)> = Vec::new();
        loop {
            // With selectors a page is filled from several reads, all at the revision of the first.
            let wanted = if everything || options.limit == 0 { options.limit } else { options.limit.max(MIN_READ) };
            let page = call.inner.store.list(&prefix, after.as_deref(), wanted, at).map_err(|e| start.refuse(&e))?;
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
            // What was read but did not fit follows as well.
            let unread = if full { records - last.map_or(0, |l| l + 1) } else { 0 };
            let remaining = page.remaining + unread as u64;
            if full || page.remaining == 0 {
                let follows = full && remaining > 0;
                let remaining = follows.then_some(remaining);
                return Ok(Self::of(call, found, page.revision, remaining, everything));
            }
        }
    }

    fn of(call: &Call, records: Vec<(Key, Record)>, revision: u64, remaining: Option<u64>, everything: bool) -> Self {
        let prefix = call.prefix();
        let token = remaining.and(records.last()).map(|(key, _)| {
            let after = key.as_str().strip_prefix(prefix.as_str()).unwrap_or_default().to_string();
            Token { revision: Some(revision), after }.encode()
        });
        let (keys, items) = records.into_iter().map(|(key, record)| (key, call.served(&record))).unzip();
        Self {
            keys,
            items,
            revision,
            token,
            // How many of the following are selected is not known.
            remaining: remaining.filter(|_| everything),
        }
    }

    /// The list's own metadata.
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

    /// The list in the form that was asked for.
    pub fn answer(self, call: &Call) -> Result<Answer, Status> {
        let output = Output::negotiate(&call.headers)?;
        if output == Output::default() {
            let pieces = self.pieces(call);
            return Ok(Answer::pieces(200, "application/json", pieces.bytes(), pieces));
        }
        Shaper::new(call, output)?.list(&self.items, self.metadata())
    }

    /// The whole list as JSON, spliced from the stored bytes.
    fn pieces(self, call: &Call) -> Pieces {
        let resource = &call.resource;
        let custom = resource.custom.is_some();
        let mut metadata = self.metadata();
        // Lists of custom resources carry the field even when it is empty.
        if custom && self.token.is_none() {
            metadata["continue"] = "".into();
        }
        let mut head = wire::envelope(&resource.kind.api_version(), &resource.list_kind, custom);
        head.push_str(&format!("\"metadata\":{metadata},\"items\":["));
        // Items of built-in kinds carry no kind and version, as upstream's do not.
        let item_head = if custom { call.envelope() } else { "{".to_string() };
        Pieces::new(head, item_head, self.items)
    }
}

/// Where and at which revision a list begins.
struct Start {
    at: Option<u64>,
    after: Option<String>,
    /// A client continues a list that began earlier.
    continued: bool,
}

impl Start {
    fn resolve(call: &Call, options: &ListOptions) -> Result<Self, Status> {
        if !options.token.is_empty() {
            let token = Token::decode(&options.token)?;
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
        if options.matching == Some(Match::Exact) || legacy_exact {
            return Ok(Self { at: Some(asked), ..newest });
        }
        let current = call.inner.store.revision();
        if asked > current { Err(too_large(asked, current)) } else { Ok(newest) }
    }

    fn refuse(&self, error: &ReadError) -> Status {
        match (error, self.at, &self.after) {
            (ReadError::Compacted { .. }, _, Some(after)) if self.continued => {
                let token = Token { revision: None, after: after.clone() }.encode();
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

/// 504: the client has seen a revision this server has not.
pub(super) fn too_large(asked: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    Status::new(504, "Timeout", message).with_details(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }))
}

/// A revision as a client writes it.
pub(super) fn parse_revision(text: &str) -> Result<u64, NotARevision> {
    text.parse().map_err(|_| NotARevision(text.to_string()))
}

/// Text that is no revision; the words are those Go's storage has for it.
#[derive(Debug, thiserror::Error)]
#[error("resourceVersion: Invalid value: {0:?}: {why}", why = self.number())]
pub(super) struct NotARevision(String);

impl NotARevision {
    /// Only what is wrong with the number.
    pub fn number(&self) -> String {
        let digits = !self.0.is_empty() && self.0.bytes().all(|b| b.is_ascii_digit());
        let why = if digits { "value out of range" } else { "invalid syntax" };
        format!("strconv.ParseUint: parsing {:?}: {why}", self.0)
    }
}
