//! Faults of a run, with a text form: `crash-after-write:3`, `stale-from-event:4x2`.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Maximum number of faults in one run.
pub const MAX_PARTS: usize = 2;

/// Class of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FaultClass {
    /// The process crashes and restarts without memory.
    Crash,
    /// The API server rejects the write, fails, or its response is lost.
    Response,
    /// The operator decides on an older view.
    Stale,
    /// Events are lost, and the kind is listed again.
    Missed,
    /// Of several events of an object only the last is received.
    Merged,
}

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// The process crashes before the write is sent.
    CrashBeforeWrite,
    /// The write is made, and the process crashes before the response arrives.
    CrashAtWrite,
    /// The write is made and the response arrives, and then the process crashes.
    CrashAfterWrite,
    /// The server responds with 409 and makes no write.
    Response409,
    /// The server responds with 429 and makes no write.
    Response429,
    /// The server responds with 500 and makes no write.
    Response500,
    /// The response is lost, and the write is made.
    TimeoutDone,
    /// The response is lost, and the write is not made.
    TimeoutNotDone,
    /// From this event on, events of its kind are delayed until this many more are queued.
    StaleFromEvent,
    /// This many events of a kind are lost; then the kind is listed again.
    MissEvent,
    /// This event and the following ones of its kind arrive together, with only the last one of each object.
    MergeEvent,
    /// The process crashes before the rows of a plan are committed.
    CrashBeforeCommit,
    /// The rows are committed, and the process crashes before the response arrives.
    CrashAtCommit,
    /// The rows are committed, and the process crashes before the objects of the plan are written.
    CrashAfterCommit,
    /// The database reports a conflict and commits nothing.
    CommitConflict,
    /// The response is lost, and the rows are committed.
    CommitTimeoutDone,
    /// The response is lost, and the rows are not committed.
    CommitTimeoutNotDone,
    /// From this commit of any writer on, the operator reads older rows until this many more are made.
    LateLog,
    /// The change log is trimmed after this commit of any writer, before the operator reads it.
    TrimLog,
}

impl FaultKind {
    /// All kinds of faults.
    pub const ALL: [FaultKind; 19] = [
        FaultKind::CrashBeforeWrite,
        FaultKind::CrashAtWrite,
        FaultKind::CrashAfterWrite,
        FaultKind::Response409,
        FaultKind::Response429,
        FaultKind::Response500,
        FaultKind::TimeoutDone,
        FaultKind::TimeoutNotDone,
        FaultKind::StaleFromEvent,
        FaultKind::MissEvent,
        FaultKind::MergeEvent,
        FaultKind::CrashBeforeCommit,
        FaultKind::CrashAtCommit,
        FaultKind::CrashAfterCommit,
        FaultKind::CommitConflict,
        FaultKind::CommitTimeoutDone,
        FaultKind::CommitTimeoutNotDone,
        FaultKind::LateLog,
        FaultKind::TrimLog,
    ];
    /// Faults that crash the process.
    pub const CRASHES: [FaultKind; 3] =
        [FaultKind::CrashBeforeWrite, FaultKind::CrashAtWrite, FaultKind::CrashAfterWrite];
    /// Faults of the API server's responses.
    pub const RESPONSES: [FaultKind; 5] = [
        FaultKind::Response409,
        FaultKind::Response429,
        FaultKind::Response500,
        FaultKind::TimeoutDone,
        FaultKind::TimeoutNotDone,
    ];
    /// Faults of watch events.
    pub const EVENTS: [FaultKind; 3] = [FaultKind::StaleFromEvent, FaultKind::MissEvent, FaultKind::MergeEvent];

    /// Faults of an operator's commits of rows.
    pub const COMMITS: [FaultKind; 6] = [
        FaultKind::CrashBeforeCommit,
        FaultKind::CrashAtCommit,
        FaultKind::CrashAfterCommit,
        FaultKind::CommitConflict,
        FaultKind::CommitTimeoutDone,
        FaultKind::CommitTimeoutNotDone,
    ];
    /// Faults of the change log of rows.
    pub const LOGS: [FaultKind; 2] = [FaultKind::LateLog, FaultKind::TrimLog];

    /// Whether the fault concerns rows, not objects.
    pub fn is_of_rows(self) -> bool {
        Self::COMMITS.contains(&self) || Self::LOGS.contains(&self)
    }

    /// Returns the class of the fault.
    pub fn class(self) -> FaultClass {
        match self {
            FaultKind::CrashBeforeWrite
            | FaultKind::CrashAtWrite
            | FaultKind::CrashAfterWrite
            | FaultKind::CrashBeforeCommit
            | FaultKind::CrashAtCommit
            | FaultKind::CrashAfterCommit => FaultClass::Crash,
            FaultKind::StaleFromEvent | FaultKind::LateLog => FaultClass::Stale,
            FaultKind::MissEvent | FaultKind::TrimLog => FaultClass::Missed,
            FaultKind::MergeEvent => FaultClass::Merged,
            _ => FaultClass::Response,
        }
    }

