//! Runs the commands of the documentation.
//!
//! Every block marked `sh`, and every `$` line in a block marked `console`, in README.md and in `docs/` is run, in one
//! folder for each page:
//!
//! - `switchboard` lines always run. `up` and `serve` start a server on a free port, and `run` starts a kernel; all other
//!   commands run to their end. Commands that query a kernel or a cluster must parse, and with the feature `real` they must
//!   succeed, because kubectl has then created the objects.
//! - `kubectl`, `helm` and `curl` lines run with the feature `real`, against the server of the page.
//! - `switchboard gitops` lines must always succeed after an `up` with the GitOps Service, because they need no further component.
//! - `export` applies to later lines, as in a shell.
//! - `cargo install` is checked without a build.
//! - A comment that begins with `# Ctrl+C` stops the servers of the page.
//! - Other lines run in a shell, a here-document as one line. The working directory is kept for the whole page.
//!
//! Commands in sentences and tables, with placeholders, do not run but must parse.
//!
//! `make run` runs as in the Makefile; `tests/tidy.rs` checks other targets. Blocks with output are marked `text`.
#![allow(clippy::unwrap_used)]

#[path = "docs/client.rs"]
mod client;
#[path = "docs/newcomer.rs"]
mod newcomer;
#[path = "docs/ports.rs"]
mod ports;
#[path = "docs/style.rs"]
mod style;
#[path = "docs/troubleshooting.rs"]
mod troubleshooting;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use switchboard_suite::process;

/// Timeout of a command.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// Timeout for the exit of a killed process.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Exit code for a usage error.
const USAGE: i32 = 64;
/// Folders of the repository that a page may use.
const SHARED_FOLDERS: [&str; 3] = ["tests", "examples", "deploy"];
/// Commands that query a kernel, a cluster or a server.
const QUERY_COMMANDS: [&str; 11] =
    ["why", "why-not", "top", "pause", "resume", "reconcile", "replay", "plan", "doctor", "gitops", "plugs status"];
/// Commands of the GitOps Service that need neither a cluster nor a kernel.
const STANDALONE_COMMANDS: [&str; 2] = ["migrate", "crds"];
/// Option of `up` that enables the GitOps Service.
const SERVICE_OPTION: &str = "--example deployments";
/// Beginnings of commands in sentences, and the prefix that the page omits.
const COMMAND_PREFIXES: [(&str, &str); 3] =
    [("switchboard ", ""), ("gitops ", "switchboard "), ("fleet ", "switchboard gitops ")];
/// Values of placeholders for which an arbitrary text is not valid.
const PLACEHOLDERS: [(&str, &str); 2] = [("DECISION", "1"), ("OPERATOR", "greeter")];
/// Generated pages, which contain usage instead of commands.
const GENERATED_PAGES: &str = "docs/reference";
/// Commands that cannot run, with the reason. They are in blocks marked `text`.
const NEVER_RUN: [(&str, &str); 1] = [("kubectl -n platform exec ", "no pod runs without a kubelet")];
/// Clients that are available only with the feature `real`.
const CLIENTS: [&str; 3] = ["kubectl", "helm", "curl"];

struct DocsProcess(Child);

impl Drop for DocsProcess {
    fn drop(&mut self) {
        // Kills the whole process group: `make` does not kill its children, and the next process needs their ports.
        let group = format!("-{}", self.0.id());
        let signal = |name: &str| Command::new("kill").args([name, "--", &group]).stderr(Stdio::null()).status();
        let _ = signal("-KILL");
        let _ = self.0.wait();
        let end = Instant::now() + EXIT_TIMEOUT;
        while signal("-0").is_ok_and(|status| status.success()) && Instant::now() < end {
            std::thread::sleep(POLL);
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns README.md and all pages below `docs/`, relative to the root.
fn documents() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("README.md")];
    let mut waiting = vec![PathBuf::from("docs")];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => waiting.push(path),
                false if path.extension().is_some_and(|ending| ending == "md") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// Comment in a block of commands that stops the servers of the page.
const INTERRUPT: &str = "# Ctrl+C";

/// Returns the commands of a page in order, without other comments than [`INTERRUPT`]; a here-document is one command. Blocks marked `sh`
/// contain only commands; in blocks marked `console`, commands follow a `$`, with their output in between.
fn commands(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let (mut block, mut end): (Option<&str>, Option<String>) = (None, None);
    for line in text.lines() {
        if let Some(mark) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(mark) };
            continue;
        }
        if let (Some(mark), Some(open)) = (&end, out.last_mut()) {
            *open = format!("{open}\n{line}");
            if line.trim() == mark {
                end = None;
            }
            continue;
        }
        let command = match block {
            Some("sh") => Some(line.trim()),
            Some("console") => line.trim().strip_prefix("$ "),
            _ => None,
        };
        let Some(command) = command.map(|command| command.split("  #").next().unwrap_or(command).trim()) else {
            continue;
        };
        if command.is_empty() || command.starts_with('#') && !command.starts_with(INTERRUPT) {
            continue;
        }
        end = command.split("<<").nth(1).map(|mark| mark.trim_matches(['\'', '"']).to_string());
        out.push(command.to_string());
    }
    out
}

