//! Confinement tests, as root and as an ordinary user.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;

const NOBODY_ID: u32 = 65534;
const LIMITS: switchboard_sandbox::SandboxLimits = switchboard_sandbox::SandboxLimits {
    wall: std::time::Duration::from_secs(25),
    memory_bytes: 64 << 20,
    disk_bytes: 8 << 20,
    processes: 64,
    stdout_bytes: switchboard_sandbox::STDOUT_BYTES,
};

/// Misbehaving program, compiled once in a folder where every user may execute it.
static STRAY: LazyLock<PathBuf> = LazyLock::new(|| {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/misbehaving/operator.rs");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stray");
    let rustc = std::env::var("RUSTC").unwrap_or("rustc".to_string());
    let compiled = Command::new(rustc).args(["--edition=2024", "-o"]).arg(&target).arg(source).status().unwrap();
    assert!(compiled.success());
    target
});

/// Returns the users to test: root and user 65534 if run as root, otherwise the current user.
fn users() -> Vec<Option<u32>> {
    let root = fs::metadata("/proc/self").map(|facts| std::os::unix::fs::MetadataExt::uid(&facts)).unwrap() == 0;
    if root { vec![None, Some(NOBODY_ID)] } else { vec![None] }
}

/// A folder owned by the user, with copies of the required binaries.
struct SandboxFixture {
    folder: TempDir,
    user: Option<u32>,
}

