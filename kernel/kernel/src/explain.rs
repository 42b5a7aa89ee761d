//! Why things are as they are: from the journal and the kernel's state to reports, and from reports to text for people.
//!
//! Everything here is a pure function. A report is what `-o json` prints; its `Display` is what people read.

mod field;
mod managers;
mod planned;
mod replayed;
mod target;
mod times;
mod top;
mod why;
mod why_not;
mod words;

pub use field::FieldPath;
pub use managers::Manager;
pub use planned::{LeftOut, PlanReport, Planned};
pub use replayed::ReplayReport;
pub use target::Target;
pub use times::{span, when};
pub use top::{Top, TopRow, bytes, micros, top};
pub use why::{Awaited, Link, MAX_CHAIN, Read, Tried, Why, Written, explained, why};
pub use why_not::{Held, WhyNot, wait, why_not};
pub use words::{cause, causes, count, reads, result};