/// State of one page: a folder, a server, and kernels.
struct PageReader {
    page: String,
    folder: tempfile::TempDir,
    kubeconfig: String,
    kernels: Vec<DocsProcess>,
    server: Option<DocsProcess>,
    /// Exported variables and their values.
    exported: Vec<(String, String)>,
    /// Whether the server hosts the GitOps Service.
    has_service: bool,
    /// Working directory after the previous lines.
    working_dir: PathBuf,
    /// Checkout in which `make` runs.
    checkout: PathBuf,
    /// Log file of the server's start.
    log_file: PathBuf,
}

impl PageReader {
    fn of(page: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for given in SHARED_FOLDERS {
            symlink(root().join(given), folder.path().join(given)).unwrap();
        }
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for name in ["switchboard", "kubectl-switchboard"] {
            symlink(process::binary().unwrap(), bin.join(name)).unwrap();
        }
        let page = page.display().to_string();
        let (at, said) = (folder.path().to_path_buf(), folder.path().join(".said"));
        Self {
            page,
            folder,
            working_dir: at,
            log_file: said,
            checkout: root().to_path_buf(),
            kubeconfig: String::new(),
            kernels: Vec::new(),
            server: None,
            exported: Vec::new(),
            has_service: false,
        }
    }

    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        let path = format!("{}/bin:{}", self.folder.path().display(), std::env::var("PATH").unwrap_or_default());
        command.args(["-c", line]).current_dir(&self.working_dir).env("PATH", path);
        command.env("HOME", self.folder.path()).env("XDG_DATA_HOME", self.folder.path().join("share"));
        command.env_remove("KUBECONFIG").envs(self.exported.iter().map(|(name, value)| (name, value)));
        if !self.kubeconfig.is_empty() {
            command.env("KUBECONFIG", &self.kubeconfig);
        }
        command
    }

    fn output(&self, line: &str) -> Output {
        self.shell(line).output().unwrap()
    }

    /// Starts a server on a free port.
    fn start(&mut self, line: &str) {
        self.kernels.clear();
        self.server = None;
        self.has_service = line.contains(SERVICE_OPTION);
        let mut child = self.shell(&format!("exec {line}"));
        let said = std::fs::File::create(&self.log_file).unwrap();
        let mut child = child.process_group(0).stdout(Stdio::piped()).stderr(said).spawn().unwrap();
        let mut kubeconfig = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut kubeconfig).unwrap();
        self.server = Some(DocsProcess(child));
        assert!(!kubeconfig.is_empty(), "{}: `{line}` did not start", self.page);
        // Made absolute, because the working directory may change.
        self.kubeconfig = self.working_dir.join(kubeconfig.trim()).display().to_string();
    }

    /// Runs `make run` as in the Makefile, but with the existing binary instead of a build.
    fn make_run(&mut self) {
        let cargo = self.folder.path().join("bin/cargo");
        let script =
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec switchboard \"$@\" --listen 127.0.0.1:0\n";
        std::fs::write(&cargo, script).unwrap();
        std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.start(&format!("make -s -C {} run CARGO={}", self.checkout.display(), cargo.display()));
    }

    /// Checks `cargo install --path CRATE` without a build: the crate exists and has the binary.
    fn check_install(&self, words: &str) {
        let path = words.split(' ').skip_while(|word| *word != "--path").nth(1).unwrap();
        let manifest = std::fs::read_to_string(root().join(path).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("name = \"switchboard\""), "{}: {path} has no binary `switchboard`", self.page);
    }

    /// Starts a kernel and waits until it logs its operators.
    fn start_kernel(&mut self, line: &str) {
        let mut child = self.shell(&format!("exec {line}"));
        let mut child = child.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let kernel = DocsProcess(child);
        let mut lines = said.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("running ")), "{}: `{line}` did not start", self.page);
        // Drains the output, so that the process never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        self.kernels.push(kernel);
    }

    /// Stores an exported variable.
    fn export(&mut self, line: &str) {
        let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        for name in
            line.split_whitespace().filter_map(|word| word.split_once('=')).map(|(name, _)| name).filter(is_name)
        {
            let printed = self.output(&format!("{line}; printf %s \"${name}\""));
            assert!(printed.status.success(), "{}: `{line}` failed", self.page);
            self.exported.push((name.to_string(), String::from_utf8(printed.stdout).unwrap()));
        }
    }

    /// Runs a query until it succeeds, because a journal entry is written shortly after the write. Failure matters only
    /// if `must` is set.
    fn query(&self, line: &str, must: bool) {
        let end = Instant::now() + TIMEOUT;
        loop {
            let ran = self.output(line);
            let said = String::from_utf8_lossy(&ran.stderr);
            let code = ran.status.code();
            assert!(code.is_some_and(|code| code != USAGE), "{}: `{line}` was not understood: {said}", self.page);
            if matches!(code, Some(0 | 2)) || !must {
                return;
            }
            assert!(Instant::now() < end, "{}: `{line}` failed: {said}", self.page);
            std::thread::sleep(POLL);
        }
    }

    /// Runs a command that must succeed, and returns its output. The next line starts in the resulting working
    /// directory.
    fn run(&mut self, line: &str) -> String {
        let led = self.folder.path().join(".led");
        let ran = self.output(&format!("{line}\ncode=$?\npwd >{}\nexit $code", led.display()));
        if let Ok(at) = std::fs::read_to_string(&led) {
            self.working_dir = PathBuf::from(at.trim_end());
        }
        let (printed, said) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(matches!(ran.status.code(), Some(0 | 2)), "{}: `{line}` failed: {printed}{said}", self.page);
        printed.into_owned()
    }

    fn run_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rest = words[1..].join(" ");
        let asking = QUERY_COMMANDS.iter().any(|asking| rest == *asking || rest.starts_with(&format!("{asking} ")));
        let plugin = words[0] == "kubectl" && words.get(1) == Some(&"switchboard");
        let service = rest.starts_with("gitops ");
        let alone = service && words.get(2).is_some_and(|verb| STANDALONE_COMMANDS.contains(verb));
        let must = cfg!(feature = "real") || alone || service && self.has_service;
        match (words[0], words.get(1).copied()) {
            _ if line.starts_with(INTERRUPT) => (self.kernels, self.server) = (Vec::new(), None),
            ("make", Some("run")) => self.make_run(),
            ("make", _) => {}
            ("cargo", Some("install")) => self.check_install(&rest),
            ("switchboard", Some("up" | "serve")) => self.start(line),
            ("switchboard", Some("run")) => self.start_kernel(line),
            ("switchboard", Some("gitops")) if matches!(words.get(2), Some(&("backend" | "agent"))) => {
                // The kinds exist only if kubectl creates them.
                if cfg!(feature = "real") {
                    self.start_kernel(line)
                } else {
                    self.query(&format!("{line} --help"), true)
                }
            }
            // The consumer of the output is not available.
            ("switchboard", _) if line.contains(" | kubectl ") && !cfg!(feature = "real") => {
                drop(self.run(line.split(" | ").next().unwrap_or(line)));
            }
            ("switchboard", _) if asking => self.query(line, must),
            ("export", _) => self.export(line),
            _ if plugin && cfg!(feature = "real") => self.query(line, true),
            (client, _) if CLIENTS.contains(&client) => {
                if self.server.is_none() && client != "helm" {
                    self.start("switchboard up --ephemeral --listen 127.0.0.1:0");
                }
                if cfg!(feature = "real") {
                    drop(self.run(line));
                }
            }
            _ => drop(self.run(line)),
        }
    }
}