impl SandboxFixture {
    fn new(user: Option<u32>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Copied by another process: an open file descriptor for writing could be inherited by a program of another
        // test, and would make the file busy.
        for (from, to) in [(Path::new(env!("CARGO_BIN_EXE_switchboard-sandbox")), "sandbox"), (&*STRAY, "stray")] {
            assert!(Command::new("cp").arg(from).arg(folder.path().join(to)).status().unwrap().success());
        }
        for folder in [folder.path().to_path_buf(), folder.path().join("work")] {
            fs::create_dir_all(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            if user.is_some() {
                std::os::unix::fs::chown(&folder, user, user).unwrap();
            }
        }
        Self { folder, user }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, asked: &Value, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.file("sandbox"));
        command.arg(self.file("work")).arg(program).args(arguments);
        command.env("SANDBOX", asked.to_string()).env("SECRET_OF_THE_HOST", "x").current_dir("/");
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn run(&self, asked: Value, program: &str, arguments: &[&str]) -> Value {
        let output: Output = self.command(&asked, program, arguments).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    fn stray(&self, asked: Value, mode: &str) -> Value {
        self.run(asked, self.file("stray").to_str().unwrap(), &["do", mode])
    }
}

fn each(test: impl Fn(SandboxFixture)) {
    users().into_iter().for_each(|user| test(SandboxFixture::new(user)));
}

#[test]
fn a_program_runs_and_what_it_says_and_leaves_is_kept() {
    each(|stage| {
        let script = "echo hello; echo talk >&2; echo x > /switchboard/out/output/left; exit 3";
        let came = stage.run(json!({}), "/bin/sh", &["-c", script]);
        assert_eq!(came["end"], json!({"exited": 3}), "{came}");
        assert_eq!((came["stdout"].as_str(), came["stderr"].as_str()), (Some("hello\n"), Some("talk\n")));
        assert_eq!(came["files"], json!(["left"]));
        assert!(came["usage"]["peakMemoryBytes"].as_u64().unwrap() > 0, "{came}");
    });
}

/// Inputs are stored below the folder and may contain Secrets.
#[test]
fn guarantees_nobody_else_looks_into_the_work_folder() {
    each(|stage| {
        let mode = || fs::metadata(stage.file("work")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o755, "it was there before, open to all");
        stage.run(json!({}), "/bin/true", &[]);
        assert_eq!(mode(), 0o700);
    });
}

#[test]
fn it_reads_its_input_and_nothing_else() {
    each(|stage| {
        fs::create_dir(stage.file("input")).unwrap();
        fs::write(stage.file("input/a"), "content").unwrap();
        // Writable for everyone, so that only the sandbox prevents writes.
        fs::set_permissions(stage.file("input/a"), fs::Permissions::from_mode(0o666)).unwrap();
        let asked = json!({"input": stage.file("input")});
        let script = "cat /switchboard/input/a; echo more >> /switchboard/input/a";
        let came = stage.run(asked.clone(), "/bin/sh", &["-c", script]);
        assert_eq!(came["stdout"], "content", "{came}");
        assert!(came["stderr"].as_str().unwrap().contains("Read-only file system"), "{came}");
        assert_eq!(fs::read_to_string(stage.file("input/a")).unwrap(), "content");
        let came = stage.stray(asked, "outside");
        assert_eq!(came["stdout"], "refused: nothing outside can be read or written", "{came}");
    });
}

/// Readable folders may be nested, and may contain the program.
#[test]
fn it_may_lie_in_a_folder_that_it_may_read() {
    each(|stage| {
        let folder = stage.file("own");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/text"), "content").unwrap();
        assert!(Command::new("cp").arg("/bin/cat").arg(folder.join("program")).status().unwrap().success());
        let deep = folder.join("deep/text");
        for readable in [json!([folder, deep]), json!([deep, folder])] {
            let program = folder.join("program");
            let came = stage.run(json!({"readable": readable}), program.to_str().unwrap(), &[deep.to_str().unwrap()]);
            assert_eq!(came["stdout"], "content", "{came}");
        }
    });
}

/// Requires root, because a user namespace would not show its mounts to the host.
#[test]
fn what_is_mounted_below_its_input_is_read_only_too() {
    each(|stage| {
        if users().len() == 1 || stage.user.is_some() {
            return;
        }
        fs::create_dir_all(stage.file("input/sub")).unwrap();
        let asked = json!({"input": stage.file("input")});
        let script = "cat /switchboard/input/sub/a; echo more > /switchboard/input/sub/a && echo written";
        let direct = stage.command(&asked, "/bin/sh", &["-c", script]);
        let mount = "mount -t tmpfs -o mode=777 x \"$1\" && echo content > \"$1/a\" && chmod 666 \"$1/a\" && shift && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["-m", "/bin/sh", "-c", mount, "sh"]).arg(stage.file("input/sub"));
        command.arg(direct.get_program()).args(direct.get_args()).env("SANDBOX", asked.to_string());
        let output = command.output().unwrap();
        let came: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert_eq!(came["stdout"], "content\n", "{came}");
        assert!(came["stderr"].as_str().unwrap().contains("Read-only file system"), "{came}");
    });
}

#[test]
fn it_has_no_network() {
    each(|stage| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = format!("socket={}", listener.local_addr().unwrap());
        let came = stage.stray(json!({"unconfined": true}), &socket);
        assert_eq!(came["stdout"], "reached it", "without a sandbox the listener is reachable: {came}");
        let came = stage.stray(json!({}), &socket);
        assert!(came["stdout"].as_str().unwrap().contains("unreachable"), "{came}");
    });
}

/// A sandbox may not create namespaces, so sandboxes cannot be nested.
#[test]
fn where_no_sandbox_can_be_made_nothing_is_run() {
    each(|stage| {
        let program = stage.file("sandbox");
        let came = stage.run(json!({}), program.to_str().unwrap(), &["/tmp/work", "/bin/echo", "it ran"]);
        let said = came["stderr"].as_str().unwrap();
        assert!(
            said.contains("could not create a sandbox on this machine: user namespaces are not available"),
            "{came}"
        );
        assert_eq!((&came["end"], &came["stdout"]), (&json!({"exited": 1}), &json!("")), "{came}");
    });
}

/// A folder inherited from a shell or a service manager would lead out of the root.
#[test]
fn what_the_host_was_given_open_is_not_handed_on() {
    each(|stage| {
        let script = "ls /proc/self/fd/; ls /proc/self/fd/9/ && echo leaked";
        let direct = stage.command(&json!({}), "/bin/sh", &["-c", script]);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec \"$@\" 9</", "sh"]).arg(direct.get_program()).args(direct.get_args());
        command.env("SANDBOX", "{}").current_dir("/");
        if let Some(user) = stage.user {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        let came: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        // `ls` itself opens the folder that it lists.
        assert_eq!(came["stdout"], "0\n1\n2\n3\n", "{came}");
    });
}

