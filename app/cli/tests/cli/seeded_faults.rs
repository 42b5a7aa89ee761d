//! Seeded faults: for each, `why` and the console's page state the true cause within their first five lines.
//!
//! A seed is a file of `seeds/`. Its first document has the configuration (`config`), the `files` next to it, the
//! commands of a user (`first` and `then`; `edits` of the example's integrations once `before` is reported), the query
//! (`ask`) and the words of the cause (`cause`). The next documents are applied between `first` and `then`, the last
//! `late` ones after it, once the output of `wait` matches. `cluster` is the cluster of the object in the console, if
//! it is not the default one. A new seed is a new file.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kube::Client;
use regex::Regex;
use serde_json::Value;
use switchboard_object::yaml;

use crate::integrations::{copied, edit};
use crate::process::{CONTEXT, switchboard};
use crate::up_process::{UpProcess, eventually};

/// Maximum line number of the cause.
const LINES: usize = 5;
/// Minimum number of seeds.
const AT_LEAST: usize = 30;

struct FaultSeed {
    name: String,
    facts: Value,
    objects: Vec<Value>,
}

impl FaultSeed {
    fn read(path: &Path) -> Self {
        let mut documents: Vec<Value> = yaml::read_all(&fs::read_to_string(path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .into_iter()
            .map(|document| document.value)
            .collect();
        let facts = documents.remove(0);
        Self { name: path.file_stem().unwrap().to_string_lossy().into_owned(), facts, objects: documents }
    }

    fn text(&self, field: &str) -> &str {
        self.facts[field].as_str().unwrap_or_else(|| panic!("{} has no {field}", self.name))
    }

    fn lines(&self, field: &str) -> Vec<Vec<String>> {
        let lines = self.facts[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        lines.map(|line| line.split_whitespace().map(str::to_string).collect()).collect()
    }

    fn up(&self, data: &Path) -> UpProcess {
        let config = self.text("config").replace("DATA", &data.display().to_string());
        UpProcess::up_with(&format!("{config}\nconsole: {{address: '127.0.0.1:0'}}\n"), |folder| {
            for (name, text) in self.facts["files"].as_object().into_iter().flatten() {
                let file = folder.join(name);
                fs::write(&file, text.as_str().unwrap()).unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            }
        })
    }

    /// Runs the user's commands.
    fn tell(&self, up: &UpProcess, when: &str) {
        for line in self.lines(when) {
            let words: Vec<&str> = line.iter().map(String::as_str).collect();
            assert_eq!(up.ask(&words).status.code(), Some(0), "{}: {line:?}", self.name);
        }
    }

    async fn put(&self, client: &Client, object: &Value) {
        eventually(&format!("{}: {}", self.name, object["metadata"]["name"]), || apply(client, object)).await;
    }

    /// Waits until the cause is in the first lines of the answer; returns the last answer on failure.
    async fn check(&self) -> Result<(), String> {
        let data = copied();
        let up = self.up(data.path());
        let client = up.serving.client(CONTEXT).await;
        self.tell(&up, "first");
        let late = usize::try_from(self.facts["late"].as_u64().unwrap_or_default()).unwrap();
        let (early, late) = self.objects.split_at(self.objects.len() - late);
        for object in early {
            self.put(&client, object).await;
        }
        if let Some(words) = self.facts["wait"]["words"].as_str() {
            let ask: Vec<&str> = self.facts["wait"]["ask"].as_str().unwrap().split_whitespace().collect();
            let look = || async { String::from_utf8_lossy(&up.ask(&ask).stdout).contains(words).then_some(()) };
            eventually(&format!("{}: {words}", self.name), look).await;
        }
        self.tell(&up, "then");
        for object in late {
            self.put(&client, object).await;
        }
        let ask: Vec<&str> = self.text("ask").split_whitespace().collect();
        for change in self.facts["edits"].as_array().into_iter().flatten() {
            let before = self.text("before");
            let look = || async { String::from_utf8_lossy(&up.ask(&ask).stdout).contains(before).then_some(()) };
            eventually(&format!("{}: {before}", self.name), look).await;
            let text = |field: &str| change[field].as_str().unwrap();
            edit(data.path(), text("file"), text("from"), text("to"));
        }
        let cause = self.text("cause");
        let last = std::sync::Mutex::new(String::new());
        let look = || async {
            let output = up.ask(&ask);
            let stderr_text =
                String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            let first: Vec<&str> = stderr_text.lines().take(LINES).collect();
            let named = first.iter().any(|line| line.contains(cause));
            *last.lock().unwrap() = stderr_text.clone();
            named.then_some(())
        };
        let patience = std::time::Duration::from_secs(45);
        let missing = |what: &str, text: &str| {
            format!("== {}: `{cause}` is not within the first {LINES} lines of {what}\n{text}", self.name)
        };
        if tokio::time::timeout(patience, eventually(&self.name, look)).await.is_err() {
            return Err(missing("what is said", &last.into_inner().unwrap()));
        }
        let page = self.page(&up, &ask);
        let look = || async {
            let text = read(&up, &page);
            let named = text.lines().take(LINES).any(|line| line.contains(cause));
            *last.lock().unwrap() = text;
            named.then_some(())
        };
        match tokio::time::timeout(patience, eventually(&self.name, look)).await {
            Ok(()) => Ok(()),
            Err(_) => Err(missing(&page, &last.into_inner().unwrap())),
        }
    }

    /// Returns the path of the console's page for a query.
    fn page(&self, up: &UpProcess, ask: &[&str]) -> String {
        if let ["why-not", operator] = ask {
            return format!("/operators/{operator}");
        }
        let mut printed = up.json(ask)["object"].as_str().unwrap().to_string();
        // An object without a writer is printed as it was requested.
        if let Some((kind, name)) = printed.split_once('/').filter(|(_, name)| !name.contains('/')) {
            printed = format!("{kind}s/default/{name}");
        }
        format!("/objects/{}/{printed}", self.facts["cluster"].as_str().unwrap_or("default"))
    }
}

/// Returns the relevant part of a console page: the explanation of an object, the state of an operator, or the error.
fn read(up: &UpProcess, path: &str) -> String {
    let stderr_text = up.log();
    let address =
        stderr_text.lines().find_map(|line| line.strip_prefix("console at http://")).expect("it says where it is");
    let address = address.trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let main = page.split_once("<main").map_or(&*page, |(_, main)| main).split_once('>').map_or("", |(_, text)| text);
    let part = main.split_once("<div class=\"why").and_then(|(_, why)| why.split_once('>')).map(|(_, why)| why);
    let part = part.map_or(main, |why| why.split("</div>").next().unwrap_or_default());
    let text =
        Regex::new("<[^>]*>").unwrap().replace_all(part, "\u{1}").replace("\u{1}\u{1}", "\n").replace('\u{1}', "");
    let text = text
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// Applies an object server-side; retried until its kind is served.
async fn apply(client: &Client, object: &Value) -> Option<()> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("/apiVersion"), text("/kind"));
    let root = if version.contains('/') { "apis" } else { "api" };
    let plural = format!("{}s", kind.to_lowercase());
    let wide = ["Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"].contains(&kind);
    let namespace = match text("/metadata/namespace") {
        _ if wide => String::new(),
        "" => "namespaces/default/".to_string(),
        name => format!("namespaces/{name}/"),
    };
    let path = format!(
        "/{root}/{version}/{namespace}{plural}/{}?fieldManager=other-writer&force=true",
        text("/metadata/name")
    );
    let request = http::Request::patch(path).header("Content-Type", "application/apply-patch+yaml");
    client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.ok().map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn why_and_the_page_name_the_cause_of_every_seeded_fault() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/seeds");
    let only = std::env::var("SEED").ok();
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let seeds: Vec<FaultSeed> = files.iter().map(|file| FaultSeed::read(file)).collect();
    assert!(seeds.len() >= AT_LEAST, "{} seeds", seeds.len());
    let chosen = seeds.into_iter().filter(|seed| only.as_ref().is_none_or(|only| seed.name.contains(only.as_str())));
    let mut failed = Vec::new();
    let mut under_way: tokio::task::JoinSet<Result<(), String>> = tokio::task::JoinSet::new();
    for seed in chosen {
        // Limits the concurrency, since each seed starts a process.
        while under_way.len() >= 3 {
            failed.extend(under_way.join_next().await.unwrap().unwrap().err());
        }
        under_way.spawn(async move { seed.check().await });
    }
    while let Some(done) = under_way.join_next().await {
        failed.extend(done.unwrap().err());
    }
    assert!(failed.is_empty(), "{} causes are not named:\n{}", failed.len(), failed.join("\n"));
}

/// Before a kernel runs, the error itself states the cause.
#[test]
fn startup_errors_name_their_cause() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("switchboard.yaml"), "clusters: {hub: {kubeconfig: nowhere}}\n").unwrap();
    let output = switchboard(&["run", "--state-dir", "state"]).current_dir(folder.path()).output().unwrap();
    let stderr_text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr_text.lines().take(LINES).any(|line| line.contains("could not find the kubeconfig nowhere")),
        "{stderr_text}"
    );
}
