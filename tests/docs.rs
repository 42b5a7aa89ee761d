//! What the documents tell a reader to type is typed here, line by line.
//!
//! Every block marked `sh`, and every `$` line of those marked `console`, of README.md and of the pages in `docs/` is run, in a folder of its own for each page:
//!
//! - `switchboard` lines are run always. `up` and `serve` start a server, `run` and `individual` a kernel over it, all the others
//!   are run to their end. What asks a kernel or a cluster must be understood always, and must succeed with the feature
//!   `real`, when kubectl has put something there to ask about.
//! - `kubectl`, `helm` and `curl` lines are run with the feature `real`, against the server that stands above them.
//! - `switchboard gitops` lines must succeed always below an `up` that hosts the GitOps Service: they need nobody else.
//! - `export` holds for the lines below it, as in a shell.
//! - Anything else is for a shell and is run always, a here-document as one line. It is one shell from the first line of a page to the last: who was led
//!   into a folder stays there.
//!
//! What stands in a sentence or a table, with words for what a reader puts there, is not run but must be understood.
//!
//! `make run` is run as the Makefile has it, other targets are checked by `tests/tidy.rs`. Blocks that show what is printed are marked `text`.
#![allow(clippy::unwrap_used)]

#[path = "docs/client.rs"]
mod client;
#[path = "docs/newcomer.rs"]
mod newcomer;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use switchboard_suite::process;

/// What is not answered within this will not be.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// What was killed is gone within this.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The command line is not understood.
const USAGE: i32 = 64;
/// What a page may lean on beside what it makes itself.
const SHARED_FOLDERS: [&str; 3] = ["tests", "examples", "deploy"];
/// Commands that ask a kernel, a cluster or a server.
const QUERY_COMMANDS: [&str; 11] =
    ["why", "why-not", "top", "pause", "resume", "wake", "replay", "plan", "doctor", "gitops", "plugs status"];
/// Commands of the GitOps Service that need neither a cluster nor a kernel.
const STANDALONE_COMMANDS: [&str; 2] = ["migrate", "crds"];
/// What an `up` hosts the GitOps Service with.
const SERVICE_OPTION: &str = "--example deployments";
/// How commands begin in sentences, and what a page leaves out before that.
const COMMAND_PREFIXES: [(&str, &str); 3] =
    [("switchboard ", ""), ("gitops ", "switchboard "), ("fleet ", "switchboard gitops ")];
/// Words that stand for what a reader puts there, where not any text will do.
const PLACEHOLDERS: [(&str, &str); 2] = [("DECISION", "1"), ("OPERATOR", "greeter")];
/// Pages that are printed by the binary itself: usage, not commands.
const GENERATED_PAGES: &str = "docs/reference";
/// Commands that cannot be run, with the reason. They stand in blocks marked `text`.
const NEVER_RUN: [(&str, &str); 1] = [("kubectl -n platform exec ", "no pod runs without a kubelet")];
/// Commands of clients that only the feature `real` has.
const CLIENTS: [&str; 3] = ["kubectl", "helm", "curl"];

struct DocsProcess(Child);

impl Drop for DocsProcess {
    fn drop(&mut self) {
        // With all that it started: `make` does not end what it runs. The next one needs what they hold.
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

/// README.md and every page below `docs/`, as paths from the root.
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

/// The commands of a page, in order, without comments; a here-document is one of them. Blocks marked `sh` hold nothing else;
/// in those marked `console` they stand behind a `$`, and what they print between them.
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
        if command.is_empty() || command.starts_with('#') {
            continue;
        }
        end = command.split("<<").nth(1).map(|mark| mark.trim_matches(['\'', '"']).to_string());
        out.push(command.to_string());
    }
    out
}

/// A reader of one page: a folder, a server, kernels over it.
struct PageReader {
    page: String,
    folder: tempfile::TempDir,
    kubeconfig: String,
    kernels: Vec<DocsProcess>,
    server: Option<DocsProcess>,
    /// What was exported, and what it is.
    exported: Vec<(String, String)>,
    /// Whether the server hosts the GitOps Service.
    has_service: bool,
    /// Where the lines before led to.
    working_dir: PathBuf,
    /// The checkout that `make` is called in.
    checkout: PathBuf,
    /// What a server said when it started.
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

