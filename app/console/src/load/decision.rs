//! Decision: its causes, reads, plan and results.

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::decision::{Decision, DecisionId, RunOutcome, Write, WriteResult};
use switchboard_kernel::diff::{DiffLine, diff};
use switchboard_kernel::explain;
use switchboard_kernel::journal::RecordedReads;
use switchboard_kernel::plan::{PatchType, UnitStatus, WriteOp};
use switchboard_kernel::resource::ObjectKey;
use switchboard_kernel::state::Health;
use switchboard_kernel::timestamp::Timestamp;

use crate::problem::ConsoleProblem;
use crate::redact::PageRedactor;
use crate::source::ConsoleSource;

/// Maximum number of lines of a diff.
const MAX_LINES: usize = 400;

/// Data of a decision.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionPage {
    /// Number of the decision.
    pub id: DecisionId,
    /// Operator of the decision.
    pub operator: String,
    /// Unit of the decision.
    pub unit: String,
    /// Time of the page.
    pub now: Timestamp,
    /// Time of the run.
    pub at: Timestamp,
    /// Delay between the first cause and the run.
    pub waited_ms: u64,
    /// Duration of the decision.
    pub decide_us: u64,
    /// Duration of the writes.
    pub write_us: u64,
    /// Causes of the run, as text.
    pub causes: Vec<String>,
    /// Objects that were read by name.
    #[serde(skip)]
    pub gets: Vec<(ObjectKey, Option<u64>)>,
    /// All reads, as text.
    pub reads: Vec<String>,
    /// State of the unit after the decision.
    pub state: Health,
    /// Message of the state.
    pub message: String,
    /// Planned writes with their results.
    pub writes: Vec<WriteRow>,
}

/// Write with its result.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteRow {
    /// Description, such as `apply configmaps/shop/web`.
    pub write: String,
    /// Verb, such as `apply`.
    #[serde(skip)]
    pub verb: &'static str,
    /// Subresource, such as `status`.
    #[serde(skip)]
    pub part: String,
    /// Object of the write.
    #[serde(skip)]
    pub object: ObjectKey,
    /// Result, as text.
    pub result: String,
    /// Whether the write succeeded.
    pub succeeded: bool,
    /// Diff against the object that was read, redacted.
    #[serde(serialize_with = "as_texts")]
    pub diff: Vec<DiffLine>,
    /// Number of omitted lines.
    pub omitted_lines: usize,
}

fn as_texts<S: serde::Serializer>(lines: &[DiffLine], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lines.iter().map(ToString::to_string))
}

/// Loads a decision.
pub async fn load(source: &ConsoleSource, id: u64) -> Result<DecisionPage, ConsoleProblem> {
    let id = DecisionId(id);
    let found = source.handle.journal(move |journal| Some((journal.get(id)?, journal.reads(id)))).await?;
    // The page shows a command that reads the decision from disk.
    source.handle.flush(vec![id]).await?;
    let (decision, contents) =
        found.ok_or_else(|| ConsoleProblem::NotFound(format!("decision {id} is not in the journal")))?;
    let (state, redactor) = (source.state().await?, source.redactor().await?);
    Ok(decision_page(&decision, contents.as_ref(), state.now, &redactor))
}

/// Converts a decision and its inputs.
pub fn decision_page(
    decision: &Decision,
    contents: Option<&RecordedReads>,
    now: Timestamp,
    redactor: &PageRedactor,
) -> DecisionPage {
    let (state, message, writes) = match &decision.outcome {
        RunOutcome::Failed { message } => (Health::Failing, message.clone(), &[][..]),
        RunOutcome::NotCached { missing } => {
            let kinds: Vec<String> = missing.iter().map(|table| table.resource.to_string()).collect();
            (Health::Waiting, format!("cannot read {} yet", kinds.join(", ")), &[][..])
        }
        RunOutcome::Decided { writes, status: standing } => {
            let (word, message) = match standing {
                UnitStatus::Ready => (Health::Ready, String::new()),
                UnitStatus::Waiting(on) => (Health::Waiting, on.clone()),
                UnitStatus::Blocked(needs) => (Health::Blocked, needs.clone()),
                UnitStatus::Failing(why) => (Health::Failing, why.clone()),
            };
            (word, message, writes.as_slice())
        }
    };
    let before = |key: &ObjectKey| contents?.objects.iter().find(|kept| kept.key == *key).map(|kept| &kept.value);
    DecisionPage {
        id: decision.id,
        operator: decision.unit.operator.to_string(),
        unit: decision.unit.unit.to_string(),
        now,
        at: decision.started,
        waited_ms: u64::try_from(decision.started.since(decision.triggered_at).as_millis()).unwrap_or(u64::MAX),
        decide_us: decision.decide_us,
        write_us: decision.write_us,
        causes: decision.causes.iter().map(explain::cause).collect(),
        gets: decision.gets.clone(),
        reads: explain::reads(decision),
        state,
        message: redactor.text(&message),
        writes: writes.iter().map(|write| row(write, before(&write.object), redactor)).collect(),
    }
}

fn row(write: &Write, before: Option<&Value>, redactor: &PageRedactor) -> WriteRow {
    let after = after(write, before);
    let before = before.map(|value| redactor.value(value));
    let mut lines = diff(before.as_ref(), after.map(|value| redactor.value(&value)).as_ref());
    let omitted_lines = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    WriteRow {
        write: write.mutation.to_string(),
        verb: write.mutation.verb(),
        part: write.mutation.subresource.clone().unwrap_or_default(),
        object: write.object.clone(),
        result: redactor.text(&explain::result(&write.result)),
        succeeded: matches!(write.result, WriteResult::Written { .. } | WriteResult::Unchanged | WriteResult::DryRun),
        diff: lines,
        omitted_lines,
    }
}

/// Returns the object after this write alone, as far as the inputs allow it.
fn after(write: &Write, before: Option<&Value>) -> Option<Value> {
    let laid_over = |body: &Value| {
        let mut whole = before.cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        merge_patch(&mut whole, body);
        Some(whole)
    };
    match &write.mutation.operation {
        WriteOp::Delete { .. } => None,
        WriteOp::Create(body) => Some(body.clone()),
        WriteOp::Update(body) if write.mutation.subresource.is_none() => Some(body.clone()),
        WriteOp::Patch { patch_type: PatchType::Json, body } => {
            // JSON patch operations are shown unapplied.
            Some(serde_json::json!({"operations": body}))
        }
        WriteOp::Update(body) | WriteOp::Apply { body, .. } | WriteOp::Patch { body, .. } => laid_over(body),
    }
}

/// Applies a merge patch: null deletes, maps are merged, other values replace.
fn merge_patch(whole: &mut Value, body: &Value) {
    match (whole, body) {
        (Value::Object(whole), Value::Object(body)) => {
            for (key, value) in body {
                match value {
                    Value::Null => drop(whole.remove(key)),
                    value => merge_patch(whole.entry(key.clone()).or_insert(Value::Null), value),
                }
            }
        }
        (whole, body) => *whole = body.clone(),
    }
}
