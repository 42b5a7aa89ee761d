//! What becomes of what is scanned.

use super::text::Text;
use crate::{Map, Value};

/// Is told what a scan passes, in order; ends the scan with nothing.
pub(super) trait Sink<'a> {
    /// A list or a map begins.
    fn open(&mut self, list: bool) -> Option<()>;
    /// It ends.
    fn close(&mut self) -> Option<()>;
    /// A key of the map that is open; its value comes next.
    fn key(&mut self, key: Text<'a>) -> Option<()>;
    /// A value of the map, or an item of the list, that is open.
    fn scalar(&mut self, text: Text<'a>) -> Option<()>;
}

/// Builds the whole value. A key that stands twice ends it.
#[derive(Default)]
pub(super) struct Builder {
    open: Vec<(Value, String)>,
    key: String,
    whole: Option<Value>,
}

impl Builder {
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

impl<'a> Sink<'a> for Builder {
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

    fn key(&mut self, key: Text<'a>) -> Option<()> {
        self.key = key.key()?;
        Some(())
    }

    fn scalar(&mut self, text: Text<'a>) -> Option<()> {
        self.place(text.value()?)
    }
}

/// Builds some entries of the outermost map.
pub(super) struct Outline<'w> {
    wanted: &'w [&'w str],
    builder: Builder,
    depth: usize,
    /// Whether the present entry is wanted.
    keeps: bool,
}

impl<'w> Outline<'w> {
    pub(super) fn of(wanted: &'w [&'w str]) -> Self {
        Self { wanted, builder: Builder::default(), depth: 0, keeps: false }
    }

    pub(super) fn into_value(self) -> Option<Value> {
        self.builder.into_value()
    }
}

impl<'a> Sink<'a> for Outline<'_> {
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

    fn key(&mut self, key: Text<'a>) -> Option<()> {
        if self.depth == 1 {
            let written = match key {
                Text::Plain(text) => text,
                Text::Single(text) | Text::Double(text) if !text.contains(['\\', '\'']) => text,
                _ => return None,
            };
            self.keeps = self.wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(written));
        }
        if self.keeps { self.builder.key(key) } else { Some(()) }
    }

    fn scalar(&mut self, text: Text<'a>) -> Option<()> {
        if self.keeps { self.builder.scalar(text) } else { Some(()) }
    }
}
