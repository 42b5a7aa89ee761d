//! First steps of a new user, from README.md alone, in a separate checkout: `make run`, the console, the first kubectl
//! command, and the first own operator.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

/// Expected output of commands, possibly after a delay of the journal and the operators.
const EXPECTED_OUTPUT: [(&str, &str); 6] = [
    ("switchboard why-not welcome", "causes"),
    ("switchboard why-not greeter", "ConfigMap greeting to appear"),
    ("switchboard why configmap/ada-greeting", "Good day, Ada!"),
    ("switchboard plugs status", "coupling succeeded"),
    ("switchboard top", "Ready"),
    ("switchboard why configmap/welcome", "was last written by welcome"),
];

/// Copies all files that git tracks, like a clone.
fn checkout(into: &Path) {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    for name in String::from_utf8(listed.stdout).unwrap().split_terminator('\0') {
        let (from, to) = (root().join(name), into.join(name));
        // Files that are deleted but not committed are skipped.
        if from.is_file() {
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        }
    }
}

/// Returns the response of an HTTP GET.
fn page(url: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET / HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl PageReader {
    /// Returns the output of a line, using the real kubectl if available.
    fn output_of(&mut self, line: &str) -> String {
        if line.starts_with("kubectl ") && !cfg!(feature = "real") {
            return client::kubectl(&self.kubeconfig, &self.working_dir, line);
        }
        let told = EXPECTED_OUTPUT.iter().find(|(begins, _)| line.starts_with(begins)).map_or("", |(_, told)| *told);
        let end = Instant::now() + TIMEOUT;
        loop {
            let ran = self.output(line);
            let printed = String::from_utf8(ran.stdout).unwrap();
            if matches!(ran.status.code(), Some(0 | 2)) && printed.contains(told) {
                return printed;
            }
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(Instant::now() < end, "{}: `{line}` does not tell {told:?}: {printed}{said}", self.page);
            std::thread::sleep(POLL);
        }
    }

    /// Runs a line, which must succeed.
    fn follow(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words[0], words.get(1).copied()) {
            ("make" | "cargo", _) => self.run_line(line),
            ("switchboard", Some("run")) => {
                self.run_line(line);
                // A user reads on once the operator is at work; before its first list, it has another cause.
                let state = line.split_once("--state-dir ").map_or("", |(_, folder)| folder);
                self.output_of(&format!("switchboard top --state-dir {state}"));
            }
            ("switchboard", Some("up")) => {
                self.run_line(line);
                return format!("{}{}\n", std::fs::read_to_string(&self.log_file).unwrap(), self.kubeconfig);
            }
            ("switchboard" | "kubectl", _) => return self.output_of(line),
            ("export", _) => self.run_line(line),
            _ => return self.run(line),
        }
        String::new()
    }
}

/// Values that differ between machines and runs, with their masks.
const MASKS: [(&str, &str); 7] = [
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"[\d.]+(ms|s|m) ago", "SPAN ago"),
    (r"\d+\.\d+ s$", "SPAN"),
    (r"(revision|decision) \d+", "$1 NUMBER"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"(/[\w.-]+)+/(cluster|own|kubeconfig)\b", "FOLDER/$2"),
    (r"paused by \S+", "paused by USER"),
];

fn masked(text: &str) -> Vec<String> {
    let masks = MASKS.map(|(pattern, mask)| (regex::Regex::new(pattern).unwrap(), mask));
    let mask =
        |line: &str| masks.iter().fold(line.to_string(), |line, (one, to)| one.replace_all(&line, *to).into_owned());
    text.lines().map(str::trim_end).map(mask).collect()
}

/// Words of a page before a block that leaves lines out.
const EXCERPT: &str = "mong other lines";

/// Checks that a block is the end of what the commands before it printed, or an excerpt if the page says so.
fn assert_printed(page: &str, intro: &str, block: &str, printed: &str) {
    let (expected, found) = (masked(block.trim_end()), masked(printed.trim_end()));
    if intro.rsplit("\n\n").take(2).any(|part| part.contains(EXCERPT)) {
        let mut lines = found.iter();
        let missing = expected.iter().find(|line| !lines.any(|one| one == *line));
        assert_eq!(missing, None, "{page}: not printed, or not in this order:\n{printed}");
    } else {
        assert_eq!(found[found.len().saturating_sub(expected.len())..], expected, "{page}");
    }
}

/// Returns the rest of the log line that follows these words.
fn startup_value(reader: &PageReader, words: &str) -> String {
    let said = std::fs::read_to_string(&reader.log_file).unwrap();
    let line = said.lines().find_map(|line| line.strip_prefix(words));
    line.unwrap_or_else(|| panic!("`{words}…` was not said: {said}")).to_string()
}

#[test]
fn a_newcomer_with_the_readme_alone_gets_there() {
    let clone = tempfile::tempdir().unwrap();
    checkout(clone.path());
    let mut reader = PageReader::of(Path::new("README.md"));
    (reader.checkout, reader.working_dir) = (clone.path().to_path_buf(), clone.path().to_path_buf());
    let text = std::fs::read_to_string(clone.path().join("README.md")).unwrap();
    let lines = commands(&text);
    assert_eq!(lines[0], "make run");
    reader.follow(&lines[0]);
    // The logged line sets the kubeconfig for kubectl.
    assert_eq!(startup_value(&reader, "hint: export KUBECONFIG="), reader.kubeconfig);
    let url = startup_value(&reader, "console at ");
    // The page lists everything that runs, possibly after a delay.
    let at_work = ["Overview", "greeter", "plugs", "integrations", "gitops", "engine"];
    let end = Instant::now() + TIMEOUT;
    while let Some(word) = at_work.iter().find(|word| !page(&url).contains(**word)) {
        assert!(Instant::now() < end, "{word} is not on {url}");
        std::thread::sleep(POLL);
    }
    for line in lines[1..].iter().filter(|line| !line.starts_with("make ")) {
        reader.follow(line);
    }
    assert!(text.contains("(docs/tutorials/first-operator.md)"), "the README links to the first own operator");
    drop(reader);

    let mut reader = PageReader::of(Path::new("docs/tutorials/first-operator.md"));
    let tutorial = std::fs::read_to_string(clone.path().join("docs/tutorials/first-operator.md")).unwrap();
    (reader.checkout, reader.working_dir) = (clone.path().to_path_buf(), clone.path().to_path_buf());
    let (mut printed, mut intro) = (String::new(), "");
    let mut last = String::new();
    for (number, part) in tutorial.split("```text\n").enumerate() {
        let (block, text) = if number == 0 { ("", part) } else { part.split_once("```").unwrap() };
        if number > 0 {
            assert_printed(&reader.page, intro, block, &last);
            printed += &std::mem::take(&mut last);
        }
        for line in commands(text) {
            last += reader.follow(&line).trim_end();
            last.push('\n');
        }
        intro = text;
    }
    printed += &last;
    for words in ["1 case: 1 passed", "Welcome, Ada and Grace!", "paused"] {
        assert!(printed.contains(words), "{words} is not in\n{printed}");
    }
}