    fn text(self) -> &'static str {
        match self {
            FaultKind::CrashBeforeWrite => "crash-before-write",
            FaultKind::CrashAtWrite => "crash-at-write",
            FaultKind::CrashAfterWrite => "crash-after-write",
            FaultKind::Response409 => "response-409-to-write",
            FaultKind::Response429 => "response-429-to-write",
            FaultKind::Response500 => "response-500-to-write",
            FaultKind::TimeoutDone => "timeout-after-write",
            FaultKind::TimeoutNotDone => "timeout-before-write",
            FaultKind::StaleFromEvent => "stale-from-event",
            FaultKind::MissEvent => "miss-event",
            FaultKind::MergeEvent => "merge-event",
            FaultKind::CrashBeforeCommit => "crash-before-commit",
            FaultKind::CrashAtCommit => "crash-at-commit",
            FaultKind::CrashAfterCommit => "crash-after-commit",
            FaultKind::CommitConflict => "conflict-at-commit",
            FaultKind::CommitTimeoutDone => "timeout-after-commit",
            FaultKind::CommitTimeoutNotDone => "timeout-before-commit",
            FaultKind::LateLog => "late-log",
            FaultKind::TrimLog => "trim-log",
        }
    }
}

/// Single fault: its kind, the write or event where it starts, and how many of them it affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultPart {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Number of the first write or event, counted from one.
    pub at: u32,
    /// Number of writes or events.
    pub times: u32,
}

impl FaultPart {
    /// Creates a fault for one write or event.
    pub fn once(kind: FaultKind, at: u32) -> Self {
        Self { kind, at, times: 1 }
    }

    /// Whether the fault applies to the write with this number.
    pub fn applies_to(&self, write: u32) -> bool {
        write >= self.at && write - self.at < self.times
    }
}

impl fmt::Display for FaultPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.text(), self.at)?;
        if self.times == 1 { Ok(()) } else { write!(f, "x{}", self.times) }
    }
}

/// Faults of one run; none for the undisturbed run, which is called `none`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    parts: Vec<FaultPart>,
}

impl Fault {
    /// Creates an empty set of faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates a set of faults; at most [`MAX_PARTS`] are used.
    pub fn of(parts: impl IntoIterator<Item = FaultPart>) -> Self {
        Self { parts: parts.into_iter().take(MAX_PARTS).collect() }
    }

    /// Returns the single faults.
    pub fn parts(&self) -> &[FaultPart] {
        &self.parts
    }

    /// Whether a fault has this class.
    pub fn has_class(&self, class: FaultClass) -> bool {
        self.parts.iter().any(|part| part.kind.class() == class)
    }
}

/// Formats the faults: `crash-before-write:1`, `crash-at-write:1+crash-at-write:2`, `miss-event:4x2`, `none`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parts.is_empty() {
            return f.write_str("none");
        }
        for (number, part) in self.parts.iter().enumerate() {
            if number > 0 {
                f.write_str("+")?;
            }
            part.fmt(f)?;
        }
        Ok(())
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Error in the text of a fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The name is unknown.
    #[error("unknown fault `{0}`\nhint: use one of {names}, each with `:NUMBER` or `:NUMBERxTIMES`", names = names())]
    Unknown(String),
    /// The part after the name is not a number.
    #[error(
        "`{0}` has no number of a write or event\nhint: add `:NUMBER` or `:NUMBERxTIMES`, counted from one, such as `crash-at-write:2`"
    )]
    Number(String),
    /// There are more faults than allowed.
    #[error("`{0}` has more than {MAX_PARTS} faults")]
    TooMany(String),
}

fn names() -> String {
    FaultKind::ALL.map(FaultKind::text).join(", ")
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        if text == "none" {
            return Ok(Self::none());
        }
        let parts: Vec<FaultPart> = text.split('+').map(str::parse).collect::<Result<_, _>>()?;
        if parts.len() > MAX_PARTS {
            return Err(FaultError::TooMany(text.to_string()));
        }
        Ok(Self { parts })
    }
}

impl FromStr for FaultPart {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let kind = FaultKind::ALL.into_iter().find(|kind| kind.text() == name);
        let kind = kind.ok_or_else(|| FaultError::Unknown(name.to_string()))?;
        let (at, times) = numbers.split_once('x').unwrap_or((numbers, "1"));
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|number| plain && *number > 0_u32)
        };
        match (number(at), number(times)) {
            (Some(at), Some(times)) => Ok(Self { kind, at, times }),
            _ => Err(FaultError::Number(text.to_string())),
        }
    }
}
