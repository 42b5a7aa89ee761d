//! Tests of the console in Chromium: every page is complete, accessible and free of console errors, updates live, and
//! works with mouse, keyboard and phone.
//!
//! `UPDATE=1` stores the screenshots in docs/images; otherwise they are discarded.
#![allow(clippy::unwrap_used)]

#[path = "console/browser.rs"]
mod browser;
#[path = "console/fixture.rs"]
mod fixture;

use std::path::{Path, PathBuf};

use browser::{Browser, ENTER, ESCAPE, TAB};
use fixture::{CANARY, ConsoleFixture, greeted_config_map};
use serde_json::{Value, json};

/// Name of the screenshot, path, and a text that shows that the page is complete.
const PAGES: [(&str, &str, &str); 15] = [
    ("overview", "/", "greeter"),
    ("operator", "/operators/plugs", "Decisions"),
    ("decisions", "/decisions", "Cause"),
    ("object", "/objects/default/plugs.integration.rock8s.com/shop/web", "Explanation"),
    ("map", "/map?near=plug%2Fshop%2Fweb", "data/postgres"),
    ("map-all", "/map", "data/postgres"),
    ("shards", "/shards", "integration"),
    ("fleet", "/fleet", "finished"),
    ("objects", "/objects?cluster=default&kind=configmaps", "greeting"),
    ("kinds", "/objects", "Cached objects"),
    ("search", "/search?q=web", "result"),
    ("signin", "/signin", "How to get a token"),
    ("trouble", "/operators/stranger", "hint: "),
    ("help", "/help", "Help"),
    ("help-page", "/help/plugs", "Plug"),
];

fn axe() -> String {
    let bin = switchboard_suite::tool::programs();
    std::fs::read_to_string(bin.join("axe.min.js")).expect("axe-core is there: tests/real/build fetches it")
}

fn images() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder =
        if std::env::var_os("UPDATE").is_some() { root.join("docs/images") } else { root.join("target/console") };
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Script that replaces local paths, which are meaningless for readers of the screenshots.
const SETTLE_PATHS: &str = "const texts = document.createTreeWalker(document.getElementById('content'), NodeFilter.SHOW_TEXT); while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/file:\\/\\/\\/\\S*\\//g, 'file:///srv/');";

/// Returns descriptions of the accessibility violations on the current page.
async fn accessibility_violations(browser: &Browser, axe: &str) -> Vec<String> {
    browser.script(axe).await;
    let run = "const done = arguments[arguments.length - 1]; axe.run(document, {resultTypes: ['violations']}).then((found) => done(found.violations), (error) => done([{id: String(error), nodes: []}]));";
    let found = browser.async_script(run).await;
    let one = |violation: &Value| {
        let nodes = violation["nodes"].as_array().into_iter().flatten().take(3);
        let nodes: Vec<String> = nodes.map(|node| format!("{} ({})", node["html"], node["failureSummary"])).collect();
        format!("{}: {}", violation["id"], nodes.join("; "))
    };
    found.as_array().into_iter().flatten().map(one).collect()
}

/// Waits until the operators have processed the examples.
async fn until_settled(browser: &Browser, town: &ConsoleFixture) {
    browser.load(&format!("{}/objects/default/configmaps/default/ada-greeting", town.url)).await;
    browser.until_shows("#why", "greeter default/ada").await;
    browser.load(&format!("{}/map", town.url)).await;
    browser.until_shows("#board", "1 of 2 coupled").await;
    browser.load(&format!("{}/shards", town.url)).await;
    browser
        .until("the matrix", "return document.querySelectorAll('.shard').length > 0 || (location.reload(), false)")
        .await;
    browser.load(&format!("{}/fleet", town.url)).await;
    browser.until_shows("#placements", "team").await;
    // Two Applications of the example, and those of two tenants.
    let well = "return [...document.querySelectorAll('#applications tr')].filter((row) => row.textContent.includes('Synced') && row.textContent.includes('Healthy')).length >= 4";
    browser.until("what is deployed from git", well).await;
}