    /// Starts a server, on a free port whatever the line says.
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
        // A path from the folder is one from everywhere.
        self.kubeconfig = self.working_dir.join(kubeconfig.trim()).display().to_string();
    }

    /// `make run` as it stands in the Makefile, with the binary that is there instead of a build of it.
    fn make_run(&mut self) {
        let cargo = self.folder.path().join("bin/cargo");
        let script =
            "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec switchboard \"$@\" --listen 127.0.0.1:0\n";
        std::fs::write(&cargo, script).unwrap();
        std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.start(&format!("make -s -C {} run CARGO={}", self.checkout.display(), cargo.display()));
    }

    /// Starts a kernel over the server, and waits until it says what it hosts.
    fn start_kernel(&mut self, line: &str) {
        let mut child = self.shell(&format!("exec {line}"));
        let mut child = child.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let kernel = DocsProcess(child);
        let mut lines = said.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("hosting ")), "{}: `{line}` did not start", self.page);
        // Nobody may be kept waiting for a reader of what it says.
        std::thread::spawn(move || lines.for_each(drop));
        self.kernels.push(kernel);
    }

    /// Keeps what a line exports.
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

    /// Asks until there is an answer; a journal is written a moment after the cluster. A bad one counts only if it must be good.
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

    /// Runs to the end, which must be a good one; gives what it prints. The next line begins where this one led to.
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
            ("make", Some("run")) => self.make_run(),
            ("make", _) => {}
            ("switchboard", Some("up" | "serve")) => self.start(&format!("{line} --listen 127.0.0.1:0")),
            ("switchboard", Some("run" | "individual")) => self.start_kernel(line),
            ("switchboard", Some("gitops")) if matches!(words.get(2), Some(&("backend" | "agent"))) => {
                // They need kinds that only kubectl puts there.
                if cfg!(feature = "real") {
                    self.start_kernel(line)
                } else {
                    self.query(&format!("{line} --help"), true)
                }
            }
            // Who reads what it prints is not here.
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

/// What stands in blocks of a page that nobody runs.
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

/// Commands that stand in sentences and tables, with what a reader puts in place of their words.
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

/// What a reader puts in place of a word.
fn placeholder_value(word: &str) -> &str {
    PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == word).map_or(word, |(_, one)| *one)
}

/// A verb that went, or a flag that has another name now, is noticed wherever it is told of.
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

/// Nothing that looks like a command hides in a block that nobody runs.
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

/// Pages beside the documentation, for those who work on it: their links count as well.
const OTHER_PAGES: [&str; 5] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "BUGS.md", "CHANGELOG.md"];

/// Links between the pages lead somewhere.
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

/// A page that the index does not name is not found; those beside it are seen by who looks at it.
#[test]
fn the_index_names_every_page_below_it() {
    let index = std::fs::read_to_string(root().join("docs/README.md")).unwrap();
    let pages =
        documents().into_iter().filter_map(|page| page.strip_prefix("docs").ok().map(|p| p.display().to_string()));
    let missing: Vec<String> =
        pages.filter(|page| page.contains('/') && !index.contains(&format!("({page})"))).collect();
    assert_eq!(missing, Vec::<String>::new(), "hint: add it to docs/README.md");
}

/// A picture that no page shows is one that nobody sees.
#[test]
fn every_picture_is_shown() {
    let pages: String = documents().iter().map(|page| std::fs::read_to_string(root().join(page)).unwrap()).collect();
    let names = std::fs::read_dir(root().join("docs/images")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let unseen: Vec<String> = names.filter(|name| !pages.contains(&format!("images/{name})"))).collect();
    assert_eq!(unseen, Vec::<String>::new(), "hint: show it in docs/CONSOLE.md, or let tests/console.rs not keep it");
}
