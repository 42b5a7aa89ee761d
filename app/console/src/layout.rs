//! Layout of every page: navigation, search, live indicator and keyboard help.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Properties of a page besides its content.
#[derive(Clone, Debug, Default)]
pub struct PageLayout {
    /// Title of the page.
    pub title: String,
    /// Section of the navigation.
    pub section: &'static str,
    /// Search text.
    pub search: String,
    /// Color theme chosen by the user: `light` or `dark`; `None` follows the system.
    pub theme: Option<&'static str>,
    /// Name of the signed-in user.
    pub user: Option<String>,
    /// CSRF token for the forms of the page.
    pub csrf_token: Option<String>,
    /// Version of the data; the page is reloaded when it changes.
    pub version: String,
    /// Interval of reloads without a change of the version.
    pub refresh_s: Option<u32>,
    /// Result of the last action: success, and message.
    pub flash: Option<(bool, String)>,
}

/// Label, path, key and icon of each section.
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

/// Renders the whole page.
pub fn page(frame: &PageLayout, content: &Markup) -> Markup {
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
                    (sidebar(frame))
                    div.main {
                        (top_bar(frame))
                        div.stale role="alert" data-stale-banner hidden {}
                        main.content id="content" tabindex="-1" {
                            @if let Some((well, said)) = &frame.flash {
                                p.said.wrong[!*well] role="status" { (said) }
                            }
                            (content)
                        }
                        (footer())
                    }
                }
                (keyboard_help())
            }
        }
    }
}

fn sidebar(frame: &PageLayout) -> Markup {
    html! {
        aside.side aria-label="Console" {
            a.brand href="/" aria-label="Switchboard" { (PreEscaped(LOGO)) span { "Switchboard" } }
            nav aria-label="Main" {
                ul.nav {
                    @for (label, href, key, picture) in PARTS {
                        li {
                            a href=(href) data-key=(key) aria-current=[(frame.section == label).then_some("page")] {
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
                            input type="hidden" name="csrf_token" value=[frame.csrf_token.as_deref()];
                            button.plain type="submit" { "Sign out" }
                        }
                    }
                    None => a href="/signin" { "Sign in" },
                }
            }
        }
    }
}

fn top_bar(frame: &PageLayout) -> Markup {
    html! {
        header.bar {
            form.search role="search" action="/search" {
                input id="search" type="search" name="q" value=(frame.search) placeholder="Search objects, operators, decisions"
                    aria-label="Search" autocomplete="off" spellcheck="false";
                kbd aria-hidden="true" { "/" }
            }
            span.grow {}
            span.live data-live-mark role="status" { "Not live" }
            button.plain type="button" data-theme-toggle { "Theme" }
            button.plain type="button" data-keys aria-label="Keyboard help" { kbd { "?" } }
        }
    }
}

fn footer() -> Markup {
    html! {
        footer.foot {
            span { "Switchboard " (env!("CARGO_PKG_VERSION")) }
            a href="/api/v1/openapi.json" { "API" }
            a href="/help/CONSOLE" { "About this console" }
            span { "Values of Secrets are redacted" }
        }
    }
}

fn keyboard_help() -> Markup {
    let rows = [
        ("/", "search"),
        ("?", "this help"),
        ("j  k", "next or previous link of a list"),
        ("t", "light, dark or system theme"),
        ("Esc", "leave a field or close this help"),
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
