//! Lists and maps. Maps are shared and change under those who hold them, as Go's do; no function of a template changes a
//! list in place, so lists do not.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use crate::value::{Str, Value, cycle};

/// The elements of a slice.
#[derive(Debug, Default)]
pub struct List {
    items: Vec<Value>,
    nil: bool,
}

impl List {
    /// A slice of these elements.
    pub fn new(items: Vec<Value>) -> List {
        List { items, nil: false }
    }

    /// The nil slice: empty, equal to nil, `null` in JSON.
    pub fn nil() -> List {
        List { items: Vec::new(), nil: true }
    }

    /// Whether it is the nil slice.
    pub fn is_nil(&self) -> bool {
        self.nil
    }
}

impl std::ops::Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// The entries of a map with string keys, in the order of its keys, which is the order `range` takes.
#[derive(Default)]
pub struct Map {
    entries: RefCell<BTreeMap<Str, Value>>,
    nil: bool,
    /// Whether it is looked at when cycles are freed.
    pub(super) watched: Cell<bool>,
}

impl Map {
    /// A map of these entries.
    pub fn new(entries: BTreeMap<Str, Value>) -> Map {
        Map { entries: RefCell::new(entries), nil: false, watched: Cell::new(false) }
    }

    /// The nil map: empty, equal to nil, `null` in JSON; what is set in it is lost.
    pub fn nil() -> Map {
        Map { entries: RefCell::default(), nil: true, watched: Cell::new(false) }
    }

    /// Whether it is the nil map.
    pub fn is_nil(&self) -> bool {
        self.nil
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        self.entries.borrow().get(key).cloned()
    }

    /// The same for a key that is a string already.
    #[inline]
    pub(crate) fn find(&self, key: &Str) -> Option<Value> {
        self.entries.borrow().get(key).cloned()
    }

    /// Whether there is such a key.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.entries.borrow().contains_key(key)
    }

    /// Sets a key. Go panics on the nil map, so callers ask [`Map::is_nil`] first; it stays empty.
    pub fn insert(&self, key: Str, value: Value) {
        if !self.nil {
            self.entries.borrow_mut().insert(key, value);
        }
    }

    /// Like [`Map::insert`], by a template: what it puts in may hold the map itself.
    pub(crate) fn link(self: &Rc<Map>, key: Str, value: Value) {
        if matches!(value, Value::List(..) | Value::Map(..)) {
            cycle::watch(self);
        }
        self.insert(key, value);
    }

    /// Takes all entries out.
    pub(super) fn clear(&self) -> BTreeMap<Str, Value> {
        self.entries.take()
    }

    /// Removes a key and gives what it had.
    pub fn remove(&self, key: &[u8]) -> Option<Value> {
        self.entries.borrow_mut().remove(key)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// The entries, to be read; do not call back into a template while holding them.
    pub fn entries(&self) -> Ref<'_, BTreeMap<Str, Value>> {
        self.entries.borrow()
    }

    /// The entries as they are now, whatever happens to the map later.
    pub fn snapshot(&self) -> Vec<(Str, Value)> {
        self.entries.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.borrow().fmt(f)
    }
}

impl List {
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.items)
    }
}

impl Map {
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(self.entries.get_mut()).into_values().collect()
    }
}
