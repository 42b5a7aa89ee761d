//! A chart with the subcharts its values chose: imported values, parsed templates.

use std::sync::Arc;

use switchboard_template::{Set, Str};

use super::place::Place;
use super::run::Parsed;
use super::{functions, place, problem};
use crate::coalesce::CoalesceError;
use crate::instance::Instance;
use crate::talk::Talk;

/// The name of the template all others are associated with; it stands in error texts.
const ROOT: &str = "gotpl";

/// One choice of subcharts: with imported values and parsed templates.
pub struct Assembled {
    pub root: Instance,
    /// The templates in the order Helm parses and executes them.
    pub templates: Vec<Template>,
    /// All of them parsed, or Helm's words for the first that is none.
    pub set: Result<Arc<Set>, (String, Option<Box<Place>>)>,
    pub parsed: Arc<Parsed>,
    pub warnings: Vec<String>,
}

pub struct Template {
    pub name: String,
    pub base: String,
    /// The place of its chart in the tree.
    pub chart: usize,
    pub text: Str,
}

impl Assembled {
    /// Imports values and parses templates.
    pub fn new(mut root: Instance) -> Result<Self, CoalesceError> {
        let mut talk = Talk::default();
        root.import(&mut talk)?;
        let mut templates = Vec::new();
        collect(&root, &root.name, &mut 0, &mut templates);
        templates.sort_by(|a, b| order(&b.name).cmp(&order(&a.name)));
        let set = parse(&templates);
        Ok(Self { root, templates, set, parsed: Arc::default(), warnings: talk.into_lines() })
    }
}

/// Higher templates come after deeper ones, so that what they define wins.
fn order(name: &str) -> (usize, &str) {
    (name.matches('/').count(), name)
}

fn collect(chart: &Instance, path: &str, next: &mut usize, templates: &mut Vec<Template>) {
    let at = *next;
    *next += 1;
    for child in &chart.children {
        collect(child, &format!("{path}/charts/{}", child.name), next, templates);
    }
    for file in &chart.chart.templates {
        if chart.chart.metadata.is_library() && !file.base().starts_with('_') {
            continue;
        }
        templates.push(Template {
            name: format!("{path}/{}", file.name),
            base: format!("{path}/templates"),
            chart: at,
            text: Str::new(&file.data),
        });
    }
}

fn parse(templates: &[Template]) -> Result<Arc<Set>, (String, Option<Box<Place>>)> {
    let mut set = Set::new(ROOT, functions::functions());
    for template in templates {
        if let Err(error) = set.parse(&template.name, &template.text) {
            return Err((problem::of_parsing(&template.name, &error), place::of_error(&error)));
        }
    }
    Ok(Arc::new(set))
}

/// The files of `crds/` of a chart and its subcharts, by their full names.
pub fn crds(root: &Instance) -> Vec<(String, String)> {
    fn collect(chart: &Instance, path: &str, crds: &mut Vec<(String, String)>) {
        let manifest = |name: &str| {
            let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
            matches!(extension.as_deref(), Some("yaml" | "yml" | "json"))
        };
        let own = chart.chart.files.iter().filter(|file| file.name.starts_with("crds/") && manifest(&file.name));
        crds.extend(own.map(|file| (format!("{path}/{}", file.name), file.text().into_owned())));
        for child in &chart.children {
            collect(child, &format!("{path}/charts/{}", child.name), crds);
        }
    }
    let mut crds = Vec::new();
    collect(root, &root.name, &mut crds);
    crds
}
