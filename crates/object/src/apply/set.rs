//! Sets of paths, as a tree: what a manager owns, what a write changed.

use std::cmp::Ordering;

use super::element::Element;

/// A set of paths. The nodes of one level are sorted and unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Set<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
}

/// A path element, whether the path that ends here is in the set, and the paths that go on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node<'a> {
    pub(crate) element: Element<'a>,
    pub(crate) member: bool,
    pub(crate) children: Set<'a>,
}

impl<'a> Set<'a> {
    /// A set of paths made of field names only.
    pub(crate) fn of_fields(paths: &[&[&'a str]]) -> Self {
        let mut set = Set::default();
        for path in paths {
            let mut level = &mut set;
            for (i, field) in path.iter().enumerate() {
                let node = level.entry(Element::Field(field));
                node.member |= i + 1 == path.len();
                level = &mut node.children;
            }
        }
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of that element, made when it is not there.
    pub(crate) fn entry(&mut self, element: Element<'a>) -> &mut Node<'a> {
        let place = match self.nodes.last() {
            // Objects are walked in order: nearly every node comes last.
            None => Err(0),
            Some(last) => match last.element.cmp(&element) {
                Ordering::Less => Err(self.nodes.len()),
                Ordering::Equal => Ok(self.nodes.len() - 1),
                Ordering::Greater => self.nodes.binary_search_by(|n| n.element.cmp(&element)),
            },
        };
        let place = match place {
            Ok(found) => found,
            Err(gap) => {
                self.nodes.insert(gap, Node { element, member: false, children: Set::default() });
                gap
            }
        };
        &mut self.nodes[place]
    }

    /// Adds what lies below `element`, and `element` itself when `member`. Nothing is added for nothing.
    pub(crate) fn graft(&mut self, element: Element<'a>, member: bool, children: Set<'a>) {
        if !member && children.is_empty() {
            return;
        }
        let node = self.entry(element);
        node.member |= member;
        if node.children.is_empty() {
            node.children = children;
        } else if !children.is_empty() {
            node.children = node.children.union(&children);
        }
    }

    pub(crate) fn get(&self, element: &Element<'_>) -> Option<&Node<'a>> {
        let place = self.nodes.binary_search_by(|n| n.element.cmp(element)).ok()?;
        self.nodes.get(place)
    }

    /// The paths in either set.
    pub(crate) fn union(&self, other: &Set<'a>) -> Set<'a> {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        walk_pairs(self, other, |a, b| match (a, b) {
            (Some(a), Some(b)) => nodes.push(Node {
                element: a.element.clone(),
                member: a.member || b.member,
                children: a.children.union(&b.children),
            }),
            (one, other) => nodes.extend(one.or(other).cloned()),
        });
        Set { nodes }
    }

    /// The paths in both sets.
    pub(crate) fn intersection(&self, other: &Set<'_>) -> Set<'a> {
        let mut nodes = Vec::new();
        walk_pairs(self, other, |a, b| {
            if let (Some(a), Some(b)) = (a, b) {
                push(&mut nodes, a, a.member && b.member, a.children.intersection(&b.children));
            }
        });
        Set { nodes }
    }

    /// The paths that are not in `other`.
    pub(crate) fn difference(&self, other: &Set<'_>) -> Set<'a> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        walk_pairs(self, other, |a, b| match (a, b) {
            (Some(a), Some(b)) => push(&mut nodes, a, a.member && !b.member, a.children.difference(&b.children)),
            (Some(a), None) => nodes.push(a.clone()),
            _ => {}
        });
        Set { nodes }
    }

    /// The paths that neither are in `other` nor lie below one that is.
    pub(crate) fn recursive_difference(&self, other: &Set<'_>) -> Set<'a> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        walk_pairs(self, other, |a, b| match (a, b) {
            (Some(_), Some(b)) if b.member => {}
            (Some(a), Some(b)) => push(&mut nodes, a, a.member, a.children.recursive_difference(&b.children)),
            (Some(a), None) => nodes.push(a.clone()),
            _ => {}
        });
        Set { nodes }
    }

    /// Does any path of this set lie in `other`?
    pub(crate) fn intersects(&self, other: &Set<'_>) -> bool {
        let mut found = false;
        walk_pairs(self, other, |a, b| {
            if let (false, Some(a), Some(b)) = (found, a, b) {
                found = (a.member && b.member) || a.children.intersects(&b.children);
            }
        });
        found
    }

    /// Only the paths that no other path of the set goes on from.
    pub(crate) fn leaves(&self) -> Set<'a> {
        let nodes = self.nodes.iter().map(|n| Node {
            element: n.element.clone(),
            member: n.member && n.children.is_empty(),
            children: n.children.leaves(),
        });
        Set { nodes: nodes.collect() }
    }

    /// Calls `f` with every path: those that end at a level first, then those that go deeper.
    pub(crate) fn each_path<'s>(&'s self, prefix: &mut Vec<&'s Element<'a>>, f: &mut impl FnMut(&[&'s Element<'a>])) {
        for node in self.nodes.iter().filter(|n| n.member) {
            prefix.push(&node.element);
            f(prefix);
            prefix.pop();
        }
        for node in &self.nodes {
            prefix.push(&node.element);
            node.children.each_path(prefix, f);
            prefix.pop();
        }
    }
}

fn push<'a>(nodes: &mut Vec<Node<'a>>, node: &Node<'a>, member: bool, children: Set<'a>) {
    if member || !children.is_empty() {
        nodes.push(Node { element: node.element.clone(), member, children });
    }
}

/// Walks two levels side by side, in order.
fn walk_pairs<'s, 'a, 'b>(
    a: &'s Set<'a>,
    b: &'s Set<'b>,
    mut f: impl FnMut(Option<&'s Node<'a>>, Option<&'s Node<'b>>),
) {
    let (mut i, mut j) = (0, 0);
    loop {
        match (a.nodes.get(i), b.nodes.get(j)) {
            (None, None) => return,
            (Some(x), None) => {
                f(Some(x), None);
                i += 1;
            }
            (None, Some(y)) => {
                f(None, Some(y));
                j += 1;
            }
            (Some(x), Some(y)) => match x.element.cmp(&y.element) {
                Ordering::Less => {
                    f(Some(x), None);
                    i += 1;
                }
                Ordering::Greater => {
                    f(None, Some(y));
                    j += 1;
                }
                Ordering::Equal => {
                    f(Some(x), Some(y));
                    i += 1;
                    j += 1;
                }
            },
        }
    }
}
