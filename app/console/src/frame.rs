//! What stands around every page: navigation, search, whether it is live, keys.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// What a page is, apart from its content.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Its title.
    pub title: String,
    /// Which of the navigation it belongs to.
    pub place: &'static str,
    /// What was searched for.
    pub search: String,
    /// The colours a reader chose: `light`, `dark`, or as the system has them.
    pub theme: Option<&'static str>,
    /// Who is signed in.
    pub user: Option<String>,
    /// Guards the forms of this page.
    pub seal: Option<String>,
    /// What the page was made from; a newer one is asked for when it changes.
    pub version: String,
    /// How often it is asked for again even if nothing was heard to have changed.
    pub refresh_s: Option<u32>,
    /// What was just done, or could not be.
    pub said: Option<(bool, String)>,
}

/// Label, address, key and picture of each part.
const PARTS: [(&str, &str, &str, &str); 7] = [
    ("Overview", "/", "o", "<path d='M3 3h6v7H3zM11 3h6v4h-6zM11 10h6v7h-6zM3 13h6v4H3z'/>"),
    (
        "Map",
        "/map",
        "m",
        "<circle cx='4' cy='5' r='2'/><circle cx='4' cy='15' r='2'/><circle cx='16' cy='10' r='2.4'/><path d='M6 5.5c5 0 4 4 7.5 4.2M6 14.5c5 0 4-4 7.5-4.2'/>",
    ),
    ("Shards", "/shards", "s", "<path d='M3 3h14v14H3zM3 8h14M3 12.5h14M8 3v14M12.5 3v14'/>"),
    ("Fleet", "/fleet", "f", "<path d='M3 13c2 3 12 3 14 0M4 12l1-5h10l1 5M10 7V3l4 2-4 1'/>"),
    ("Objects", "/objects", "b", "<path d='m10 2 7 4v8l-7 4-7-4V6zM3 6l7 4 7-4M10 10v8'/>"),
    ("Decisions", "/decisions", "d", "<path d='M4 3v14M4 6h12M4 11h8M4 16h10'/><circle cx='4' cy='6' r='1'/>"),
    (
        "Help",
        "/help",
        "h",
        "<circle cx='10' cy='10' r='7.5'/><path d='M7.8 7.8a2.3 2.3 0 1 1 3.2 2.3c-.7.3-1 .7-1 1.6M10 14.2v.1'/>",
    ),
];

const LOGO: &str = "<svg viewBox='0 0 24 24' fill='none' stroke-width='1.9' stroke-linecap='round' aria-hidden='true'><circle cx='6' cy='6' r='2.6'/><circle cx='18' cy='18' r='2.6'/><path d='M8.4 7.2C15 9 9 15 15.6 16.8'/><circle cx='18' cy='6' r='2.6'/><circle cx='6' cy='18' r='2.6'/></svg>";

/// The whole page.
pub fn page(frame: &Frame, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[frame.theme] data-version=(frame.version) data-refresh=[frame.refresh_s] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (frame.title) " · Switchboard" }
                link rel="icon" type="image/svg+xml" href="/assets/icon.svg";
                link rel="stylesheet" href="/assets/console.css";
                script type="module" src="/assets/console.js" {}
            }
            body {
                a.skip href="#content" { "Skip to content" }
                div.frame {
                    (side(frame))
                    div.main {
                        (bar(frame))
                        div.stale role="alert" data-stale-banner hidden {}
                        main.content id="content" tabindex="-1" {
                            @if let Some((well, said)) = &frame.said {
                                p.said.wrong[!*well] role="status" { (said) }
                            }
                            (content)
                        }
                        (foot())
                    }
                }
                (keys())
            }
        }
    }
}

fn side(frame: &Frame) -> Markup {
    html! {
        aside.side aria-label="Console" {
            a.brand href="/" aria-label="Switchboard" { (PreEscaped(LOGO)) span { "Switchboard" } }
            nav aria-label="Main" {
                ul.nav {
                    @for (label, href, key, picture) in PARTS {
                        li {
                            a href=(href) data-key=(key) aria-current=[(frame.place == label).then_some("page")] {
                                svg viewBox="0 0 20 20" aria-hidden="true" { (PreEscaped(picture)) }
                                (label)
                            }
                        }
                    }
                }
            }
            div.side-end {
                @match &frame.user {
                    Some(user) => {
                        span.wrap-any { "Signed in as " strong { (user) } }
                        form method="post" action="/signout" {
                            input type="hidden" name="seal" value=[frame.seal.as_deref()];
                            button.plain type="submit" { "Sign out" }
                        }
                    }
                    None => a href="/signin" { "Sign in to act" },
                }
            }
        }
    }
}

fn bar(frame: &Frame) -> Markup {
    html! {
        header.bar {
            form.search role="search" action="/search" {
                input id="search" type="search" name="q" value=(frame.search) placeholder="Search objects, operators, decisions"
                    aria-label="Search" autocomplete="off" spellcheck="false";
                kbd aria-hidden="true" { "/" }
            }
            span.grow {}
            span.live data-live-mark role="status" { "as loaded" }
            button.plain type="button" data-theme-toggle { "Theme" }
            button.plain type="button" data-keys aria-label="Keyboard help" { kbd { "?" } }
        }
    }
}

fn foot() -> Markup {
    html! {
        footer.foot {
            span { "Switchboard " (env!("CARGO_PKG_VERSION")) }
            a href="/api/v1/openapi.json" { "API" }
            a href="/help/CONSOLE" { "About this console" }
            span { "Values of Secrets are never shown" }
        }
    }
}

fn keys() -> Markup {
    let rows = [
        ("/", "search"),
        ("?", "this help"),
        ("j  k", "next and previous link of a list"),
        ("t", "light, dark, as the system"),
        ("Esc", "leave a field or this help"),
    ];
    html! {
        dialog id="keys" aria-labelledby="keys-title" {
            h2 id="keys-title" { "Keys" }
            dl.facts {
                @for (key, does) in rows { dt { kbd { (key) } } dd { (does) } }
                @for (label, _, key, _) in PARTS { dt { kbd { "g" } " " kbd { (key) } } dd { (label) } }
            }
            form method="dialog" { button autofocus { "Close" } }
        }
    }
}
