//! A file of a chart, in memory.

use std::fmt;
use std::sync::Arc;

/// A file: its name from the chart's top, with `/` between folders, and its bytes, shared by all that use the chart.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// The name, such as `templates/service.yaml`.
    pub name: String,
    /// What is in it, without a byte order mark.
    pub data: Arc<[u8]>,
}

impl File {
    /// A file of this name; a byte order mark at its begin is left out, as Helm does.
    pub fn new(name: impl Into<String>, data: &[u8]) -> Self {
        let data = data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data);
        Self { name: name.into(), data: Arc::from(data) }
    }

    /// The bytes as text; what is not UTF-8 becomes the replacement character.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.data)
    }

    /// The part of the name behind the last `/`.
    pub fn base(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.data.len())
    }
}