#[test]
fn every_command_of_the_documents_works() {
    for document in documents() {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        let mut reader = PageReader::of(&document);
        for line in commands(&text) {
            reader.run_line(&line);
        }
    }
}

/// Returns the text of blocks that are not run.
fn text_blocks(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let mut block: Option<&str> = None;
    let mut out = Vec::new();
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(mark), None) => block = Some(mark),
            (None, Some("text")) => out.push(line.to_string()),
            _ => {}
        }
    }
    out
}

/// Returns the commands in sentences and tables, with values for their placeholders.
fn inline_commands(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let prose: String = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let spans = prose.split("\n\n").flat_map(|part| part.split('`').skip(1).step_by(2));
    let one = |word: &str| {
        word.trim_matches(['[', ']', '…'])
            .split("\\|")
            .next()
            .unwrap_or_default()
            .split('|')
            .next()
            .unwrap_or_default()
            .to_string()
    };
    let plain =
        |span: &str| span.split_whitespace().map(one).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let whole = |span: String| {
        let known = COMMAND_PREFIXES.iter().find(|(begins, _)| span.starts_with(begins));
        known.map(|(_, before)| format!("{before}{span}"))
    };
    spans.map(plain).filter_map(whole).collect()
}

/// Returns the value for a placeholder.
fn placeholder_value(word: &str) -> &str {
    PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == word).map_or(word, |(_, one)| *one)
}

