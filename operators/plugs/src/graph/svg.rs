//! SVG drawing: plugs on the left, their sockets on the right.

use std::fmt::Write as _;

use switchboard_kernel::state::Health;

use super::missing;
use crate::overview::{PlugOverview, PlugRow};

/// Number of plugs of one socket above which they are drawn as one box with their count.
pub const MAX_DRAWN_PLUGS: usize = 12;

const BOX_WIDTH: usize = 240;
const BOX_HEIGHT: usize = 44;
const GAP: usize = 14;
const MARGIN: usize = 24;
const COLUMN_GAP: usize = 180;
/// Number of characters of a name that fit into a box.
const NAME_CHARS: usize = 30;

/// Returns the drawing.
pub fn svg(overview: &PlugOverview) -> String {
    let mut drawing = Drawing { body: String::new(), y: MARGIN };
    let mut names: Vec<String> = overview.sockets.iter().map(|socket| socket.name.clone()).collect();
    names.extend(missing(overview));
    for name in &names {
        let socket = overview.sockets.iter().find(|socket| socket.name == *name);
        let (word, state) = socket.map_or(("missing".to_string(), Health::Waiting), |s| (s.state.to_string(), s.state));
        let plugs: Vec<&PlugRow> = overview.plugs.iter().filter(|plug| plug.socket == *name).collect();
        drawing.draw_socket(name, &word, state, &plugs);
    }
    let loose: Vec<&PlugRow> = overview.plugs.iter().filter(|plug| plug.socket.is_empty()).collect();
    drawing.draw_unplugged(&loose);
    drawing.finish()
}

struct Drawing {
    body: String,
    y: usize,
}

impl Drawing {
    fn draw_socket(&mut self, socket: &str, word: &str, state: Health, plugs: &[&PlugRow]) {
        let rows = box_rows(plugs);
        let height = rows.len().max(1) * (BOX_HEIGHT + GAP);
        let middle = self.y + height / 2 - GAP / 2;
        let right = MARGIN + BOX_WIDTH + COLUMN_GAP;
        for (number, row) in rows.iter().enumerate() {
            let y = self.y + number * (BOX_HEIGHT + GAP);
            self.draw_line(MARGIN + BOX_WIDTH, y + BOX_HEIGHT / 2, right, middle, row.coupled);
            self.draw_box(MARGIN, y, 3, &row.name, &row.word, row.state);
        }
        self.draw_box(right, middle - BOX_HEIGHT / 2, BOX_HEIGHT / 2, socket, word, state);
        self.y += height;
    }

    fn draw_unplugged(&mut self, plugs: &[&PlugRow]) {
        for row in box_rows(plugs) {
            self.draw_box(MARGIN, self.y, 3, &row.name, &row.word, row.state);
            self.y += BOX_HEIGHT + GAP;
        }
    }

    fn draw_line(&mut self, x1: usize, y1: usize, x2: usize, y2: usize, coupled: bool) {
        let dashes = if coupled { "" } else { " stroke-dasharray=\"5 4\"" };
        let half = (x1 + x2) / 2;
        let _ = writeln!(
            self.body,
            "<path d=\"M{x1} {y1} C{half} {y1} {half} {y2} {x2} {y2}\" fill=\"none\" stroke=\"#667\" stroke-width=\"1.5\"{dashes}/>"
        );
    }

    fn draw_box(&mut self, x: usize, y: usize, round: usize, name: &str, word: &str, state: Health) {
        let (fill, line) = colours(state);
        let (left, first, second) = (x + 12, y + 18, y + 35);
        let _ = writeln!(
            self.body,
            "<g><title>{full}: {word}</title><rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"{line}\"/>\
             <text x=\"{left}\" y=\"{first}\">{name}</text><text x=\"{left}\" y=\"{second}\" class=\"state\">{word}</text></g>",
            full = escaped(name),
            name = escaped(&truncated(name)),
            word = escaped(word),
        );
    }

    fn finish(self) -> String {
        let (width, height) = (2 * MARGIN + 2 * BOX_WIDTH + COLUMN_GAP, self.y + MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>Plugs and sockets</title>\n<style>text{{font:13px sans-serif;fill:#112}}.state{{font-size:11px;fill:#445}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

struct BoxRow {
    name: String,
    word: String,
    state: Health,
    coupled: bool,
}

/// Returns one row for each plug, or a combined row if there are too many.
fn box_rows(plugs: &[&PlugRow]) -> Vec<BoxRow> {
    let row = |plug: &&PlugRow| BoxRow {
        name: plug.name.clone(),
        word: plug.state.to_string(),
        state: plug.state,
        coupled: plug.coupled,
    };
    if plugs.len() <= MAX_DRAWN_PLUGS {
        return plugs.iter().map(row).collect();
    }
    let mut rows: Vec<BoxRow> = Vec::new();
    for coupled in [true, false] {
        let of: Vec<&&PlugRow> = plugs.iter().filter(|plug| plug.coupled == coupled).collect();
        let Some(worst) = of.iter().map(|plug| plug.state).max() else { continue };
        let word = if coupled { "coupled".to_string() } else { format!("not coupled, the worst: {worst}") };
        let plural = if of.len() == 1 { "" } else { "s" };
        rows.push(BoxRow { name: format!("{} plug{plural}", of.len()), word, state: worst, coupled });
    }
    rows
}

fn colours(state: Health) -> (&'static str, &'static str) {
    match state {
        Health::Ready => ("#e7f5ec", "#2e7d4f"),
        Health::Working => ("#e8f0fb", "#2f5f9e"),
        Health::Waiting => ("#f2f2f5", "#667"),
        Health::Blocked => ("#fdf3df", "#9a6a00"),
        Health::Failing => ("#fbe9e7", "#b23b2e"),
    }
}

fn truncated(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS {
        return name.to_string();
    }
    name.chars().take(NAME_CHARS - 1).chain(std::iter::once('…')).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
