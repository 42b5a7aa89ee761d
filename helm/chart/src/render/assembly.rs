//! Charts with a selection of subcharts: imported values and parsed templates.

use std::sync::Arc;

use switchboard_template::{Str, TemplateSet};

use super::state::TplCache;
use super::template_pos::TemplatePos;
use super::{error_text, functions, template_pos};
use crate::coalesce::CoalesceError;
use crate::instance::ChartInstance;
use crate::warnings::ChartWarnings;

/// Name of the root template, which error texts contain.
const ROOT: &str = "gotpl";

/// A chart with a selection of subcharts, imported values and parsed templates.
pub struct AssembledChart {
    pub root: ChartInstance,
    /// Templates in the order in which Helm parses and executes them.
    pub templates: Vec<ChartTemplate>,
    /// Parsed templates, or Helm's error for the first invalid one.
    pub set: Result<Arc<TemplateSet>, (String, Option<Box<TemplatePos>>)>,
    pub parsed: Arc<TplCache>,
    pub warnings: Vec<String>,
}

pub struct ChartTemplate {
    pub name: String,
    pub base: String,
    /// Index of its chart in the tree.
    pub chart: usize,
    pub text: Str,
}

impl AssembledChart {
    /// Imports values and parses templates.
    pub fn new(mut root: ChartInstance) -> Result<Self, CoalesceError> {
        let mut warnings = ChartWarnings::default();
        root.import(&mut warnings)?;
        let mut templates = Vec::new();
        collect(&root, &root.name, &mut 0, &mut templates);
        templates.sort_by(|a, b| order(&b.name).cmp(&order(&a.name)));
        let set = parse(&templates);
        Ok(Self { root, templates, set, parsed: Arc::default(), warnings: warnings.into_lines() })
    }
}

/// Returns the sort key of a template. Templates closer to the root come later, so that their definitions win.
fn order(name: &str) -> (usize, &str) {
    (name.matches('/').count(), name)
}

fn collect(chart: &ChartInstance, path: &str, next: &mut usize, templates: &mut Vec<ChartTemplate>) {
    let at = *next;
    *next += 1;
    for child in &chart.children {
        collect(child, &format!("{path}/charts/{}", child.name), next, templates);
    }
    for file in &chart.chart.templates {
        if chart.chart.metadata.is_library() && !file.base().starts_with('_') {
            continue;
        }
        templates.push(ChartTemplate {
            name: format!("{path}/{}", file.name),
            base: format!("{path}/templates"),
            chart: at,
            text: Str::new(&file.data),
        });
    }
}

fn parse(templates: &[ChartTemplate]) -> Result<Arc<TemplateSet>, (String, Option<Box<TemplatePos>>)> {
    let mut set = TemplateSet::new(ROOT, functions::functions());
    for template in templates {
        if let Err(error) = set.parse(&template.name, &template.text) {
            return Err((error_text::parse_error_text(&template.name, &error), template_pos::locate_error(&error)));
        }
    }
    Ok(Arc::new(set))
}

/// Returns full names and texts of the files in `crds/` of a chart and its subcharts.
pub fn crds(root: &ChartInstance) -> Vec<(String, String)> {
    fn collect(chart: &ChartInstance, path: &str, crds: &mut Vec<(String, String)>) {
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
