//! Where values go: the tree of tables, and which of them may still be written.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{Map, Shape, Str, Type, Value};

/// `[]map[string]interface {}`, what `[[a]]` makes.
pub(super) const TABLES: Type = Type(&Shape::Slice(Type::MAP));

type Key = Vec<Vec<u8>>;

/// The document as far as it is read, and the place in it.
pub(super) struct Tables {
    pub root: Value,
    context: Key,
    name: Vec<u8>,
    /// Tables that were only implied, by `a.b = 1` or `[a.b]`, and may be written out once.
    implied: BTreeSet<Key>,
    arrays: BTreeSet<Key>,
}

/// A place to return to.
pub(super) struct Place(Key, Vec<u8>);

fn empty() -> Value {
    Value::typed_map(Type::MAP, BTreeMap::new())
}

fn shown(key: &[Vec<u8>]) -> String {
    let part = |part: &Vec<u8>| {
        let text = String::from_utf8_lossy(part).into_owned();
        let bare = !part.is_empty() && part.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if bare { text } else { crate::sprig::text::quoted(&text) }
    };
    key.iter().map(part).collect::<Vec<_>>().join(".")
}

/// The table that a value stands for: itself, or the last of several.
fn table_of(value: &Value) -> Option<Value> {
    match value {
        Value::Map(..) => Some(value.clone()),
        Value::List(kind, list) if *kind == TABLES => list.last().cloned(),
        _ => None,
    }
}

fn map(value: &Value) -> &Map {
    value.as_map().expect("tables are maps")
}

/// Puts a value of an inline table under its dotted key.
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

impl Tables {
    pub(super) fn new() -> Tables {
        let (context, name) = (Vec::new(), Vec::new());
        Tables { root: empty(), context, name, implied: BTreeSet::new(), arrays: BTreeSet::new() }
    }

    /// The key that errors name.
    pub(super) fn current(&self) -> String {
        match (self.name.as_slice(), shown(&self.context)) {
            ([], context) => context,
            (name, context) if context.is_empty() => String::from_utf8_lossy(name).into_owned(),
            (name, context) => format!("{context}.{}", String::from_utf8_lossy(name)),
        }
    }

    fn full(&self) -> Key {
        [self.context.as_slice(), std::slice::from_ref(&self.name)].concat()
    }

    pub(super) fn mark_array(&mut self) {
        let key = self.full();
        self.arrays.insert(key);
    }

    /// Goes to the table of a header, making what is missing.
    pub(super) fn open(&mut self, key: &[Vec<u8>], array: bool) -> Result<(), String> {
        let (last, parents) = key.split_last().expect("a key has a part");
        let mut here = self.root.clone();
        let mut context: Key = Vec::new();
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

    /// Goes under a dotted key; gives the place to return to.
    pub(super) fn enter(&mut self, key: &[Vec<u8>]) -> Result<Place, String> {
        let outer = Place(self.context.clone(), Vec::new());
        let (last, parents) = key.split_last().expect("a key has a part");
        self.name = last.clone();
        for part in parents {
            let table = [self.context.as_slice(), std::slice::from_ref(part)].concat();
            self.implied.insert(table.clone());
            self.open(&table, false)?;
        }
        Ok(outer)
    }

    /// Goes into an inline table that is the value of the current key.
    pub(super) fn enter_inline(&mut self, in_array: bool) -> Result<Place, String> {
        let outer = Place(self.context.clone(), std::mem::take(&mut self.name));
        let table = [self.context.as_slice(), std::slice::from_ref(&outer.1)].concat();
        self.implied.insert(table.clone());
        self.open(&table, in_array)?;
        Ok(outer)
    }

    pub(super) fn leave(&mut self, place: Place) {
        Place(self.context, self.name) = place;
    }

    /// Returns to a table; errors go on naming the last key in it.
    pub(super) fn step_out(&mut self, place: Place) {
        self.context = place.0;
    }

    /// Gives the current key its value.
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
        // What was implied stays; an array that an inline table in it marked gets its elements.
        if self.arrays.contains(&key) {
            map(&here).insert(Str::new(name), value);
        }
        Ok(())
    }
}