#[test]
fn its_processes_are_counted() {
    each(|stage| {
        let came = stage.stray(json!({"processes": 20}), "forks");
        assert!(came["stdout"].as_str().unwrap().starts_with("refused: no more after "), "{came}");
    });
}

#[test]
fn its_disk_is_bounded() {
    each(|stage| {
        let came = stage.stray(json!({"diskBytes": 8 << 20}), "fills");
        let said = came["stdout"].as_str().unwrap();
        assert!(
            said.starts_with("refused: after 7 MiB: No space left") || said.starts_with("refused: after 8 MiB"),
            "{came}"
        );
        assert_eq!(came["usage"]["diskFull"], true, "{came}");
    });
}

#[test]
fn its_memory_is_bounded() {
    each(|stage| {
        // A process whose first thread has exited reports no memory, but the other threads still hold it.
        for mode in ["hoards", "headless"] {
            let came = stage.stray(json!({"memoryBytes": 64 << 20}), mode);
            let held = came["end"]["memory"].as_u64().unwrap_or_else(|| panic!("{mode}: {came}"));
            assert!(held > 64 << 20 && held < 512 << 20, "{mode}: {came}");
        }
    });
}

/// Memory that is filled and then removed from the process's accounting is still held, which only the machine's
/// accounting shows.
#[test]
fn memory_that_can_be_hidden_is_not_to_be_had() {
    each(|stage| {
        let asked = json!({"memoryBytes": 64 << 20});
        for mode in ["shares", "hides"] {
            let came = stage.stray(asked.clone(), mode);
            assert_eq!(came["stdout"], "refused: after 0 MiB: Operation not permitted (os error 1)", "{came}");
        }
        let came = stage.stray(asked, "hides=/dev/zero");
        assert_eq!(came["stdout"], "refused: after 0 MiB: No such device (os error 19)", "{came}");
        let came = stage.stray(json!({}), "unowned");
        assert_eq!(came["stdout"], "refused: no memory without an owner", "{came}");
    });
}

/// A file in the sandbox is part of its disk and counts as memory.
#[test]
fn files_that_are_mapped_count() {
    each(|stage| {
        let came = stage.run(
            json!({"diskBytes": 64 << 20, "memoryBytes": 32 << 20}),
            "/bin/sh",
            &["-c", "head -c 50000000 /dev/zero > /tmp/file; sleep 10"],
        );
        assert!(came["end"]["memory"].as_u64().is_some_and(|held| held > 32 << 20), "{came}");
    });
}

#[test]
fn what_the_system_holds_for_it_is_its_memory_too() {
    each(|stage| {
        for mode in ["tables", "queues"] {
            let came = stage.stray(json!({"memoryBytes": 64 << 20}), mode);
            assert!(came["end"]["memory"].as_u64().is_some_and(|held| held > 64 << 20), "{mode}: {came}");
        }
    });
}

/// A thousand pipe ends: the process holds almost no memory itself, but the kernel holds 63 MiB.
#[test]
fn what_lies_unread_in_pipes_is_its_memory_too() {
    each(|stage| {
        let came = stage.stray(json!({"memoryBytes": 32 << 20}), "pipes");
        assert!(came["end"]["memory"].as_u64().is_some_and(|held| held > 32 << 20), "{came}");
        // Pipes cannot be enlarged, and uncounted pipes cannot be created.
        let came = stage.stray(json!({}), "wider");
        let refused = "Operation not permitted (os error 1)";
        let unknown = "Function not implemented (os error 38)";
        assert_eq!(came["stdout"], format!("refused: {refused}; {unknown}; {refused}"), "{came}");
    });
}

