//! References that lead nowhere or in a circle, in the files that integrations depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::{Found, Rule};
use crate::field::{Field, reference};
use crate::model::{AWS_ACCOUNT, CLUSTER, INTEGRATION, LEAN_NAMESPACE, NAMESPACE, OCM_ORGANIZATION};
use crate::source::{Bundle, Datafile};

/// Where integrations begin to refer to others.
const ROOTS: &[&str] = &[INTEGRATION, NAMESPACE, LEAN_NAMESPACE, CLUSTER, AWS_ACCOUNT, OCM_ORGANIZATION];

/// Follows every reference of all files that integrations lead to. A file is looked at once, however many lead to it.
pub fn all(bundle: &Bundle, found: &mut Found) {
    let mut walk = Walk::default();
    for file in ROOTS.iter().flat_map(|schema| bundle.of_schema(schema)) {
        walk.from(bundle, file, found);
    }
}

#[derive(Default)]
struct Walk {
    done: BTreeSet<Arc<str>>,
    /// The files on the way to where the walk is, with their places on it.
    way: BTreeMap<Arc<str>, usize>,
}

/// One file on the way: what it refers to, and how far that is done.
struct Step<'b> {
    file: &'b Datafile,
    links: std::vec::IntoIter<Field<'b>>,
}

impl Walk {
    /// Depth first without the stack of the machine: a chain of references can be as long as there are files.
    fn from<'b>(&mut self, bundle: &'b Bundle, root: &'b Datafile, found: &mut Found) {
        let mut steps: Vec<Step<'b>> = self.enter(bundle, root, 0).into_iter().collect();
        while let Some(step) = steps.last_mut() {
            let Some(link) = step.links.next() else {
                self.way.remove(&step.file.path);
                steps.pop();
                continue;
            };
            match link.clone().followed() {
                Err(problem) => found.warn(Rule::BrokenReference, problem),
                Ok(target) => {
                    let path = &target.file().path;
                    match self.way.get(path) {
                        Some(&place) => {
                            let circle = steps[place..].iter().map(|step| &*step.file.path);
                            let circle: Vec<&str> = circle.chain([&**path]).collect();
                            found.warn(Rule::Cycle, link.problem(format!("leads in a circle: {}", shortened(&circle))));
                        }
                        None => steps.extend(self.enter(bundle, target.file(), steps.len())),
                    }
                }
            }
        }
    }

    fn enter<'b>(&mut self, bundle: &'b Bundle, file: &'b Datafile, place: usize) -> Option<Step<'b>> {
        if !self.done.insert(file.path.clone()) {
            return None;
        }
        self.way.insert(file.path.clone(), place);
        let mut links = Vec::new();
        collect(&Field::of(bundle, file), &mut links);
        Some(Step { file, links: links.into_iter() })
    }
}

/// Everything in a file that is a reference. Datafiles nest no deeper than their reader lets them.
fn collect<'b>(field: &Field<'b>, links: &mut Vec<Field<'b>>) {
    if reference(field.value()).is_some() {
        links.push(field.clone());
        return;
    }
    match field.value() {
        Value::Array(_) => field.list().unwrap_or_default().iter().for_each(|one| collect(one, links)),
        Value::Object(map) => {
            for key in map.keys() {
                if let Ok(Some(one)) = field.literal(key) {
                    collect(&one, links);
                }
            }
        }
        _ => {}
    }
}

/// The beginning and the end of a long circle.
fn shortened(circle: &[&str]) -> String {
    const SHOWN: usize = 6;
    match circle.len() {
        0..=SHOWN => circle.join(" → "),
        long => format!("{} → … {} more … → {}", circle[..3].join(" → "), long - 5, circle[long - 2..].join(" → ")),
    }
}
