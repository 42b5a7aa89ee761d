//! Receivers of scanned values.

use super::text::ScalarText;
use crate::{Map, Value};

/// Receiver of the scanned nodes, in order. `None` ends the scan without a result.
pub(super) trait ScanSink<'a> {
    /// Begins a list or a map.
    fn open(&mut self, list: bool) -> Option<()>;
    /// Ends the list or map.
    fn close(&mut self) -> Option<()>;
    /// Adds a key of the open map; its value comes next.
    fn key(&mut self, key: ScalarText<'a>) -> Option<()>;
    /// Adds a value of the open map, or an item of the open list.
    fn scalar(&mut self, text: ScalarText<'a>) -> Option<()>;
}

/// Builder of the whole value. A duplicate key ends the scan.
#[derive(Default)]
pub(super) struct ValueBuilder {
    open: Vec<(Value, String)>,
    key: String,
    whole: Option<Value>,
}

impl ValueBuilder {
    pub(super) fn into_value(self) -> Option<Value> {
        self.whole
    }

    fn place(&mut self, value: Value) -> Option<()> {
        match self.open.last_mut() {
            None => self.whole = Some(value),
            Some((Value::Array(list), _)) => list.push(value),
            Some((Value::Object(map), _)) => {
                if map.insert(std::mem::take(&mut self.key), value).is_some() {
                    return None;
                }
            }
            Some(_) => return None,
        }
        Some(())
    }
}

impl<'a> ScanSink<'a> for ValueBuilder {
    fn open(&mut self, list: bool) -> Option<()> {
        let empty = if list { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
        self.open.push((empty, std::mem::take(&mut self.key)));
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        let (value, key) = self.open.pop()?;
        self.key = key;
        self.place(value)
    }

    fn key(&mut self, key: ScalarText<'a>) -> Option<()> {
        self.key = key.key()?;
        Some(())
    }

    fn scalar(&mut self, text: ScalarText<'a>) -> Option<()> {
        self.place(text.value()?)
    }
}

/// Builder of some entries of the outermost map.
pub(super) struct OutlineBuilder<'w> {
    wanted: &'w [&'w str],
    builder: ValueBuilder,
    depth: usize,
    /// Whether the current entry is wanted.
    keeps: bool,
}

impl<'w> OutlineBuilder<'w> {
    pub(super) fn of(wanted: &'w [&'w str]) -> Self {
        Self { wanted, builder: ValueBuilder::default(), depth: 0, keeps: false }
    }

    pub(super) fn into_value(self) -> Option<Value> {
        self.builder.into_value()
    }
}

impl<'a> ScanSink<'a> for OutlineBuilder<'_> {
    fn open(&mut self, list: bool) -> Option<()> {
        self.depth += 1;
        match self.depth {
            1 if list => None,
            1 => self.builder.open(list),
            _ if self.keeps => self.builder.open(list),
            _ => Some(()),
        }
    }

    fn close(&mut self) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        if self.depth == 0 || self.keeps { self.builder.close() } else { Some(()) }
    }

    fn key(&mut self, key: ScalarText<'a>) -> Option<()> {
        if self.depth == 1 {
            let written = match key {
                ScalarText::Plain(text) => text,
                ScalarText::Single(text) | ScalarText::Double(text) if !text.contains(['\\', '\'']) => text,
                _ => return None,
            };
            self.keeps = self.wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(written));
        }
        if self.keeps { self.builder.key(key) } else { Some(()) }
    }

    fn scalar(&mut self, text: ScalarText<'a>) -> Option<()> {
        if self.keeps { self.builder.scalar(text) } else { Some(()) }
    }
}
