//! Cleanup of maps that contain themselves. Templates create them with `set` and `merge`, and reference counting never
//! frees them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use crate::value::{GoMap, GoSlice, Value};

thread_local! {
    /// Maps of this thread into which templates put lists or maps. Values never leave their thread.
    static WATCHED: RefCell<Vec<Weak<GoMap>>> = RefCell::default();
}

/// Registers a map that may become part of a cycle.
pub(super) fn watch(map: &Rc<GoMap>) {
    if !map.watched.replace(true) {
        WATCHED.with_borrow_mut(|watched| watched.push(Rc::downgrade(map)));
    }
}

/// Frees maps that templates of this thread left behind and that only reference themselves and each other.
pub fn free_cycles() {
    let watched = WATCHED.take();
    if watched.is_empty() {
        return;
    }
    let maps: Vec<Rc<GoMap>> = watched.iter().filter_map(Weak::upgrade).collect();
    drop(watched);
    let mut graph = OwnerGraph::default();
    for map in &maps {
        graph.add(CycleNode::Map(map.clone()));
    }
    graph.explore();
    // The list of maps and the graph itself hold one reference each.
    let mut held: Vec<usize> = graph.nodes.iter().map(|node| node.owners() - 1).collect();
    for map in &maps {
        held[graph.places[&address(map)]] -= 1;
    }
    let alive = graph.alive(held);
    let mut garbage = Vec::new();
    for map in maps {
        if alive[graph.places[&address(&map)]] {
            WATCHED.with_borrow_mut(|watched| watched.push(Rc::downgrade(&map)));
        } else {
            garbage.push(map.clear());
        }
    }
    drop(graph);
}

fn address<T>(shared: &Rc<T>) -> usize {
    Rc::as_ptr(shared) as usize
}

enum CycleNode {
    List(Rc<GoSlice>),
    Map(Rc<GoMap>),
}

impl CycleNode {
    fn of(value: &Value) -> Option<CycleNode> {
        match value {
            Value::List(_, list) => Some(CycleNode::List(list.clone())),
            Value::Map(_, map) => Some(CycleNode::Map(map.clone())),
            _ => None,
        }
    }

    fn address(&self) -> usize {
        match self {
            CycleNode::List(list) => address(list),
            CycleNode::Map(map) => address(map),
        }
    }

    fn owners(&self) -> usize {
        match self {
            CycleNode::List(list) => Rc::strong_count(list),
            CycleNode::Map(map) => Rc::strong_count(map),
        }
    }

    fn children(&self) -> Vec<CycleNode> {
        match self {
            CycleNode::List(list) => list.iter().filter_map(CycleNode::of).collect(),
            CycleNode::Map(map) => map.entries().values().filter_map(CycleNode::of).collect(),
        }
    }
}

/// All values reachable from the registered maps. Any other owner of a node, such as a variable, host or caller, is
/// external.
#[derive(Default)]
struct OwnerGraph {
    nodes: Vec<CycleNode>,
    places: HashMap<usize, usize>,
    /// Indexes of the nodes that each node references.
    edges: Vec<Vec<usize>>,
}

impl OwnerGraph {
    fn add(&mut self, node: CycleNode) -> usize {
        let place = self.nodes.len();
        match self.places.entry(node.address()) {
            std::collections::hash_map::Entry::Occupied(known) => *known.get(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(place);
                self.nodes.push(node);
                place
            }
        }
    }

    fn explore(&mut self) {
        while self.edges.len() < self.nodes.len() {
            let children = self.nodes[self.edges.len()].children();
            let edges = children.into_iter().map(|child| self.add(child)).collect();
            self.edges.push(edges);
        }
    }

    /// Returns which nodes have an external owner or are reachable from one. `held` contains the reference counts.
    fn alive(&self, mut held: Vec<usize>) -> Vec<bool> {
        for child in self.edges.iter().flatten() {
            held[*child] -= 1;
        }
        let mut alive: Vec<bool> = held.iter().map(|owners| *owners > 0).collect();
        let mut waiting: Vec<usize> = (0..alive.len()).filter(|place| alive[*place]).collect();
        while let Some(place) = waiting.pop() {
            for child in &self.edges[place] {
                if !std::mem::replace(&mut alive[*child], true) {
                    waiting.push(*child);
                }
            }
        }
        alive
    }
}