#[test]
fn an_ordinary_number_of_files_costs_nothing() {
    each(|stage| {
        let few = "cat /dev/null | cat | cat; sleep 0.1; echo done";
        let came = stage.run(json!({"memoryBytes": 16 << 20}), "/bin/sh", &["-c", few]);
        assert_eq!((&came["end"]["exited"], &came["stdout"]), (&json!(0), &json!("done\n")), "{came}");
    });
}

#[test]
fn calls_have_no_second_names() {
    each(|stage| {
        if cfg!(target_arch = "x86_64") {
            let came = stage.stray(json!({}), "second-name");
            assert_eq!(came["stdout"], "refused: Operation not permitted (os error 1)", "{came}");
        }
    });
}

#[test]
fn files_with_holes_are_not_read() {
    each(|stage| {
        let program = stage.file("stray");
        let mut command = stage.command(&json!({}), program.to_str().unwrap(), &["do", "sparse"]);
        let said = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
        assert!(said.contains("bytes, and at most 67108864 are allowed"), "{said}");
    });
}

#[test]
fn guarantees_a_run_that_never_ends_is_ended() {
    each(|stage| {
        let came = stage.stray(json!({"wallMs": 300}), "never");
        assert_eq!(came["end"], "deadline", "{came}");
    });
}

/// Returns the number of processes on the machine with this argument.
fn running(argument: &str) -> usize {
    let commands = fs::read_dir("/proc").unwrap().flatten();
    let commands = commands.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    commands.filter(|command| command.split('\0').any(|part| part == argument)).count()
}

#[test]
fn guarantees_nothing_survives_the_run() {
    each(|stage| {
        let mark = format!("{}", 3_600_000 + stage.user.unwrap_or_default());
        let script = format!("setsid sleep {mark} & setsid sleep {mark} & sleep 0.1; exit 0");
        let came = stage.run(json!({}), "/bin/sh", &["-c", &script]);
        assert_eq!(came["end"], json!({"exited": 0}), "{came}");
        assert_eq!(running(&mark), 0);
    });
}

#[test]
fn it_dies_with_its_host() {
    each(|stage| {
        let mark = format!("{}", 4_600_000 + stage.user.unwrap_or_default());
        let script = format!("setsid sleep {mark} & exec sleep {mark}");
        let mut host = stage.command(&json!({}), "/bin/sh", &["-c", &script]).spawn().unwrap();
        while running(&mark) < 2 {
            std::thread::yield_now();
        }
        host.kill().unwrap();
        host.wait().unwrap();
        while running(&mark) > 0 {
            std::thread::yield_now();
        }
    });
}

#[test]
fn it_may_become_nothing_more() {
    each(|stage| {
        let script = "unshare -Ur true && echo namespace; mount -t tmpfs x /tmp && echo mount; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status";
        let came = stage.run(json!({}), "/bin/sh", &["-c", script]);
        let said = came["stdout"].as_str().unwrap();
        assert!(!said.contains("namespace") && !said.contains("mount"), "{came}");
        assert!(said.contains("CapEff:\t0000000000000000") && said.contains("NoNewPrivs:\t1"), "{came}");
    });
}

#[test]
fn a_program_that_is_not_there_is_named() {
    each(|stage| {
        let output = stage.command(&json!({}), "/nonexistent/program", &[]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("could not start /nonexistent/program: No such file"), "{said}");
    });
}

#[test]
fn links_and_pipes_in_the_output_are_refused() {
    each(|stage| {
        for make in ["ln -s /etc/passwd /switchboard/out/output/x", "mkfifo /switchboard/out/output/x"] {
            let output = stage.command(&json!({}), "/bin/sh", &["-c", make]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("x is neither a file nor a folder"), "{said}");
        }
    });
}

