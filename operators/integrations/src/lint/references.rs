//! Checks for broken and circular references in files that integrations depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::{LintFindings, LintRule};
use crate::data_field::{DataField, reference};
use crate::model::{AWS_ACCOUNT, CLUSTER, INTEGRATION, LEAN_NAMESPACE, NAMESPACE, OCM_ORGANIZATION};
use crate::source::{Bundle, Datafile};

/// Schemas whose files are the starting points.
const ROOTS: &[&str] = &[INTEGRATION, NAMESPACE, LEAN_NAMESPACE, CLUSTER, AWS_ACCOUNT, OCM_ORGANIZATION];

/// Follows all references from the starting points, and visits each file once.
pub fn all(bundle: &Bundle, found: &mut LintFindings) {
    let mut walk = ReferenceWalk::default();
    for file in ROOTS.iter().flat_map(|schema| bundle.of_schema(schema)) {
        walk.visit_from(bundle, file, found);
    }
}

#[derive(Default)]
struct ReferenceWalk {
    done: BTreeSet<Arc<str>>,
    /// Files on the current path, with their positions.
    path: BTreeMap<Arc<str>, usize>,
}

/// File on the current path, with its remaining references.
struct WalkFrame<'b> {
    file: &'b Datafile,
    links: std::vec::IntoIter<DataField<'b>>,
}

impl ReferenceWalk {
    /// Depth-first search with an explicit stack, because a chain of references may be as long as there are files.
    fn visit_from<'b>(&mut self, bundle: &'b Bundle, root: &'b Datafile, found: &mut LintFindings) {
        let mut steps: Vec<WalkFrame<'b>> = self.enter(bundle, root, 0).into_iter().collect();
        while let Some(step) = steps.last_mut() {
            let Some(link) = step.links.next() else {
                self.path.remove(&step.file.path);
                steps.pop();
                continue;
            };
            match link.clone().resolved() {
                Err(problem) => found.warn(LintRule::BrokenReference, problem),
                Ok(target) => {
                    let path = &target.file().path;
                    match self.path.get(path) {
                        Some(&place) => {
                            let circle = steps[place..].iter().map(|step| &*step.file.path);
                            let circle: Vec<&str> = circle.chain([&**path]).collect();
                            found.warn(
                                LintRule::Cycle,
                                link.problem(format!("is part of a cycle: {}", shortened(&circle))),
                            );
                        }
                        None => steps.extend(self.enter(bundle, target.file(), steps.len())),
                    }
                }
            }
        }
    }

    fn enter<'b>(&mut self, bundle: &'b Bundle, file: &'b Datafile, place: usize) -> Option<WalkFrame<'b>> {
        if !self.done.insert(file.path.clone()) {
            return None;
        }
        self.path.insert(file.path.clone(), place);
        let mut links = Vec::new();
        collect(&DataField::root(bundle, file), &mut links);
        Some(WalkFrame { file, links: links.into_iter() })
    }
}

/// Collects all references of a file. The nesting of datafiles is limited by their parser.
fn collect<'b>(field: &DataField<'b>, links: &mut Vec<DataField<'b>>) {
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

/// Shortens a long cycle to its beginning and end.
fn shortened(circle: &[&str]) -> String {
    const SHOWN: usize = 6;
    match circle.len() {
        0..=SHOWN => circle.join(" → "),
        long => format!("{} → … {} more … → {}", circle[..3].join(" → "), long - 5, circle[long - 2..].join(" → ")),
    }
}