/// Returns rules that allow moving placements to any Argo CD.
fn mover_rules() -> Value {
    json!([{"apiGroups": ["managed-gitops.redhat.com"], "resources": ["gitopsengineinstances"], "verbs": ["move"]}])
}

/// Moves a placement with the API, and waits until the move is complete.
async fn move_placement(browser: &Browser, town: &ConsoleFixture, tenant: &str, to: &str) {
    let (token, body) =
        (town.token_with("program", mover_rules()).await, json!({"tenant": tenant, "to": to}).to_string());
    let headers = json!({"Authorization": format!("Bearer {token}"), "Content-Type": "application/json"});
    let ask = format!(
        "const done = arguments[arguments.length - 1]; fetch('/api/v1/actions/move', {{method: 'POST', headers: {headers}, body: {}}}).then((answer) => answer.text()).then(done, (error) => done(String(error)));",
        json!(body)
    );
    let said = browser.async_script(&ask).await.to_string();
    assert!(said.contains(" started"), "{said}");
    browser.until_shows("#moves", "finished").await;
}

#[tokio::test]
async fn every_page_is_whole_accessible_quiet_and_without_secrets_in_both_themes() {
    let (town, browser, axe, images) = (ConsoleFixture::start().await, Browser::open().await, axe(), images());
    until_settled(&browser, &town).await;
    move_placement(&browser, &town, "team", "argocd-2").await;
    browser.console_messages().await;
    let mut wrong = Vec::new();
    browser.load(&format!("{}/objects/default/configmaps/default/ada-greeting", town.url)).await;
    let decision = "return document.querySelector('#history li.wrote a[href^=\"/decisions/\"]').getAttribute('href')";
    let decision = browser.script(decision).await.as_str().unwrap().to_string();
    let pages: Vec<(&str, &str, &str)> =
        PAGES.into_iter().chain([("decision", decision.as_str(), "Good day")]).collect();
    for (look, theme, width, height) in
        [("light", "light", 1440, 960), ("dark", "dark", 1440, 960), ("phone", "light", 390, 844)]
    {
        browser.set_color_scheme(theme).await;
        for (name, path, whole) in pages.iter().copied() {
            // The description of a fleet needs more than one screen.
            let height = if name == "fleet" && look != "phone" { 1560 } else { height };
            browser.resize(width, height, look == "phone").await;
            browser.load(&format!("{}{path}", town.url)).await;
            browser.until_shows("main", whole).await;
            browser.script(SETTLE_PATHS).await;
            // Only few screenshots of a phone are worth their size.
            if look != "phone" || matches!(name, "overview" | "object" | "fleet") {
                std::fs::write(images.join(format!("console-{name}-{look}.png")), browser.screenshot().await).unwrap();
            }
            wrong.extend(
                accessibility_violations(&browser, &axe).await.into_iter().map(|one| format!("{name}, {look}: {one}")),
            );
            // The browser itself reports the missing page.
            let said =
                browser.console_messages().await.into_iter().filter(|one| name != "trouble" || !one.contains("404"));
            wrong.extend(said.map(|one| format!("{name}, {look} said: {one}")));
            let wide = browser.script("return document.scrollingElement.scrollWidth").await.as_u64().unwrap();
            if wide > u64::from(width) {
                wrong.push(format!("{name}, {look}: it is {wide} wide, which is more than the window"));
            }
            let source = browser.script("return document.documentElement.outerHTML").await.to_string();
            assert!(!source.contains(CANARY), "{name} shows a secret");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_reader_finds_the_cause_by_mouse() {
    let (town, browser) = (ConsoleFixture::start().await, Browser::open().await);
    until_settled(&browser, &town).await;
    browser.load(&town.url).await;
    browser.click("#operators a[href='/operators/greeter']").await;
    browser.until_shows("h1", "greeter").await;
    browser.click("#timeline a[href^='/decisions/']").await;
    browser.until_shows("h1", "Decision").await;
    browser.until_shows(".crumbs", "default/ada").await;
    browser.load(&format!("{}/objects/default/configmaps/default/ada-greeting", town.url)).await;
    browser.click("#history li.wrote a[href^='/decisions/']").await;
    browser.until_shows(".write .add", "Good day, Ada!").await;
    browser.click(".write header a").await;
    browser.until_shows("#why", "was last written by greeter default/ada").await;
    browser.click("#relations a[href$='/configmaps/default/greeting']").await;
    browser.until_shows("h1", "greeting").await;
    browser.load(&format!("{}/map", town.url)).await;
    browser.click(".draw a[href*='near=plug%2Fshop%2Fweb']").await;
    browser.until_shows("#near", "database").await;
    assert!(!browser.text("#near").await.contains("orders"), "values of a config are hidden");
    browser.click("#near a").await;
    browser.until_shows("#relations", "postgres").await;
    assert_eq!(browser.console_messages().await, Vec::<String>::new());
}

#[tokio::test]
async fn everything_is_reached_by_keys() {
    let (town, browser) = (ConsoleFixture::start().await, Browser::open().await);
    until_settled(&browser, &town).await;
    browser.load(&town.url).await;
    browser.type_keys(TAB).await;
    assert_eq!(browser.script("return document.activeElement.textContent").await, "Skip to content");
    browser.type_keys(ENTER).await;
    browser.until("the content has the focus", "return document.activeElement.id === 'content'").await;
    browser.type_keys("/").await;
    browser.until("the search has the focus", "return document.activeElement.id === 'search'").await;
    browser.type_keys("ada-greeting").await;
    browser.type_keys(ENTER).await;
    browser.until_shows("#found", "default/ada-greeting").await;
    browser.type_keys("j").await;
    browser.type_keys(ENTER).await;
    browser.until_shows("h1", "ada-greeting").await;
    browser.type_keys("?").await;
    browser.until("help is open", "return document.getElementById('keys').open").await;
    browser.type_keys(ESCAPE).await;
    browser.until("help is closed", "return !document.getElementById('keys').open").await;
    browser.type_keys("gm").await;
    browser.until_shows("h1", "Map").await;
    browser.set_color_scheme("light").await;
    browser.type_keys("tt").await;
    browser.until("it is dark", "return document.documentElement.dataset.theme === 'dark'").await;
    browser.type_keys("go").await;
    browser.until_shows("h1", "Overview").await;
    assert_eq!(browser.script("return document.documentElement.dataset.theme").await, "dark", "it is kept");
    assert_eq!(browser.console_messages().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_page_follows_what_happens_and_says_when_it_cannot() {
    let (mut town, browser) = (ConsoleFixture::start().await, Browser::open().await);
    until_settled(&browser, &town).await;
    browser.load(&format!("{}/operators/greeter", town.url)).await;
    browser.until_shows("[data-live-mark]", "Live").await;
    browser.script("window.unchanged = true").await;
    town.create("/api/v1/namespaces/default/configmaps", greeted_config_map("grace", "Grace")).await;
    browser.until_shows("#timeline", "default/grace").await;
    assert_eq!(browser.script("return window.unchanged").await, json!(true), "the page was not reloaded");
    // The element did not exist when the page was loaded.
    assert_eq!(browser.script("return document.getElementById('reason')").await, Value::Null);
    town.create(
        "/api/v1/namespaces/default/configmaps",
        json!({"metadata": {"name": "blank", "labels": {"greeter.example.com/greet": "yes"}}}),
    )
    .await;
    browser.until_shows("#reason", "data.name").await;
    assert_eq!(browser.script("return window.unchanged").await, json!(true), "the page was not reloaded");
    // A kind without a watch.
    browser.load(&format!("{}/objects?cluster=default&kind=serviceaccounts&namespace=default", town.url)).await;
    browser.until_shows("[data-live-mark]", "Live").await;
    town.create("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": "latecomer"}})).await;
    browser.until_shows("#objects", "latecomer").await;
    assert_eq!(browser.console_messages().await, Vec::<String>::new());
    town.kill();
    browser.until_shows("[data-stale-banner]", "This page is outdated").await;
    browser.until_shows("[data-live-mark]", "Outdated").await;
}

#[tokio::test]
async fn who_has_the_right_pauses_an_operator_and_who_has_not_is_told_so() {
    let (town, browser) = (ConsoleFixture::start().await, Browser::open().await);
    browser.load(&format!("{}/operators/greeter", town.url)).await;
    browser.until_shows("#actions", "switchboard pause greeter").await;
    browser.click("#actions a").await;
    browser.until_shows("h1", "Sign in").await;
    let sign_in = async |token: &str| {
        browser.script(&format!("document.querySelector('[name=token]').value = {}", json!(token))).await;
        browser.click("main form button").await;
    };
    sign_in("nonsense").await;
    browser.until_shows("[role=alert]", "the cluster rejected the token").await;
    sign_in(&town.token("operator", &["pause"]).await).await;
    browser.until_shows(".side-end", "system:serviceaccount:default:operator").await;
    browser.until_shows("h1", "greeter").await;
    browser.click("form[action='/actions/reconcile'] button").await;
    browser.until_shows(".said.wrong", "is not allowed to reconcile").await;
    browser.click("form[action='/actions/pause'] button").await;
    browser.until_shows(".said", "greeter paused").await;
    browser.until_shows("#state", "paused").await;
    browser.until_shows("#actions", "switchboard resume greeter").await;
    browser.click("form[action='/actions/resume'] button").await;
    browser.until_shows(".said", "greeter resumed").await;
    browser.click(".side-end form button").await;
    browser.until_shows(".side-end", "Sign in").await;
    let source = browser.script("return document.documentElement.outerHTML + document.cookie").await.to_string();
    assert!(!source.contains("switchboard-session"), "no script reads the session");
}

#[tokio::test]
async fn who_has_the_right_moves_a_unit_and_sees_it_arrive() {
    let (town, browser) = (ConsoleFixture::start().await, Browser::open().await);
    until_settled(&browser, &town).await;
    let deployed = town.get("/api/v1/namespaces/team/configmaps/pages").await;
    // The target is the Argo CD that does not have the placement.
    let from = browser.script("return [...document.querySelectorAll('#placements tr')].find((row) => row.textContent.includes('team')).children[1].textContent").await;
    let from = from.as_str().unwrap().trim().to_string();
    let to = if from == "argocd" { "argocd-2" } else { "argocd" };
    // The database flags are between them.
    let (command, target) = ("switchboard gitops fleet move team --database sqlite:/", format!(" --to {to}"));
    browser.until_shows("#placements code", command).await;
    browser.until_shows("#placements code", &target).await;
    let form = "form:has(input[name=tenant][value=team])";
    browser.click(&format!("{form} a.button")).await;
    let sign_in = async |token: &str| {
        browser.until_shows("h1", "Sign in").await;
        browser.script(&format!("document.querySelector('[name=token]').value = {}", json!(token))).await;
        browser.click("main form button").await;
        browser.until_shows(".side-end", "system:serviceaccount:default").await;
        browser.until_shows("h1", "Fleet").await;
    };
    sign_in(&town.token("pauser", &["pause"]).await).await;
    browser.click(&format!("{form} button")).await;
    browser.until_shows(".said.wrong", "is not allowed to move gitopsengineinstances").await;
    assert!(town.has_logged(&["requested", command, &target, "refused"]), "what was refused is written down");
    browser.click(".side-end form button").await;
    // Signing out redirects; a navigation before the redirect would be overridden.
    browser.until_shows("h1", "Overview").await;
    browser.load(&format!("{}/signin?back=%2Ffleet", town.url)).await;
    sign_in(&town.token_with("mover", mover_rules()).await).await;
    let choose = |value: &str| {
        format!(
            "const select = document.querySelector('{form} select'); select.options[0].value = {0}; select.value = {0}; select.dispatchEvent(new Event('change', {{bubbles: true}}))",
            json!(value)
        )
    };
    browser.script(&choose("nowhere")).await;
    browser.until_shows("#placements code", " --to nowhere").await;
    browser.click(&format!("{form} button")).await;
    browser.until_shows(".said.wrong", "could not find an Argo CD instance in namespace `nowhere`").await;
    browser.until_shows(".said.wrong", "list the instances with `switchboard gitops fleet list`").await;
    browser.until_shows("#placements code", &target).await;
    browser.click(&format!("{form} button")).await;
    browser.until_shows(".said", &format!("move of team from {from} to {to} started")).await;
    browser.until_shows("#moves", "moving").await;
    browser.script("window.unchanged = true").await;
    browser.until_shows("#moves", "finished").await;
    browser.until_shows("#placements tr", to).await;
    assert_eq!(browser.script("return window.unchanged").await, json!(true), "the page was not reloaded");
    assert!(
        town.has_logged(&["system:serviceaccount:default:mover requested", command, &target, "done"]),
        "it is written down"
    );
    let now = town.get("/api/v1/namespaces/team/configmaps/pages").await;
    assert_eq!(now["metadata"]["uid"], deployed["metadata"]["uid"], "what was deployed is what it was");
    assert_eq!(browser.console_messages().await, Vec::<String>::new());
}

#[tokio::test]
async fn who_has_the_right_syncs_what_is_deployed_by_hand() {
    let (town, browser) = (ConsoleFixture::start().await, Browser::open().await);
    until_settled(&browser, &town).await;
    town.create("/api/v1/namespaces", json!({"metadata": {"name": "docs"}})).await;
    town.create_deployment("docs", "wiki", "manual", "guestbook").await;
    let form = "form[action='/actions/sync']:has(input[name=name][value=wiki])";
    browser.until_shows(&format!("{form} code"), "switchboard gitops sync wiki -n docs").await;
    browser.click(&format!("{form} a.button")).await;
    browser.until_shows("h1", "Sign in").await;
    let rights = json!([{"apiGroups": ["managed-gitops.redhat.com"], "resources": ["gitopsdeploymentsyncruns"], "verbs": ["create"]}]);
    let token = town.token_with("syncer", rights).await;
    browser.script(&format!("document.querySelector('[name=token]').value = {}", json!(token))).await;
    browser.click("main form button").await;
    browser.until_shows("h1", "Fleet").await;
    browser.click(&format!("{form} button")).await;
    browser.until_shows(".said", "created").await;
    let synced = "return [...document.querySelectorAll('#applications tr')].some((row) => row.textContent.includes('wiki') && row.textContent.includes('Synced'))";
    browser.until("it is deployed", synced).await;
    assert!(town.has_logged(&["requested", "switchboard gitops sync wiki -n docs", "done"]), "it is written down");
    assert_eq!(browser.console_messages().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_is_wrong_is_said_on_a_page_with_a_hint() {
    let (town, browser) = (ConsoleFixture::start().await, Browser::open().await);
    for path in ["/operators/stranger", "/nowhere", "/decisions/123456789", "/objects/default/nonsenses/-/x"] {
        browser.load(&format!("{}{path}", town.url)).await;
        browser.until_shows("main", "hint: ").await;
        browser.until_shows("nav", "Overview").await;
    }
    browser.load(&format!("{}/search?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E", town.url)).await;
    browser.until_shows("main", "<script>alert(1)</script>").await;
}