#[test]
fn with_a_proxy_it_leaves_through_it_alone() {
    each(|stage| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap().to_string();
        let kubeconfig = format!("server: https://{target}\ntoken: t\n");
        let asked = json!({"egress": [target], "kubeconfig": kubeconfig});
        let program = stage.file("stray");
        let arguments = [
            "apply-configuration-live",
            "--output-dir",
            "/switchboard/out/output",
            "--kubeconfig",
            "/switchboard/kubeconfig",
        ];
        let came = stage.run(asked.clone(), program.to_str().unwrap(), &arguments);
        assert_eq!(came["attempts"], json!([{"to": target, "allowed": true}]), "{came}");
        // The tunnel reached the listener.
        listener.accept().unwrap();
        let mut elsewhere = asked.clone();
        elsewhere["env"] = json!({"HTTPS_PROXY": "http://127.0.0.1:9", "no_proxy": "*"});
        let came = stage.run(elsewhere, "/bin/sh", &["-c", "echo $HTTPS_PROXY $https_proxy [$no_proxy]"]);
        assert_eq!(came["stdout"], "http://127.0.0.1:3128 http://127.0.0.1:3128 []\n", "{came}");
        let came = stage.stray(asked, &format!("socket={target}"));
        // There is a loopback interface, but only the proxy listens on it.
        assert!(came["stdout"].as_str().unwrap().starts_with("refused: Connection refused"), "{came}");
    });
}

#[test]
fn unconfined_its_kubeconfig_leads_to_the_proxy_there_is() {
    each(|stage| {
        let kubeconfig = format!("proxy-url: http://{}\n", switchboard_sandbox::PROXY);
        let asked = json!({"egress": ["login.example.com"], "kubeconfig": kubeconfig, "unconfined": true});
        let script = "echo \"proxy-url: $HTTPS_PROXY\"; cat \"$0\"";
        let came = stage.run(asked, "/bin/sh", &["-c", script, switchboard_sandbox::KUBECONFIG]);
        let said: Vec<&str> = came["stdout"].as_str().unwrap().lines().collect();
        assert!(said.len() == 2 && said[0] == said[1] && said[0].contains("127.0.0.1:"), "{came}");
    });
}

#[test]
fn unconfined_nobody_waits_for_what_left_its_group() {
    each(|stage| {
        let mark = format!("{}", 5_600_000 + stage.user.unwrap_or_default());
        let script = format!(
            "echo said; setsid sh -c 'echo $$ > gone; exec sleep {mark}' & while [ ! -s gone ]; do sleep 0.01; done; cat gone"
        );
        let came = stage.run(json!({"unconfined": true}), "/bin/sh", &["-c", &script]);
        let said: Vec<&str> = came["stdout"].as_str().unwrap().lines().collect();
        assert_eq!((said.len(), said[0]), (2, "said"), "{came}");
        assert_eq!(running(&mark), 1, "it still holds what the program spoke into");
        assert!(Command::new("kill").arg(said[1]).status().unwrap().success());
    });
}

#[test]
fn unconfined_it_is_still_ended_in_time() {
    each(|stage| {
        let came = stage.stray(json!({"unconfined": true, "wallMs": 300}), "never");
        assert_eq!(came["end"], "deadline", "{came}");
        let came = stage.run(json!({"unconfined": true}), "/bin/sh", &["-c", "echo $HOME $SECRET_OF_THE_HOST"]);
        assert!(!came["stdout"].as_str().unwrap().trim().ends_with('x'), "{came}");
    });
}

/// Returns the number of processes that execute a file.
fn started_from(program: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.filter(|process| fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == program)).count()
}

fn sandbox(stage: &SandboxFixture) -> (switchboard_sandbox::Sandbox, PathBuf) {
    let launcher = stage.file("sandbox").canonicalize().unwrap();
    (switchboard_sandbox::Sandbox::new(&stage.file("work")).unwrap().with_launcher(&launcher), launcher)
}

#[test]
fn a_sandbox_that_is_made_and_not_used_is_not_left_behind() {
    let stage = SandboxFixture::new(None);
    let (sandbox, launcher) = sandbox(&stage);
    let begun = sandbox.prepare(&switchboard_sandbox::SandboxJob::new("/bin/true", LIMITS)).unwrap();
    assert!(started_from(&launcher) > 0);
    drop(begun);
    assert_eq!(started_from(&launcher), 0);
}