/// Detects removed commands and renamed flags anywhere in the documentation.
#[test]
fn commands_in_sentences_are_understood() {
    let mut wrong = Vec::new();
    for page in documents() {
        for line in inline_commands(&page) {
            let words = line.split(' ').skip(1).map(placeholder_value);
            let ran = Command::new(process::binary().unwrap()).args(words).arg("--help").output().unwrap();
            if !ran.status.success() {
                wrong.push(format!("{}: `{line}`: {}", page.display(), String::from_utf8_lossy(&ran.stderr)));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// A block that is not run must not contain commands.
#[test]
fn commands_stand_in_blocks_that_are_run() {
    let mut hidden = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        for mark in ["```bash", "```shell", "```zsh"] {
            if text.contains(mark) {
                hidden.push(format!("{}: {mark}", document.display()));
            }
        }
    }
    let written = documents();
    let written = written.iter().filter(|page| !page.starts_with(GENERATED_PAGES));
    for (document, line) in written.flat_map(|page| text_blocks(page).into_iter().map(move |line| (page, line))) {
        let line = line.trim_start();
        let looks =
            line.starts_with("$ ") || ["switchboard ", "kubectl ", "helm "].iter().any(|it| line.starts_with(it));
        if looks && !NEVER_RUN.iter().any(|(known, _)| line.starts_with(known)) {
            hidden.push(format!("{}: {line}", document.display()));
        }
    }
    assert_eq!(
        hidden,
        Vec::<String>::new(),
        "hint: mark blocks of commands `sh` or `console`, and what is printed `text`"
    );
    for (known, why) in NEVER_RUN {
        let stands = documents().iter().any(|page| text_blocks(page).iter().any(|line| line.starts_with(known)));
        assert!(stands, "`{known}…` is not run because {why}, but stands nowhere");
    }
}

/// Pages outside of the documentation whose links are checked too.
const OTHER_PAGES: [&str; 5] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "BUGS.md", "CHANGELOG.md"];

/// Links must lead to existing files.
#[test]
fn links_lead_to_files_that_are_there() {
    let mut lost = Vec::new();
    for document in documents().into_iter().chain(OTHER_PAGES.map(PathBuf::from)) {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next()) {
            let away = link.is_empty() || link.contains("://");
            let folder = root().join(&document).parent().unwrap().to_path_buf();
            if !away && !folder.join(link).exists() {
                lost.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert_eq!(lost, Vec::<String>::new());
}

/// Sources of the code whose texts name pages, as hints and comments do.
fn sources() -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    let named =
        |name: &&str| [".rs", ".toml", ".yaml", ".tpl", ".txt", "Makefile"].iter().any(|end| name.ends_with(end));
    names
        .split_terminator('\0')
        .filter(named)
        .filter(|name| !name.contains("tests"))
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect()
}

/// Hints, comments and links of the console must name existing pages.
#[test]
fn pages_named_in_the_code_are_there() {
    let page = regex::Regex::new(r"docs/[A-Za-z0-9_/-]+\.md").unwrap();
    let help = regex::Regex::new(r#""/help/([A-Za-z][A-Za-z0-9_-]*)"#).unwrap();
    let names: Vec<String> = documents().iter().map(|page| page.file_stem().unwrap().display().to_string()).collect();
    let mut lost = Vec::new();
    for path in sources() {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        lost.extend(
            page.find_iter(&text)
                .filter(|found| !root().join(found.as_str()).exists())
                .map(|found| format!("{}: {}", path.display(), found.as_str())),
        );
        let unknown =
            help.captures_iter(&text).filter(|found| !names.iter().any(|name| name.eq_ignore_ascii_case(&found[1])));
        lost.extend(unknown.map(|found| format!("{}: help page {}", path.display(), &found[1])));
    }
    assert_eq!(lost, Vec::<String>::new());
}

/// Pages must be listed in the index to be found.
#[test]
fn the_index_names_every_page_below_it() {
    let index = std::fs::read_to_string(root().join("docs/README.md")).unwrap();
    let pages =
        documents().into_iter().filter_map(|page| page.strip_prefix("docs").ok().map(|p| p.display().to_string()));
    let missing: Vec<String> =
        pages.filter(|page| page != "README.md" && !index.contains(&format!("({page})"))).collect();
    assert_eq!(missing, Vec::<String>::new(), "hint: add it to docs/README.md");
}

/// Images must be used by a page.
#[test]
fn every_picture_is_shown() {
    let pages: String = documents().iter().map(|page| std::fs::read_to_string(root().join(page)).unwrap()).collect();
    let names = std::fs::read_dir(root().join("docs/images")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let unseen: Vec<String> = names.filter(|name| !pages.contains(&format!("images/{name})"))).collect();
    assert_eq!(
        unseen,
        Vec::<String>::new(),
        "hint: show it in docs/reference/console.md, or let tests/console.rs not keep it"
    );
}
