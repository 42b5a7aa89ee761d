//! Tree of tables of a document, and the rules for which of them may still be written.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{GoMap, ReflectType, Str, TypeShape, Value};

/// `[]map[string]interface {}`, the type of `[[a]]`.
pub(super) const TABLES: ReflectType = ReflectType(&TypeShape::Slice(ReflectType::MAP));

type KeyPath = Vec<Vec<u8>>;

/// The document read so far, and the current position in it.
pub(super) struct TableTree {
    pub root: Value,
    context: KeyPath,
    name: Vec<u8>,
    /// Tables that only exist implicitly because of `a.b = 1` or `[a.b]`. Each may be defined once.
    implied: BTreeSet<KeyPath>,
    arrays: BTreeSet<KeyPath>,
}

/// A position to return to.
pub(super) struct TablePosition(KeyPath, Vec<u8>);

fn empty() -> Value {
    Value::typed_map(ReflectType::MAP, BTreeMap::new())
}

fn shown(key: &[Vec<u8>]) -> String {
    let part = |part: &Vec<u8>| {
        let text = String::from_utf8_lossy(part).into_owned();
        let bare = !part.is_empty() && part.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if bare { text } else { crate::sprig::text::quoted(&text) }
    };
    key.iter().map(part).collect::<Vec<_>>().join(".")
}

/// Returns the table that a value represents: the map itself, or the last one of an array of tables.
fn table_of(value: &Value) -> Option<Value> {
    match value {
        Value::Map(..) => Some(value.clone()),
        Value::List(kind, list) if *kind == TABLES => list.last().cloned(),
        _ => None,
    }
}

fn map(value: &Value) -> &GoMap {
    value.as_map().expect("tables are maps")
}

/// Inserts a value of an inline table under its dotted key.
pub(super) fn insert(root: &Value, key: &[Vec<u8>], value: Value) -> Result<(), String> {
    let (last, parents) = key.split_last().expect("a key has a part");
    let mut here = root.clone();
    for part in parents {
        let next = map(&here).get(part).unwrap_or_else(empty);
        if next.as_map().is_none() {
            return Err(format!("{} is not a table", crate::sprig::text::quoted(&shown(parents))));
        }
        map(&here).insert(Str::new(part), next.clone());
        here = next;
    }
    map(&here).insert(Str::new(last), value);
    Ok(())
}

impl TableTree {
    pub(super) fn new() -> TableTree {
        let (context, name) = (Vec::new(), Vec::new());
        TableTree { root: empty(), context, name, implied: BTreeSet::new(), arrays: BTreeSet::new() }
    }

    /// Returns the key that errors contain.
    pub(super) fn current(&self) -> String {
        match (self.name.as_slice(), shown(&self.context)) {
            ([], context) => context,
            (name, context) if context.is_empty() => String::from_utf8_lossy(name).into_owned(),
            (name, context) => format!("{context}.{}", String::from_utf8_lossy(name)),
        }
    }

    fn full(&self) -> KeyPath {
        [self.context.as_slice(), std::slice::from_ref(&self.name)].concat()
    }

    pub(super) fn mark_array(&mut self) {
        let key = self.full();
        self.arrays.insert(key);
    }

    /// Moves to the table of a header and creates missing tables.
    pub(super) fn open(&mut self, key: &[Vec<u8>], array: bool) -> Result<(), String> {
        let (last, parents) = key.split_last().expect("a key has a part");
        let mut here = self.root.clone();
        let mut context: KeyPath = Vec::new();
        for part in parents {
            context.push(part.clone());
            if !map(&here).contains(part) {
                self.implied.insert(context.clone());
                map(&here).insert(Str::new(part), empty());
            }
            let found = map(&here).get(part).and_then(|value| table_of(&value));
            here = found.ok_or_else(|| format!("Key '{}' was already created as a hash.", shown(&context)))?;
        }
        self.context = context;
        if array {
            let list = match map(&here).get(last) {
                None => Vec::new(),
                Some(Value::List(kind, list)) if kind == TABLES => list.to_vec(),
                Some(_) => {
                    let key = shown(key);
                    return Err(format!("Key '{key}' was already created and cannot be used as an array."));
                }
            };
            let list = [list, vec![empty()]].concat();
            map(&here).insert(Str::new(last), Value::typed_list(TABLES, list));
        } else {
            self.put(last, empty())?;
        }
        self.context.push(last.clone());
        Ok(())
    }

    /// Moves to a dotted key and returns the previous position.
    pub(super) fn enter(&mut self, key: &[Vec<u8>]) -> Result<TablePosition, String> {
        let outer = TablePosition(self.context.clone(), Vec::new());
        let (last, parents) = key.split_last().expect("a key has a part");
        self.name = last.clone();
        for part in parents {
            let table = [self.context.as_slice(), std::slice::from_ref(part)].concat();
            self.implied.insert(table.clone());
            self.open(&table, false)?;
        }
        Ok(outer)
    }

    /// Moves into an inline table that is the value of the current key.
    pub(super) fn enter_inline(&mut self, in_array: bool) -> Result<TablePosition, String> {
        let outer = TablePosition(self.context.clone(), std::mem::take(&mut self.name));
        let table = [self.context.as_slice(), std::slice::from_ref(&outer.1)].concat();
        self.implied.insert(table.clone());
        self.open(&table, in_array)?;
        Ok(outer)
    }

    pub(super) fn leave(&mut self, place: TablePosition) {
        TablePosition(self.context, self.name) = place;
    }

    /// Returns to a table. Errors still contain the last key inside it.
    pub(super) fn step_out(&mut self, place: TablePosition) {
        self.context = place.0;
    }

    /// Sets the value of the current key.
    pub(super) fn set(&mut self, value: Value) -> Result<(), String> {
        let name = self.name.clone();
        self.put(&name, value)
    }

    fn put(&mut self, name: &[u8], value: Value) -> Result<(), String> {
        let mut here = self.root.clone();
        for (index, part) in self.context.iter().enumerate() {
            let found = map(&here).get(part).and_then(|value| table_of(&value));
            let taken = || format!("Key '{}' has already been defined.", shown(&self.context[..=index]));
            here = found.ok_or_else(taken)?;
        }
        let key = [self.context.as_slice(), &[name.to_vec()]].concat();
        if !map(&here).contains(name) {
            map(&here).insert(Str::new(name), value);
            return Ok(());
        }
        if !self.implied.remove(&key) {
            return Err(format!("Key '{}' has already been defined.", shown(&key)));
        }
        // An implicit table stays. An array that an inline table in it has marked gets its elements.
        if self.arrays.contains(&key) {
            map(&here).insert(Str::new(name), value);
        }
        Ok(())
    }
}