#[test]
fn an_input_that_is_written_while_the_sandbox_is_made_is_read() {
    for unconfined in [false, true] {
        let stage = SandboxFixture::new(None);
        let (sandbox, _) = sandbox(&stage);
        fs::create_dir(stage.file("input")).unwrap();
        let (input, inside) = (Some(stage.file("input")), format!("{}/new", switchboard_sandbox::INPUT));
        // Unconfined, only an argument that equals the input's path is replaced by the real path.
        let script = if unconfined { "cat $0/new" } else { "cat $1" };
        let arguments = ["-c", script, switchboard_sandbox::INPUT, &inside].map(str::to_string);
        let job = switchboard_sandbox::SandboxJob {
            input,
            unconfined,
            ..switchboard_sandbox::SandboxJob::new("/bin/sh", LIMITS)
        };
        let begun = sandbox.prepare(&job.args(arguments)).unwrap();
        fs::write(stage.file("input/new"), "heard").unwrap();
        let finished = begun.run().unwrap();
        let said = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert_eq!(
            (finished.end, finished.stdout),
            (switchboard_sandbox::ProgramEnd::Exited(0), b"heard".to_vec()),
            "{said}"
        );
    }
}

/// Returns the number of remaining run folders.
fn run_folders(stage: &SandboxFixture) -> usize {
    let entries = fs::read_dir(stage.file("work")).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("run-")).count()
}

/// Starts an endless unconfined run in a process of its own.
fn start_host(stage: &SandboxFixture, mark: &str) -> std::process::Child {
    let asked = json!({"unconfined": true, "wallMs": 3_600_000, "kubeconfig": "token: x"});
    let host = stage.command(&asked, "/bin/sh", &["-c", &format!("sleep {mark} & exec sleep {mark}")]).spawn().unwrap();
    while running(mark) < 2 {
        std::thread::yield_now();
    }
    host
}

#[test]
fn unconfined_what_a_killed_host_left_is_ended_and_removed_by_the_next() {
    each(|stage| {
        let mark = format!("{}", 6_600_000 + stage.user.unwrap_or_default());
        let mut host = start_host(&stage, &mark);
        stage.run(json!({}), "/bin/true", &[]);
        assert_eq!((run_folders(&stage), running(&mark) > 1), (1, true), "another beside it leaves it alone");
        host.kill().unwrap();
        host.wait().unwrap();
        assert_eq!(run_folders(&stage), 1);
        stage.run(json!({}), "/bin/true", &[]);
        assert_eq!(run_folders(&stage), 0);
        while running(&mark) > 0 {
            std::thread::yield_now();
        }
    });
}

#[test]
fn unconfined_it_ends_with_its_host_when_that_ends_in_order() {
    let stage = SandboxFixture::new(None);
    let (sandbox, _) = sandbox(&stage);
    let mark = "7600000";
    let arguments = ["-c".to_string(), format!("sleep {mark} & exec sleep {mark}")];
    let mut job = switchboard_sandbox::SandboxJob::new("/bin/sh", LIMITS).args(arguments);
    (job.unconfined, job.limits.wall) = (true, std::time::Duration::from_secs(3600));
    let (run, its) = (sandbox.clone(), job.clone());
    let waiting = std::thread::spawn(move || run.run(&its));
    while running(mark) < 2 {
        std::thread::yield_now();
    }
    sandbox.stop();
    assert_eq!(run_folders(&stage), 0, "before the process ends, which waits for no run");
    let finished = waiting.join().unwrap().unwrap();
    assert_eq!(finished.end, switchboard_sandbox::ProgramEnd::Signalled(9));
    assert!(matches!(sandbox.run(&job), Err(switchboard_sandbox::SandboxError::Stopped)));
    while running(mark) > 0 {
        std::thread::yield_now();
    }
}
