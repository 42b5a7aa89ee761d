//! What goes wrong in a run, in words that can be typed: `crash-after-write:3`, `stale-from-event:4x2`.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// How many faults one run may have.
pub const MAX_PARTS: usize = 2;

/// What a fault is an example of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// The process dies and begins anew, without memory.
    Crash,
    /// The API server refuses, fails, or its answer is lost.
    Answer,
    /// The operator decides on an older view.
    Stale,
    /// Events are lost, and the kind is listed again.
    Missed,
    /// Of several events of an object only the last is seen.
    Merged,
}

/// One way in which something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The process dies before the write is sent.
    CrashBeforeWrite,
    /// The write is done, the process dies before the answer comes.
    CrashAtWrite,
    /// The write is done and answered, the process dies before it does anything else.
    CrashAfterWrite,
    /// The server answers 409 and does nothing.
    Answer409,
    /// The server answers 429 and does nothing.
    Answer429,
    /// The server answers 500 and does nothing.
    Answer500,
    /// No answer, but the write is done.
    TimeoutDone,
    /// No answer, and the write is not done.
    TimeoutNotDone,
    /// From that event on, those of its kind come late: when so many more have queued up behind it.
    StaleFromEvent,
    /// So many events of a kind are lost; then the kind is listed again.
    MissEvent,
    /// That event and so many after it of its kind come together, of each object only the last.
    MergeEvent,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 11] = [
        Kind::CrashBeforeWrite,
        Kind::CrashAtWrite,
        Kind::CrashAfterWrite,
        Kind::Answer409,
        Kind::Answer429,
        Kind::Answer500,
        Kind::TimeoutDone,
        Kind::TimeoutNotDone,
        Kind::StaleFromEvent,
        Kind::MissEvent,
        Kind::MergeEvent,
    ];
    /// Those that end the process.
    pub const CRASHES: [Kind; 3] = [Kind::CrashBeforeWrite, Kind::CrashAtWrite, Kind::CrashAfterWrite];
    /// Those of the API server's answers.
    pub const ANSWERS: [Kind; 5] =
        [Kind::Answer409, Kind::Answer429, Kind::Answer500, Kind::TimeoutDone, Kind::TimeoutNotDone];
    /// Those of what is seen.
    pub const EVENTS: [Kind; 3] = [Kind::StaleFromEvent, Kind::MissEvent, Kind::MergeEvent];

    /// What it is an example of.
    pub fn class(self) -> Class {
        match self {
            Kind::CrashBeforeWrite | Kind::CrashAtWrite | Kind::CrashAfterWrite => Class::Crash,
            Kind::StaleFromEvent => Class::Stale,
            Kind::MissEvent => Class::Missed,
            Kind::MergeEvent => Class::Merged,
            _ => Class::Answer,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Kind::CrashBeforeWrite => "crash-before-write",
            Kind::CrashAtWrite => "crash-at-write",
            Kind::CrashAfterWrite => "crash-after-write",
            Kind::Answer409 => "answer-409-to-write",
            Kind::Answer429 => "answer-429-to-write",
            Kind::Answer500 => "answer-500-to-write",
            Kind::TimeoutDone => "timeout-after-write",
            Kind::TimeoutNotDone => "timeout-before-write",
            Kind::StaleFromEvent => "stale-from-event",
            Kind::MissEvent => "miss-event",
            Kind::MergeEvent => "merge-event",
        }
    }
}

/// One thing that goes wrong: what, at which write or event counted from one, and for how many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// What.
    pub kind: Kind,
    /// At which write or event, counted from one.
    pub at: u32,
    /// For how many writes or events.
    pub times: u32,
}

impl Part {
    /// Once, at that write or event.
    pub fn once(kind: Kind, at: u32) -> Self {
        Self { kind, at, times: 1 }
    }

    /// Whether it strikes the write of that number.
    pub fn strikes(&self, write: u32) -> bool {
        write >= self.at && write - self.at < self.times
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.text(), self.at)?;
        if self.times == 1 { Ok(()) } else { write!(f, "x{}", self.times) }
    }
}

/// All that goes wrong in one run; nothing in the undisturbed one, which is called `none`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    parts: Vec<Part>,
}

impl Fault {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// These go wrong; at most [`MAX_PARTS`] are taken.
    pub fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        Self { parts: parts.into_iter().take(MAX_PARTS).collect() }
    }

    /// What goes wrong.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether it is of that class.
    pub fn is(&self, class: Class) -> bool {
        self.parts.iter().any(|part| part.kind.class() == class)
    }
}

/// `crash-before-write:1`, `crash-at-write:1+crash-at-write:2`, `miss-event:4x2`, `none`.
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

/// Text that names no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No fault is called so.
    #[error("no fault is called `{0}`\nhint: the faults are {names}, each with `:NUMBER` or `:NUMBERxTIMES`", names = names())]
    Unknown(String),
    /// What follows the name is no number.
    #[error(
        "`{0}` does not say at which write or event\nhint: write `:NUMBER` or `:NUMBERxTIMES` behind the name, counted from one, such as `crash-at-write:2`"
    )]
    Number(String),
    /// More faults than a run may have.
    #[error("`{0}` is more than {MAX_PARTS} faults in one run")]
    TooMany(String),
}

fn names() -> String {
    Kind::ALL.map(Kind::text).join(", ")
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        if text == "none" {
            return Ok(Self::none());
        }
        let parts: Vec<Part> = text.split('+').map(str::parse).collect::<Result<_, _>>()?;
        if parts.len() > MAX_PARTS {
            return Err(FaultError::TooMany(text.to_string()));
        }
        Ok(Self { parts })
    }
}

impl FromStr for Part {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let kind = Kind::ALL.into_iter().find(|kind| kind.text() == name);
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
