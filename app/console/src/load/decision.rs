//! One decision: why it ran, what it read, what it planned, what came of it.

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::decision::{Decision, DecisionId, Outcome, Write, WriteResult};
use switchboard_kernel::diff::{Line, diff};
use switchboard_kernel::explain;
use switchboard_kernel::journal::Contents;
use switchboard_kernel::moment::Moment;
use switchboard_kernel::plan::{Act, PatchForm, Standing};
use switchboard_kernel::resource::ObjectKey;
use switchboard_kernel::state::Word;

use crate::problem::Problem;
use crate::source::Source;
use crate::veil::Veil;

/// How many lines of one difference are shown.
const MAX_LINES: usize = 400;

/// A decision.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionPage {
    /// Its number.
    pub id: DecisionId,
    /// Whose.
    pub operator: String,
    /// Of which unit.
    pub unit: String,
    /// The moment of this page.
    pub now: Moment,
    /// When it ran.
    pub at: Moment,
    /// How long the first cause waited.
    pub waited_ms: u64,
    /// How long it took to decide.
    pub decide_us: u64,
    /// How long its writes took.
    pub write_us: u64,
    /// Why it ran, in words.
    pub causes: Vec<String>,
    /// What it read by name.
    #[serde(skip)]
    pub gets: Vec<(ObjectKey, Option<u64>)>,
    /// What it read, in words.
    pub reads: Vec<String>,
    /// Where the unit stood then.
    pub state: Word,
    /// In its words.
    pub said: String,
    /// What it wanted written.
    pub writes: Vec<WriteRow>,
}

/// A write and what came of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteRow {
    /// As `apply configmaps/shop/web`.
    pub write: String,
    /// As `apply`.
    #[serde(skip)]
    pub verb: &'static str,
    /// The part of the object it goes to, such as `status`.
    #[serde(skip)]
    pub part: String,
    /// On which object.
    #[serde(skip)]
    pub object: ObjectKey,
    /// What came of it, in words.
    pub result: String,
    /// Whether it came to be.
    pub well: bool,
    /// Against what was read, masked.
    #[serde(serialize_with = "as_texts")]
    pub diff: Vec<Line>,
    /// Lines that were left off.
    pub left_off: usize,
}

fn as_texts<S: serde::Serializer>(lines: &[Line], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lines.iter().map(ToString::to_string))
}

/// One decision.
pub async fn load(source: &Source, id: u64) -> Result<DecisionPage, Problem> {
    let id = DecisionId(id);
    let found = source.handle.journal(move |journal| Some((journal.get(id)?, journal.contents(id)))).await?;
    // The page shows a command that asks the disk for it.
    source.handle.keep(vec![id]).await?;
    let (decision, contents) =
        found.ok_or_else(|| Problem::Missing(format!("decision {id} is not kept, or was never made")))?;
    let (state, veil) = (source.state().await?, source.veil().await?);
    Ok(of(&decision, contents.as_ref(), state.now, &veil))
}

/// A decision with what it read.
pub fn of(decision: &Decision, contents: Option<&Contents>, now: Moment, veil: &Veil) -> DecisionPage {
    let (state, said, writes) = match &decision.outcome {
        Outcome::Failed { message } => (Word::Failing, message.clone(), &[][..]),
        Outcome::Parked { missing } => {
            let kinds: Vec<String> = missing.iter().map(|table| table.resource.to_string()).collect();
            (Word::Waiting, format!("cannot read {} yet", kinds.join(", ")), &[][..])
        }
        Outcome::Decided { writes, standing } => {
            let (word, said) = match standing {
                Standing::Ready => (Word::Ready, String::new()),
                Standing::Waiting(on) => (Word::Waiting, on.clone()),
                Standing::Blocked(needs) => (Word::Blocked, needs.clone()),
                Standing::Failing(why) => (Word::Failing, why.clone()),
            };
            (word, said, writes.as_slice())
        }
    };
    let before = |key: &ObjectKey| contents?.objects.iter().find(|kept| kept.key == *key).map(|kept| &kept.value);
    DecisionPage {
        id: decision.id,
        operator: decision.unit.operator.to_string(),
        unit: decision.unit.unit.to_string(),
        now,
        at: decision.started,
        waited_ms: u64::try_from(decision.started.since(decision.woken).as_millis()).unwrap_or(u64::MAX),
        decide_us: decision.decide_us,
        write_us: decision.write_us,
        causes: decision.causes.iter().map(explain::cause).collect(),
        gets: decision.gets.clone(),
        reads: explain::reads(decision),
        state,
        said: veil.text(&said),
        writes: writes.iter().map(|write| row(write, before(&write.object), veil)).collect(),
    }
}

fn row(write: &Write, before: Option<&Value>, veil: &Veil) -> WriteRow {
    let after = after(write, before);
    let before = before.map(|value| veil.value(value));
    let mut lines = diff(before.as_ref(), after.map(|value| veil.value(&value)).as_ref());
    let left_off = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    WriteRow {
        write: write.mutation.to_string(),
        verb: write.mutation.verb(),
        part: write.mutation.subresource.clone().unwrap_or_default(),
        object: write.object.clone(),
        result: veil.text(&explain::result(&write.result)),
        well: matches!(write.result, WriteResult::Written { .. } | WriteResult::Unchanged | WriteResult::Pretended),
        diff: lines,
        left_off,
    }
}

/// What the object would be by this write alone, as far as can be told from what was read.
fn after(write: &Write, before: Option<&Value>) -> Option<Value> {
    let laid_over = |body: &Value| {
        let mut whole = before.cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        lay_over(&mut whole, body);
        Some(whole)
    };
    match &write.mutation.act {
        Act::Delete { .. } => None,
        Act::Create(body) => Some(body.clone()),
        Act::Update(body) if write.mutation.subresource.is_none() => Some(body.clone()),
        Act::Patch { form: PatchForm::Json, body } => {
            // Operations are shown as they are where there is nothing to make them on.
            Some(serde_json::json!({"operations": body}))
        }
        Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } => laid_over(body),
    }
}

/// A merge patch: null takes away, maps go into maps, all else replaces.
fn lay_over(whole: &mut Value, body: &Value) {
    match (whole, body) {
        (Value::Object(whole), Value::Object(body)) => {
            for (key, value) in body {
                match value {
                    Value::Null => drop(whole.remove(key)),
                    value => lay_over(whole.entry(key.clone()).or_insert(Value::Null), value),
                }
            }
        }
        (whole, body) => *whole = body.clone(),
    }
}
