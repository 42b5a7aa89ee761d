//! Rows as lines of JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use switchboard_sql::archive::{StoredRow, stored_types};
use switchboard_sql::{ColumnType, DbTimestamp, SqlValue};

use crate::SCHEMA;

/// First line.
pub const HEADER: &str = r#"{"switchboard":"gitops backup","version":1}"#;

/// Error of a line.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The file has another format or a newer version.
    #[error("it does not start with the header of this version's backups")]
    NotABackup,
    /// The file ends too early.
    #[error("the backup is truncated")]
    Truncated,
    /// The line is not JSON.
    #[error("it is not valid JSON")]
    Json(#[from] serde_json::Error),
    /// The table does not exist.
    #[error("there is no table `{0}` in this version")]
    Table(String),
    /// A value has the wrong type for its column.
    #[error("`{table}.{column}` has an invalid value")]
    Value {
        /// Name of the table.
        table: &'static str,
        /// Name of the column. The value is not repeated: it may be a credential.
        column: &'static str,
    },
}

/// Parsed line.
pub enum BackupLine {
    /// Row.
    Row(StoredRow),
    /// End of the backup, with the number of rows.
    End(usize),
}

/// Returns the last line.
pub fn end(rows: usize) -> String {
    json!({ "end": rows }).to_string()
}

/// Returns the line of a row.
pub fn format_row((table, values): &StoredRow) -> String {
    let mut row = Map::new();
    for (column, value) in table.columns.iter().zip(values) {
        let json = match value {
            SqlValue::Text(text) => json!(text),
            // Credentials are exported as the stored text, never in plaintext.
            SqlValue::Secret(_) => Json::Null,
            SqlValue::Integer(number) => json!(number),
            SqlValue::Boolean(yes) => json!(yes),
            SqlValue::Timestamp(moment) => json!(moment.map(|moment| moment.unix_us)),
            SqlValue::Bytes(bytes) => json!(bytes.as_ref().map(|bytes| STANDARD.encode(bytes))),
        };
        row.insert(column.name.to_string(), json);
    }
    json!({ "table": table.name, "row": row }).to_string()
}

/// Parses a line. A missing column is NULL, because the table may have grown.
pub fn read(text: &str) -> Result<BackupLine, LineError> {
    let line: Json = serde_json::from_str(text)?;
    if let Some(rows) = line["end"].as_u64() {
        return Ok(BackupLine::End(usize::try_from(rows).unwrap_or(usize::MAX)));
    }
    let name = line["table"].as_str().unwrap_or_default();
    let table = SCHEMA.tables().find(|table| table.name == name).ok_or_else(|| LineError::Table(name.to_string()))?;
    let mut values = Vec::new();
    for (column, kind) in table.columns.iter().zip(stored_types(table)) {
        let wrong = LineError::Value { table: table.name, column: column.name };
        values.push(value(kind, &line["row"][column.name]).ok_or(wrong)?);
    }
    Ok(BackupLine::Row((table, values)))
}

fn value(kind: ColumnType, json: &Json) -> Option<SqlValue> {
    let none = json.is_null();
    Some(match kind {
        ColumnType::Text | ColumnType::Secret => {
            SqlValue::Text(if none { None } else { Some(json.as_str()?.to_string()) })
        }
        ColumnType::Integer => SqlValue::Integer(if none { None } else { Some(json.as_i64()?) }),
        ColumnType::Boolean => SqlValue::Boolean(if none { None } else { Some(json.as_bool()?) }),
        ColumnType::Timestamp => {
            SqlValue::Timestamp(if none { None } else { Some(DbTimestamp::from_unix_us(json.as_i64()?)) })
        }
        ColumnType::Bytes => SqlValue::Bytes(if none { None } else { Some(STANDARD.decode(json.as_str()?).ok()?) }),
    })
}
