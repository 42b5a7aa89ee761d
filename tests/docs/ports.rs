//! Servers of the pages use free ports, so that a reader can follow a page beside `make run`.

use super::*;

/// Returns all pages whose commands a reader may copy.
fn pages() -> Vec<PathBuf> {
    let examples = std::fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().file_name());
    let readmes = examples.map(|name| Path::new("examples").join(name).join("README.md"));
    documents().into_iter().chain(readmes.filter(|page| root().join(page).is_file())).collect()
}

/// Whether a command starts a server.
fn is_server(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| *word != "switchboard").skip(1);
    matches!(words.next(), Some("up" | "serve"))
}

#[test]
fn every_server_of_the_pages_selects_a_port() {
    let mut fixed = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        let without = commands(&text).into_iter().filter(|line| is_server(line) && !line.contains("--listen "));
        fixed.extend(without.map(|line| format!("{}: {line}", page.display())));
    }
    assert_eq!(
        fixed,
        Vec::<String>::new(),
        "hint: add `--listen 127.0.0.1:0`, because `make run` uses the default port"
    );
}
