//! A row as a line of JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use switchboard_ledger::archive::{Stored, stored_kinds, tables};
use switchboard_ledger::{Kind, Moment, Value};

/// The first line.
pub const HEADER: &str = r#"{"switchboard":"gitops backup","version":1}"#;

/// Why a line is not understood.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The file is something else, or of a newer version.
    #[error("it does not begin as a backup of this version does")]
    NoBackup,
    /// The file ends too early.
    #[error("the backup is not whole")]
    Cut,
    /// The line is no JSON.
    #[error("it is no JSON")]
    Json(#[from] serde_json::Error),
    /// The line is of no table.
    #[error("there is no table `{0}`")]
    Table(String),
    /// A value is not what its column holds.
    #[error("`{table}.{column}` cannot be that")]
    Value {
        /// The table.
        table: &'static str,
        /// The column. Its value is not said: it may be a credential.
        column: &'static str,
    },
}

/// What a line is.
pub enum Line {
    /// A row.
    Row(Stored),
    /// The end, after so many rows.
    End(usize),
}

/// The last line.
pub fn end(rows: usize) -> String {
    json!({ "end": rows }).to_string()
}

/// The line of a row.
pub fn written((table, values): &Stored) -> String {
    let mut row = Map::new();
    for (column, value) in table.columns.iter().zip(values) {
        let told = match value {
            Value::Text(text) => json!(text),
            // Nothing is exported in clear that is stored otherwise: a credential comes as the text that is stored.
            Value::Secret(_) => Json::Null,
            Value::Integer(number) => json!(number),
            Value::Boolean(yes) => json!(yes),
            Value::Moment(moment) => json!(moment.map(|moment| moment.unix_us)),
            Value::Bytes(bytes) => json!(bytes.as_ref().map(|bytes| STANDARD.encode(bytes))),
        };
        row.insert(column.name.to_string(), told);
    }
    json!({ "table": table.name, "row": row }).to_string()
}

/// The row of a line. A column that the line does not have is empty: the table may have grown.
pub fn read(text: &str) -> Result<Line, LineError> {
    let line: Json = serde_json::from_str(text)?;
    if let Some(rows) = line["end"].as_u64() {
        return Ok(Line::End(usize::try_from(rows).unwrap_or(usize::MAX)));
    }
    let name = line["table"].as_str().unwrap_or_default();
    let table = tables().find(|table| table.name == name).ok_or_else(|| LineError::Table(name.to_string()))?;
    let mut values = Vec::new();
    for (column, kind) in table.columns.iter().zip(stored_kinds(table)) {
        let wrong = LineError::Value { table: table.name, column: column.name };
        values.push(value(kind, &line["row"][column.name]).ok_or(wrong)?);
    }
    Ok(Line::Row((table, values)))
}

fn value(kind: Kind, told: &Json) -> Option<Value> {
    let none = told.is_null();
    Some(match kind {
        Kind::Text | Kind::Secret => Value::Text(if none { None } else { Some(told.as_str()?.to_string()) }),
        Kind::Integer => Value::Integer(if none { None } else { Some(told.as_i64()?) }),
        Kind::Boolean => Value::Boolean(if none { None } else { Some(told.as_bool()?) }),
        Kind::Moment => Value::Moment(if none { None } else { Some(Moment::from_unix_us(told.as_i64()?)) }),
        Kind::Bytes => Value::Bytes(if none { None } else { Some(STANDARD.decode(told.as_str()?).ok()?) }),
    })
}
