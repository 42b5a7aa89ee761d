//! Sets of paths, as a tree: paths that a manager owns or that a write changed.

use std::cmp::Ordering;

use super::element::PathElement;

/// Set of paths. The nodes of one level are sorted and unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSet<'a> {
    pub(crate) nodes: Vec<FieldSetNode<'a>>,
}

/// Path element, whether the path that ends here is in the set, and the paths below it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldSetNode<'a> {
    pub(crate) element: PathElement<'a>,
    pub(crate) member: bool,
    pub(crate) children: FieldSet<'a>,
}

impl<'a> FieldSet<'a> {
    /// Returns a set of paths that consist of field names only.
    pub(crate) fn of_fields(paths: &[&[&'a str]]) -> Self {
        let mut set = FieldSet::default();
        for path in paths {
            let mut level = &mut set;
            for (i, field) in path.iter().enumerate() {
                let node = level.entry(PathElement::Field(field));
                node.member |= i + 1 == path.len();
                level = &mut node.children;
            }
        }
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the node of that element, and creates it if it does not exist.
    pub(crate) fn entry(&mut self, element: PathElement<'a>) -> &mut FieldSetNode<'a> {
        let place = match self.nodes.last() {
            // Objects are walked in order, so nearly every node is appended at the end.
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
                self.nodes.insert(gap, FieldSetNode { element, member: false, children: FieldSet::default() });
                gap
            }
        };
        &mut self.nodes[place]
    }

    /// Adds the paths below `element`, and `element` itself if `member`. Adds nothing if there is nothing to add.
    pub(crate) fn insert_subtree(&mut self, element: PathElement<'a>, member: bool, children: FieldSet<'a>) {
        if !member && children.is_empty() {
            return;
        }
        let node = self.entry(element);
        node.member |= member;
        node.children.union_with(children);
    }

    pub(crate) fn get(&self, element: &PathElement<'_>) -> Option<&FieldSetNode<'a>> {
        let place = self.nodes.binary_search_by(|n| n.element.cmp(element)).ok()?;
        self.nodes.get(place)
    }

    /// Adds the paths of another set.
    pub(crate) fn union_with(&mut self, other: FieldSet<'a>) {
        let follows = |last: &FieldSetNode<'a>| other.nodes.first().is_none_or(|first| last.element < first.element);
        if self.nodes.last().is_none_or(follows) {
            self.nodes.extend(other.nodes);
            return;
        }
        // Both levels are merged in one pass, because objects of a megabyte have levels of a hundred thousand nodes.
        let mut nodes = Vec::with_capacity(self.nodes.len() + other.nodes.len());
        let mut rest = other.nodes.into_iter().peekable();
        for mut node in std::mem::take(&mut self.nodes) {
            while let Some(before) = rest.next_if(|next| next.element < node.element) {
                nodes.push(before);
            }
            if let Some(same) = rest.next_if(|next| next.element == node.element) {
                node.member |= same.member;
                node.children.union_with(same.children);
            }
            nodes.push(node);
        }
        nodes.extend(rest);
        self.nodes = nodes;
    }

    /// Returns the paths in both sets.
    pub(crate) fn intersection(&self, other: &FieldSet<'_>) -> FieldSet<'a> {
        let mut nodes = Vec::new();
        walk_pairs(self, other, |a, b| {
            if let (Some(a), Some(b)) = (a, b) {
                push(&mut nodes, a, a.member && b.member, a.children.intersection(&b.children));
            }
        });
        FieldSet { nodes }
    }

    /// Removes the paths that are in `other`.
    pub(crate) fn subtract(&mut self, other: &FieldSet<'_>) {
        self.subtract_with(other, |node, taken| {
            node.member &= !taken.member;
            node.children.subtract(&taken.children);
        });
    }

    /// Removes the paths that are in `other` or below a path in `other`.
    pub(crate) fn subtract_below(&mut self, other: &FieldSet<'_>) {
        self.subtract_with(other, |node, taken| {
            if taken.member {
                node.member = false;
                node.children = FieldSet::default();
            } else {
                node.children.subtract_below(&taken.children);
            }
        });
    }

    fn subtract_with(&mut self, other: &FieldSet<'_>, take: impl Fn(&mut FieldSetNode<'a>, &FieldSetNode<'_>)) {
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

    /// Returns the paths that are not in `other`.
    pub(crate) fn difference(&self, other: &FieldSet<'_>) -> FieldSet<'a> {
        let mut left = self.clone();
        left.subtract(other);
        left
    }

    /// Whether all paths are in `other`.
    pub(crate) fn is_within(&self, other: &FieldSet<'_>) -> bool {
        let mut within = true;
        walk_pairs(self, other, |a, b| match (a, b) {
            (Some(a), Some(b)) => within &= (b.member || !a.member) && a.children.is_within(&b.children),
            (Some(_), None) => within = false,
            _ => {}
        });
        within
    }

    /// Returns only the paths that are not a prefix of another path in the set.
    pub(crate) fn leaves(&self) -> FieldSet<'a> {
        let nodes = self.nodes.iter().map(|n| FieldSetNode {
            element: n.element.clone(),
            member: n.member && n.children.is_empty(),
            children: n.children.leaves(),
        });
        FieldSet { nodes: nodes.collect() }
    }

    /// Calls `f` with every path: first the paths that end at a level, then the deeper ones.
    pub(crate) fn for_each_path<'s>(
        &'s self,
        prefix: &mut Vec<&'s PathElement<'a>>,
        f: &mut impl FnMut(&[&'s PathElement<'a>]),
    ) {
        for node in self.nodes.iter().filter(|n| n.member) {
            prefix.push(&node.element);
            f(prefix);
            prefix.pop();
        }
        for node in &self.nodes {
            prefix.push(&node.element);
            node.children.for_each_path(prefix, f);
            prefix.pop();
        }
    }
}

fn push<'a>(nodes: &mut Vec<FieldSetNode<'a>>, node: &FieldSetNode<'a>, member: bool, children: FieldSet<'a>) {
    if member || !children.is_empty() {
        nodes.push(FieldSetNode { element: node.element.clone(), member, children });
    }
}

/// Walks two levels in parallel, in order.
fn walk_pairs<'s, 'a, 'b>(
    a: &'s FieldSet<'a>,
    b: &'s FieldSet<'b>,
    mut f: impl FnMut(Option<&'s FieldSetNode<'a>>, Option<&'s FieldSetNode<'b>>),
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
