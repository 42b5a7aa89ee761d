//! Crawler for all linked pages of the console and all responses of its API.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// Maximum number of pages; more indicate links that generate links.
const MAX_PAGES: usize = 3_000;
const API: &str = "/api/v1";

/// Reads a path with HTTP/1.0, so that the response is not chunked.
pub fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.unwrap_or_else(|| panic!("{path}: {answer}")), answer)
}

/// Returns the links of a page without those to the documentation.
fn links(page: &str) -> impl Iterator<Item = String> {
    let hrefs = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let hrefs = hrefs.map(|href| href.split('#').next().unwrap_or(href).replace("&amp;", "&"));
    let own = |href: &String| {
        let other = ["/assets", "/help", "/signin", "/api", "//"];
        href.starts_with('/') && !other.iter().any(|other| href.starts_with(other))
    };
    hrefs.filter(own)
}

/// Returns the API paths with the data of a page.
fn twins(path: &str) -> Vec<String> {
    match path.strip_prefix("/objects/") {
        Some(object) => vec![format!("{API}/objects/{object}"), format!("{API}/why/{object}")],
        None if path.starts_with("/map") => vec![path.replacen("/map", &format!("{API}/plugs"), 1)],
        None if path == "/" => vec![],
        None => vec![format!("{API}{path}")],
    }
}

/// Visits everything and returns the paths with a successful response.
pub fn crawl(address: &str, look: impl Fn(&str, &str)) -> BTreeSet<String> {
    let mut left: Vec<String> = ["/", "/search?q=canary", "/search?q=a"].map(str::to_string).to_vec();
    let (mut seen, mut well) = (BTreeSet::new(), BTreeSet::new());
    while let Some(path) = left.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        assert!(seen.len() < MAX_PAGES, "links beget links: {seen:?}");
        let (status, answer) = get(address, &path);
        look(&path, &answer);
        if status == 200 {
            well.insert(path.clone());
        }
        if !path.starts_with(API) {
            left.extend(twins(&path));
            left.extend(links(&answer));
        }
    }
    let (_, document) = get(address, &format!("{API}/openapi.json"));
    let document: Value = serde_json::from_str(document.split_once("\r\n\r\n").unwrap().1).unwrap();
    for (path, methods) in
        document["paths"].as_object().unwrap().iter().filter(|(_, methods)| methods.get("get").is_some())
    {
        // The event stream never ends; it has versions only.
        if path.ends_with("/events") {
            continue;
        }
        let start = path.split('{').next().unwrap();
        if !path.contains('{') {
            let (status, answer) = get(address, path);
            assert!(status == 200 || path.ends_with("/objects"), "{path}: {answer}");
            look(path, &answer);
        } else {
            assert!(well.iter().any(|known| known.starts_with(start)), "nothing led to {path}: {methods}");
        }
    }
    well
}
