//! Documentation of this version as help pages.

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::problem::ConsoleProblem;

include!(concat!(env!("OUT_DIR"), "/help.rs"));

/// Page with the table of contents.
const CONTENTS: &str = "README";
/// Page with the words of commands and pages.
const GLOSSARY: &str = "glossary";

/// Renders the table of contents.
pub fn contents() -> Markup {
    let text = HELP.iter().find(|(name, _)| *name == CONTENTS).map_or("", |(_, text)| text);
    // The page has its own title.
    let text = text.split_once('\n').map_or(text, |(_, rest)| rest);
    html! {
        div.head {
            div {
                h1 { "Help" }
                p.soft {
                    "Documentation of this version. The " a href={ "/help/" (GLOSSARY) } { "glossary" } " defines the words of all pages. "
                    "Press " kbd { "?" } " for keyboard shortcuts."
                }
            }
        }
        article.panel { div.prose { (PreEscaped(render(text))) } }
    }
}

/// Renders a page.
pub fn page(name: &str) -> Result<(String, Markup), ConsoleProblem> {
    let found = HELP.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let (_, text) = found.ok_or_else(|| ConsoleProblem::NotFound(format!("the documentation has no page {name}")))?;
    let markup = html! {
        p.crumbs { a href="/help" { "Help" } }
        article.panel { div.prose { (PreEscaped(render(text))) } }
    };
    Ok((title(text).to_string(), markup))
}

fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Untitled")
}

/// Renders Markdown. HTML in it is shown as text, and links stay within the console.
fn render(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    // Images are not part of the binary; they are removed with their alternative text.
    let mut picture = false;
    let shown = Parser::new_ext(text, options).filter(move |event| {
        picture |= matches!(event, Event::Start(Tag::Image { .. }));
        let hidden = picture;
        picture &= !matches!(event, Event::End(TagEnd::Image));
        !hidden
    });
    let events = shown.map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = resolve_link(link_type, dest_url);
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        other => other,
    });
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, with_anchors(events.collect()).into_iter());
    // A header cell without text is not a header, and screen readers would announce it.
    out.replace("<th></th>", "<td></td>").replace("<p></p>\n", "")
}

/// Adds the anchors of headings.
fn with_anchors(mut events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    for at in 0..events.len() {
        if !matches!(events[at], Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let within = events[at + 1..].iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let words: String = within
            .map(|event| match event {
                Event::Text(text) | Event::Code(text) => text.as_ref(),
                _ => "",
            })
            .collect();
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[at] {
            *id = Some(slug(&words).into());
        }
    }
    events
}

/// Returns the anchor of a heading: lower case, dashes for spaces, no punctuation.
fn slug(words: &str) -> String {
    let kept = words.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Resolves a link: `OTHER.md#part` is a help page; other files have none.
fn resolve_link(kind: LinkType, to: CowStr<'_>) -> CowStr<'_> {
    if matches!(kind, LinkType::Email) || to.starts_with('#') || to.starts_with("https://") || to.starts_with("http://")
    {
        return to;
    }
    let (path, part) = to.split_once('#').map_or((&*to, ""), |(path, part)| (path, part));
    let name = path.rsplit('/').next().unwrap_or(path);
    let part = if part.is_empty() { String::new() } else { format!("#{part}") };
    match name.strip_suffix(".md").filter(|name| HELP.iter().any(|(known, _)| known == name)) {
        Some(name) => format!("/help/{name}{part}").into(),
        None => "/help".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_to_a_section_resolves() {
        let mut followed = 0;
        for (name, text) in HELP {
            let page = render(text);
            for of_the_frame in ["search", "content", "keys"] {
                assert!(
                    !page.contains(&format!("id=\"{of_the_frame}\"")),
                    "{name} has a head that is called as a part of every page"
                );
            }
            for to in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let Some((path, part)) = to.split_once('#').filter(|(path, _)| !path.starts_with("http")) else {
                    continue;
                };
                let target = path.strip_prefix("/help/").unwrap_or(name);
                let (_, there) =
                    HELP.iter().find(|(known, _)| *known == target).expect("it is led to pages that there are");
                assert!(render(there).contains(&format!("id=\"{part}\"")), "{name} leads to {to}, which is not there");
                followed += 1;
            }
        }
        assert!(followed > 0);
        assert_eq!(slug("`up`: a cluster, in a second"), "up-a-cluster-in-a-second");
    }

    #[test]
    fn contents_list_every_page() {
        let contents = contents().into_string();
        for (name, _) in HELP.iter().filter(|(name, _)| *name != CONTENTS) {
            assert!(contents.contains(&format!("href=\"/help/{name}\"")), "docs/README.md does not name {name}.md");
        }
        assert!(page(GLOSSARY).is_ok(), "the contents lead to the glossary");
        let console = page("CONSOLE").map(|(_, page)| page.into_string()).unwrap_or_default();
        assert!(console.contains("The console") && !console.contains("[picture") && !console.contains("<img"));
        assert!(page("overview").is_ok(), "pages of folders are there as well");
    }
}
