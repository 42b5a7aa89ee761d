//! Graph of plugs and sockets, for Graphviz or as SVG.
//!
//! Both formats are readable without colors: each state is a word, and a pair that is not coupled has a dashed line.

mod svg;

use std::collections::BTreeSet;

use crate::overview::PlugOverview;

pub use svg::svg;

/// Returns the graph in the DOT language.
pub fn dot(overview: &PlugOverview) -> String {
    let mut out = String::from("digraph plugs {\n  rankdir=LR;\n  node [shape=box];\n");
    for (number, namespace) in namespaces(overview).into_iter().enumerate() {
        out.push_str(&format!("  subgraph cluster_{number} {{\n    label={};\n", quoted(&namespace)));
        let within = |name: &&str| name.split_once('/').is_some_and(|(own, _)| own == namespace);
        for plug in overview.plugs.iter().filter(|plug| within(&plug.name.as_str())) {
            let label = format!("{}\n{}", short(&plug.name), plug.state);
            out.push_str(&format!("    {} [label={}];\n", quoted(&format!("plug {}", plug.name)), quoted(&label)));
        }
        for socket in overview.sockets.iter().filter(|socket| within(&socket.name.as_str())) {
            let label = format!("{}\n{}", short(&socket.name), socket.state);
            let id = quoted(&format!("socket {}", socket.name));
            out.push_str(&format!("    {id} [shape=ellipse, label={}];\n", quoted(&label)));
        }
        out.push_str("  }\n");
    }
    for name in missing(overview) {
        let id = quoted(&format!("socket {name}"));
        out.push_str(&format!(
            "  {id} [shape=ellipse, style=dashed, label={}];\n",
            quoted(&format!("{name}\nmissing"))
        ));
    }
    for plug in overview.plugs.iter().filter(|plug| !plug.socket.is_empty()) {
        let (from, to) = (quoted(&format!("plug {}", plug.name)), quoted(&format!("socket {}", plug.socket)));
        let style = if plug.coupled { "solid" } else { "dashed" };
        out.push_str(&format!("  {from} -> {to} [style={style}];\n"));
    }
    out.push_str("}\n");
    out
}

fn namespaces(overview: &PlugOverview) -> BTreeSet<String> {
    let names = overview.plugs.iter().map(|plug| &plug.name).chain(overview.sockets.iter().map(|socket| &socket.name));
    names.filter_map(|name| Some(name.split_once('/')?.0.to_string())).collect()
}

/// Returns the requested sockets that do not exist.
fn missing(overview: &PlugOverview) -> BTreeSet<String> {
    let wanted = overview.plugs.iter().filter(|plug| !plug.socket_exists && !plug.socket.is_empty());
    wanted.map(|plug| plug.socket.clone()).collect()
}

fn short(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, name)| name)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests;
