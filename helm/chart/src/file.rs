//! Files of a chart, in memory.

use std::fmt;
use std::sync::Arc;

/// A file of a chart. The bytes are shared by all users of the chart.
#[derive(Clone, PartialEq, Eq)]
pub struct ChartFile {
    /// Path from the chart's root, such as `templates/service.yaml`.
    pub name: String,
    /// Content, without a byte order mark.
    pub data: Arc<[u8]>,
}

impl ChartFile {
    /// Creates a file. Removes a leading byte order mark, as Helm does.
    pub fn new(name: impl Into<String>, data: &[u8]) -> Self {
        let data = data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data);
        Self { name: name.into(), data: Arc::from(data) }
    }

    /// Returns the content as text. Invalid UTF-8 becomes the replacement character.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.data)
    }

    /// Returns the last segment of the path.
    pub fn base(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

impl fmt::Debug for ChartFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.data.len())
    }
}
