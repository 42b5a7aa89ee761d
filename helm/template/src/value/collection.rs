//! Lists and maps. As in Go, maps are shared, and a change is visible through every reference. Lists are immutable,
//! because no template function changes a list in place.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use crate::value::{Str, Value, cycle};

/// Elements of a slice.
#[derive(Debug, Default)]
pub struct GoSlice {
    items: Vec<Value>,
    nil: bool,
}

impl GoSlice {
    /// Creates a slice of these elements.
    pub fn new(items: Vec<Value>) -> GoSlice {
        GoSlice { items, nil: false }
    }

    /// Creates the nil slice: empty, equal to nil, `null` in JSON.
    pub fn nil() -> GoSlice {
        GoSlice { items: Vec::new(), nil: true }
    }

    /// Whether this is the nil slice.
    pub fn is_nil(&self) -> bool {
        self.nil
    }
}

impl std::ops::Deref for GoSlice {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// Entries of a map with string keys, sorted by key, which is the order of `range`.
#[derive(Default)]
pub struct GoMap {
    entries: RefCell<BTreeMap<Str, Value>>,
    nil: bool,
    /// Whether the map is checked when cycles are freed.
    pub(super) watched: Cell<bool>,
}

impl GoMap {
    /// Creates a map of these entries.
    pub fn new(entries: BTreeMap<Str, Value>) -> GoMap {
        GoMap { entries: RefCell::new(entries), nil: false, watched: Cell::new(false) }
    }

    /// Creates the nil map: empty, equal to nil, `null` in JSON. It ignores new entries.
    pub fn nil() -> GoMap {
        GoMap { entries: RefCell::default(), nil: true, watched: Cell::new(false) }
    }

    /// Whether this is the nil map.
    pub fn is_nil(&self) -> bool {
        self.nil
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        self.entries.borrow().get(key).cloned()
    }

    /// Returns the value of a key that is already a [`Str`].
    #[inline]
    pub(crate) fn find(&self, key: &Str) -> Option<Value> {
        self.entries.borrow().get(key).cloned()
    }

    /// Whether the map has the key.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.entries.borrow().contains_key(key)
    }

    /// Sets a key. The nil map stays empty; Go panics, so callers check [`GoMap::is_nil`] first.
    pub fn insert(&self, key: Str, value: Value) {
        if !self.nil {
            self.entries.borrow_mut().insert(key, value);
        }
    }

    /// Sets a key for a template. The value may contain the map itself.
    pub(crate) fn link(self: &Rc<GoMap>, key: Str, value: Value) {
        if matches!(value, Value::List(..) | Value::Map(..)) {
            cycle::watch(self);
        }
        self.insert(key, value);
    }

    /// Removes and returns all entries.
    pub(super) fn clear(&self) -> BTreeMap<Str, Value> {
        self.entries.take()
    }

    /// Removes a key and returns its value.
    pub fn remove(&self, key: &[u8]) -> Option<Value> {
        self.entries.borrow_mut().remove(key)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// Borrows the entries. Do not call back into a template while holding the borrow.
    pub fn entries(&self) -> Ref<'_, BTreeMap<Str, Value>> {
        self.entries.borrow()
    }

    /// Returns a copy of the current entries.
    pub fn snapshot(&self) -> Vec<(Str, Value)> {
        self.entries.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl fmt::Debug for GoMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.borrow().fmt(f)
    }
}

impl GoSlice {
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.items)
    }
}

impl GoMap {
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(self.entries.get_mut()).into_values().collect()
    }
}
