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
        node.children.unite(children);
    }

    pub(crate) fn get(&self, element: &Element<'_>) -> Option<&Node<'a>> {
        let place = self.nodes.binary_search_by(|n| n.element.cmp(element)).ok()?;
        self.nodes.get(place)
    }

    /// Adds the paths of another set.
    pub(crate) fn unite(&mut self, other: Set<'a>) {
        let follows = |last: &Node<'a>| other.nodes.first().is_none_or(|first| last.element < first.element);
        if self.nodes.last().is_none_or(follows) {
            self.nodes.extend(other.nodes);
            return;
        }
        // Side by side, not one by one: objects of a megabyte have levels of a hundred thousand nodes.
        let mut nodes = Vec::with_capacity(self.nodes.len() + other.nodes.len());
        let mut rest = other.nodes.into_iter().peekable();
        for mut node in std::mem::take(&mut self.nodes) {
            while let Some(before) = rest.next_if(|next| next.element < node.element) {
                nodes.push(before);
            }
            if let Some(same) = rest.next_if(|next| next.element == node.element) {
                node.member |= same.member;
                node.children.unite(same.children);
            }
            nodes.push(node);
        }
        nodes.extend(rest);
        self.nodes = nodes;
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

    /// Takes out the paths that are in `other`.
    pub(crate) fn subtract(&mut self, other: &Set<'_>) {
        self.subtract_with(other, |node, taken| {
            node.member &= !taken.member;
            node.children.subtract(&taken.children);
        });
    }

    /// Takes out the paths that are in `other` or lie below one that is.
    pub(crate) fn subtract_below(&mut self, other: &Set<'_>) {
        self.subtract_with(other, |node, taken| {
            if taken.member {
                node.member = false;
                node.children = Set::default();
            } else {
                node.children.subtract_below(&taken.children);
            }
        });
    }

    fn subtract_with(&mut self, other: &Set<'_>, take: impl Fn(&mut Node<'a>, &Node<'_>)) {
        let mut rest = other.nodes.as_slice();
        if rest.is_empty() {
            return;
        }
        self.nodes.retain_mut(|node| {
            while let [first, tail @ ..] = rest {
                match first.element.cmp(&node.element) {
                    Ordering::Less => rest = tail,
                    Ordering::Equal => {
                        rest = tail;
                        take(node, first);
                        return node.member || !node.children.is_empty();
                    }
                    Ordering::Greater => return true,
                }
            }
            true
        });
    }

    /// The paths that are not in `other`.
    pub(crate) fn difference(&self, other: &Set<'_>) -> Set<'a> {
        let mut left = self.clone();
        left.subtract(other);
        left
    }

    /// Are all paths in `other`?
    pub(crate) fn is_within(&self, other: &Set<'_>) -> bool {
        let mut within = true;
        walk_pairs(self, other, |a, b| match (a, b) {
            (Some(a), Some(b)) => within &= (b.member || !a.member) && a.children.is_within(&b.children),
            (Some(_), None) => within = false,
            _ => {}
        });
        within
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
