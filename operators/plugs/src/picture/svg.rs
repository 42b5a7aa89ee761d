//! The drawing: plugs on the left, each beside its socket on the right.

use std::fmt::Write as _;

use switchboard_kernel::state::Word;

use super::missing;
use crate::board::{Board, PlugRow};

/// More plugs of one socket than this are drawn as one box with their number.
pub const MAX_DRAWN_PLUGS: usize = 12;

const BOX_WIDTH: usize = 240;
const BOX_HEIGHT: usize = 44;
const GAP: usize = 14;
const MARGIN: usize = 24;
const BETWEEN: usize = 180;
/// Characters of a name that fit a box.
const FITS: usize = 30;

/// A drawing.
pub fn svg(board: &Board) -> String {
    let mut sheet = Sheet { body: String::new(), y: MARGIN };
    let mut names: Vec<String> = board.sockets.iter().map(|socket| socket.name.clone()).collect();
    names.extend(missing(board));
    for name in &names {
        let socket = board.sockets.iter().find(|socket| socket.name == *name);
        let (word, state) = socket.map_or(("missing".to_string(), Word::Waiting), |s| (s.state.to_string(), s.state));
        let plugs: Vec<&PlugRow> = board.plugs.iter().filter(|plug| plug.socket == *name).collect();
        sheet.group(name, &word, state, &plugs);
    }
    let loose: Vec<&PlugRow> = board.plugs.iter().filter(|plug| plug.socket.is_empty()).collect();
    sheet.loose(&loose);
    sheet.done()
}

struct Sheet {
    body: String,
    y: usize,
}

impl Sheet {
    fn group(&mut self, socket: &str, word: &str, state: Word, plugs: &[&PlugRow]) {
        let rows = drawn(plugs);
        let height = rows.len().max(1) * (BOX_HEIGHT + GAP);
        let middle = self.y + height / 2 - GAP / 2;
        let right = MARGIN + BOX_WIDTH + BETWEEN;
        for (number, row) in rows.iter().enumerate() {
            let y = self.y + number * (BOX_HEIGHT + GAP);
            self.line(MARGIN + BOX_WIDTH, y + BOX_HEIGHT / 2, right, middle, row.coupled);
            self.plate(MARGIN, y, 3, &row.name, &row.word, row.state);
        }
        self.plate(right, middle - BOX_HEIGHT / 2, BOX_HEIGHT / 2, socket, word, state);
        self.y += height;
    }

    fn loose(&mut self, plugs: &[&PlugRow]) {
        for row in drawn(plugs) {
            self.plate(MARGIN, self.y, 3, &row.name, &row.word, row.state);
            self.y += BOX_HEIGHT + GAP;
        }
    }

    fn line(&mut self, x1: usize, y1: usize, x2: usize, y2: usize, coupled: bool) {
        let dashes = if coupled { "" } else { " stroke-dasharray=\"5 4\"" };
        let half = (x1 + x2) / 2;
        let _ = writeln!(
            self.body,
            "<path d=\"M{x1} {y1} C{half} {y1} {half} {y2} {x2} {y2}\" fill=\"none\" stroke=\"#667\" stroke-width=\"1.5\"{dashes}/>"
        );
    }

    fn plate(&mut self, x: usize, y: usize, round: usize, name: &str, word: &str, state: Word) {
        let (fill, line) = colours(state);
        let (left, first, second) = (x + 12, y + 18, y + 35);
        let _ = writeln!(
            self.body,
            "<g><title>{full}: {word}</title><rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"{line}\"/>\
             <text x=\"{left}\" y=\"{first}\">{name}</text><text x=\"{left}\" y=\"{second}\" class=\"state\">{word}</text></g>",
            full = escaped(name),
            name = escaped(&cut(name)),
            word = escaped(word),
        );
    }

    fn done(self) -> String {
        let (width, height) = (2 * MARGIN + 2 * BOX_WIDTH + BETWEEN, self.y + MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>Plugs and sockets</title>\n<style>text{{font:13px sans-serif;fill:#112}}.state{{font-size:11px;fill:#445}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

struct Row {
    name: String,
    word: String,
    state: Word,
    coupled: bool,
}

/// Each plug, or all of them as one where there are too many to see.
fn drawn(plugs: &[&PlugRow]) -> Vec<Row> {
    let row = |plug: &&PlugRow| Row {
        name: plug.name.clone(),
        word: plug.state.to_string(),
        state: plug.state,
        coupled: plug.coupled,
    };
    if plugs.len() <= MAX_DRAWN_PLUGS {
        return plugs.iter().map(row).collect();
    }
    let mut rows: Vec<Row> = Vec::new();
    for coupled in [true, false] {
        let of: Vec<&&PlugRow> = plugs.iter().filter(|plug| plug.coupled == coupled).collect();
        let Some(worst) = of.iter().map(|plug| plug.state).max() else { continue };
        let word = if coupled { "coupled".to_string() } else { format!("not coupled, the worst: {worst}") };
        let plural = if of.len() == 1 { "" } else { "s" };
        rows.push(Row { name: format!("{} plug{plural}", of.len()), word, state: worst, coupled });
    }
    rows
}

fn colours(state: Word) -> (&'static str, &'static str) {
    match state {
        Word::Ready => ("#e7f5ec", "#2e7d4f"),
        Word::Working => ("#e8f0fb", "#2f5f9e"),
        Word::Waiting => ("#f2f2f5", "#667"),
        Word::Blocked => ("#fdf3df", "#9a6a00"),
        Word::Failing => ("#fbe9e7", "#b23b2e"),
    }
}

fn cut(name: &str) -> String {
    if name.chars().count() <= FITS {
        return name.to_string();
    }
    name.chars().take(FITS - 1).chain(std::iter::once('…')).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
