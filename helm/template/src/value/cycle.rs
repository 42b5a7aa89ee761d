//! Maps that hold themselves: a template makes them with `set` and `merge`, and counting owners never frees them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use crate::value::{List, Map, Value};

thread_local! {
    /// Maps that templates of this thread put lists or maps into. Values never leave their thread.
    static WATCHED: RefCell<Vec<Weak<Map>>> = RefCell::default();
}

/// Remembers a map that may be part of a cycle from now on.
pub(super) fn watch(map: &Rc<Map>) {
    if !map.watched.replace(true) {
        WATCHED.with_borrow_mut(|watched| watched.push(Rc::downgrade(map)));
    }
}

/// Frees maps that only themselves and each other hold: those templates of this thread left behind.
pub fn free_cycles() {
    let watched = WATCHED.take();
    if watched.is_empty() {
        return;
    }
    let maps: Vec<Rc<Map>> = watched.iter().filter_map(Weak::upgrade).collect();
    drop(watched);
    let mut graph = Graph::default();
    for map in &maps {
        graph.add(Node::Map(map.clone()));
    }
    graph.explore();
    // The list of maps and the graph itself hold each.
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

enum Node {
    List(Rc<List>),
    Map(Rc<Map>),
}

impl Node {
    fn of(value: &Value) -> Option<Node> {
        match value {
            Value::List(_, list) => Some(Node::List(list.clone())),
            Value::Map(_, map) => Some(Node::Map(map.clone())),
            _ => None,
        }
    }

    fn address(&self) -> usize {
        match self {
            Node::List(list) => address(list),
            Node::Map(map) => address(map),
        }
    }

    fn owners(&self) -> usize {
        match self {
            Node::List(list) => Rc::strong_count(list),
            Node::Map(map) => Rc::strong_count(map),
        }
    }

    fn children(&self) -> Vec<Node> {
        match self {
            Node::List(list) => list.iter().filter_map(Node::of).collect(),
            Node::Map(map) => map.entries().values().filter_map(Node::of).collect(),
        }
    }
}

/// All that is reached from the maps in question. What else owns a node, a variable, a host or a caller, is outside.
#[derive(Default)]
struct Graph {
    nodes: Vec<Node>,
    places: HashMap<usize, usize>,
    /// Of each node, the nodes it holds.
    edges: Vec<Vec<usize>>,
}

impl Graph {
    fn add(&mut self, node: Node) -> usize {
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

    /// Which nodes are owned from outside, or held by one that is. `held` are the owners of each.
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
