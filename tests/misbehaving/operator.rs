//! Operator program with the four commands that misbehaves on demand. The suite compiles it without dependencies and
//! hosts it; its misbehavior must have no effect.
//!
//! `STRAY` selects the mode: good (default), socket, outside, forks, fills, hoards, shares, sparse, never, panics,
//! killed, undeclared, link, generates, twice, tells, loops, answers, degraded, widgets, crash, silent. `STRAY_TARGET`
//! is the address for `socket`; with `do`, the address can be part of the mode: `socket=ADDRESS`.
//!
//! In mode good, the program copies `words` of ConfigMap `default/stray-in` in upper case to `default/stray-out`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, exit};
use std::time::Duration;

const INPUTS: &str = "\
applyConfigurationResources:
  exactResources:
  - group: \"\"
    name: stray-in
    namespace: default
    resource: configmaps
    version: v1
  labelSelectedResources:
  - group: \"\"
    labelSelector: {matchLabels: {stray: crowd}}
    namespace: crowd
    resource: configmaps
    version: v1
operandResources:
  configurationResources: {}
  managementResources: {}
  userWorkloadResources: {}
";

const OUTPUTS: &str = "\
configurationResources:
  eventingNamespaces: [default]
  exactResources:
  - group: \"\"
    name: stray-out
    namespace: default
    resource: configmaps
    version: v1
  generatedNameResources:
  - group: \"\"
    name: stray-made-
    namespace: default
    resource: configmaps
    version: v1
managementResources: {}
userWorkloadResources: {}
";

/// Additional input of `widgets`: a type that a cluster may not serve.
const WIDGET: &str = "  - {group: stray.example.com, name: one, resource: widgets, version: v1}\n";

/// Additional input of `loops` and `answers`: their own output.
const OWN: &str = "  - {group: \"\", name: stray-out, namespace: default, resource: configmaps, version: v1}\n";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = std::env::var("STRAY").unwrap_or_default();
    match arguments.first().map(String::as_str) {
        Some("input-resources") if mode == "widgets" => {
            print!("{}", INPUTS.replace("  labelSelected", &format!("{WIDGET}  labelSelected")));
        }
        Some("input-resources") if mode == "loops" || mode == "answers" => {
            print!("{}", INPUTS.replace("  labelSelected", &format!("{OWN}  labelSelected")));
        }
        Some("input-resources") => print!("{INPUTS}"),
        Some("output-resources") => print!("{OUTPUTS}"),
        Some("apply-configuration") => apply(&arguments, &mode, "aloud"),
        Some("apply-configuration-live") => live(&arguments, &mode),
        Some("do") => print!("{}", stray(&arguments[1]).unwrap_or_else(|error| format!("refused: {error}"))),
        _ => {
            eprintln!("error: which command?");
            exit(1);
        }
    }
}

fn flag(arguments: &[String], name: &str) -> String {
    let with = format!("--{name}=");
    let at = arguments.iter().position(|argument| *argument == format!("--{name}") || argument.starts_with(&with));
    let Some(at) = at else { return String::new() };
    arguments[at].strip_prefix(&with).map_or_else(|| arguments[at + 1].clone(), str::to_string)
}

fn apply(arguments: &[String], mode: &str, key: &str) {
    let output = flag(arguments, "output-dir");
    let output = Path::new(&output);
    let words = words(&flag(arguments, "input-dir"));
    match mode {
        "panics" => {
            mutation(output, "Apply", "stray-out", &said(key, "written before the panic"));
            let panic = "panicStack: |-\n    boom\n    goroutine 1 [running]:\n  status: Panicked";
            results(output, panic);
            return;
        }
        "killed" => {
            mutation(output, "Apply", "stray-out", &said(key, "half the truth"));
            let _ = Command::new("/bin/sh").args(["-c", &format!("kill -9 {}", std::process::id())]).status();
            std::thread::sleep(Duration::from_secs(3600));
        }
        "crash" => exit(2),
        "silent" => return,
        "undeclared" => {
            mutation(output, "Apply", "stray-out", &said(key, &words));
            mutation(output, "Apply", "undeclared", &named("undeclared", key, "taken over"));
        }
        "link" => {
            let folder = folder(output, "Apply");
            mutation(output, "Apply", "stray-out", &said(key, &words));
            fs::remove_file(folder.join("0000-body-stray-out.yaml")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", folder.join("0000-body-stray-out.yaml")).unwrap();
        }
        "generates" => {
            let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
            let body = format!(
                "apiVersion: v1\ndata:\n  key: k{nanos}\nkind: ConfigMap\nmetadata:\n  generateName: stray-made-\n  namespace: default\n"
            );
            mutation(output, "Create", "", &body);
        }
        "twice" => {
            mutation(output, "Update", "stray-out", &said(key, "one"));
            let folder = folder(output, "Update");
            for part in ["body", "metadata"] {
                let text = fs::read_to_string(folder.join(format!("0000-{part}-stray-out.yaml"))).unwrap();
                fs::write(folder.join(format!("0001-{part}-stray-out.yaml")), text.replace(": one", ": two")).unwrap();
            }
        }
        "tells" => {
            mutation(output, "Apply", "stray-out", &said(key, &words));
            event(output, &flag(arguments, "now"));
        }
        "degraded" => {
            let condition = "request namespace \\\"default\\\" does not equal body namespace \\\"\\\"";
            let body =
                named("stray-out", key, "x").replace("\"x\"", &format!("\"an error on the server ({condition})\""));
            mutation(output, "Apply", "stray-out", &body);
        }
        // Writes a new value whenever it reads its own output.
        "loops" => {
            let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
            mutation(output, "Apply", "stray-out", &said(key, &format!("n{nanos}")));
        }
        "widgets" => {
            let input = flag(arguments, "input-dir");
            let there = Path::new(&input).join("cluster-scoped-resources/stray.example.com/widgets.yaml").exists();
            mutation(output, "Apply", "stray-out", &said(key, if there { "a widget" } else { "no widget" }));
        }
        "deep" | "bomb" | "binary" | "half" | "odd" => {
            mutation(output, "Apply", "stray-out", &said(key, &words));
            let (file, text) = unreadable(mode);
            fs::write(folder(output, "Apply").join(file), text).unwrap();
        }
        "misshapen" => mutation(output, "Create", "stray-out", "apiVersion: v1\nkind: ConfigMap\nmetadata: hello\n"),
        // Begins with a declared name, but leads elsewhere.
        "roundabout" => {
            mutation(output, "Delete", "stray-made-x", "apiVersion: v1\nkind: DeleteOptions\n");
            let file = folder(output, "Delete").join("0000-metadata-stray-made-x.yaml");
            let text = fs::read_to_string(&file).unwrap().replace("stray-made-x", "stray-made-x/../stray-in");
            fs::write(file, text).unwrap();
        }
        "nested" => {
            mutation(output, "Apply", "stray-out", &said(key, &words));
            fs::create_dir_all(output.join("Configuration").join("a/".repeat(100))).unwrap();
        }
        "many" => {
            mutation(output, "Apply", "stray-out", &said(key, &words));
            results(output, "status: Succeeded");
            while fs::write(output.join(format!("Configuration/{}", std::process::id())), "").is_ok() {
                let number = fs::read_dir(output.join("Configuration")).unwrap().count();
                fs::rename(
                    output.join(format!("Configuration/{}", std::process::id())),
                    output.join(format!("Configuration/n{number}")),
                )
                .unwrap();
                for more in 0..1000 {
                    if fs::write(output.join(format!("Configuration/n{number}-{more}")), "").is_err() {
                        return;
                    }
                }
            }
            return;
        }
        "wanders" => {}
        "" | "good" | "answers" => mutation(output, "Apply", "stray-out", &said(key, &words)),
        bad => match stray(bad) {
            Ok(got) => mutation(output, "Apply", "stray-out", &said(key, &format!("got away with it: {got}"))),
            Err(error) => {
                results(output, &format!("errors:\n  - message: {error:?}\n  status: Failed"));
                exit(1);
            }
        },
    }
    results(output, "status: Succeeded");
}

/// Returns an unreadable file in place of an expected one.
fn unreadable(mode: &str) -> (&'static str, Vec<u8>) {
    let body = "0000-body-stray-out.yaml";
    match mode {
        "deep" => (body, "[".repeat(1 << 20).into_bytes()),
        "bomb" => {
            let more = |level: u8| {
                format!(
                    "{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n",
                    level as char,
                    (level - 1) as char
                )
            };
            (body, format!("a: &a [x]\n{}", (b'b'..=b'z').map(more).collect::<String>()).into_bytes())
        }
        "binary" => (
            body,
            named("stray-out", "aloud", "x")
                .replace('x', "\u{1}")
                .into_bytes()
                .into_iter()
                .map(|b| if b == 1 { 0xff } else { b })
                .collect(),
        ),
        "half" => (body, b"apiVersion: v1\ndata:\n  aloud: \"half of wh".to_vec()),
        _ => ("0000-metadata-stray-out.yaml", b"action: Apply\nresourceType: [1, 2]\nname: {a: b}\n".to_vec()),
    }
}

/// Sends a request to the API server with the given identity, through the proxy, and records the result.
fn live(arguments: &[String], mode: &str) {
    if mode == "socket" {
        return apply(arguments, mode, "live");
    }
    let kubeconfig = fs::read_to_string(flag(arguments, "kubeconfig")).unwrap_or_default();
    let server = field(&kubeconfig, "server: ").trim_start_matches("https://").to_string();
    let output = flag(arguments, "output-dir");
    if mode == "wanders" {
        connect("not-allowed.example.com:443");
        return results(Path::new(&output), "status: Succeeded");
    }
    // Writes a new value whenever it reads its own output, like `loops` without a network.
    if mode == "answers" {
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        mutation(Path::new(&output), "Apply", "stray-out", &said("live", &format!("n{nanos}")));
        return results(Path::new(&output), "status: Succeeded");
    }
    let said_by_proxy = connect(&server);
    let token = !field(&kubeconfig, "token: ").is_empty();
    let text = format!("proxy says {said_by_proxy}, a token is {}", if token { "there" } else { "missing" });
    mutation(Path::new(&output), "Apply", "stray-out", &said("live", &text));
    results(Path::new(&output), "status: Succeeded");
}

/// Returns the status of a proxy's response to CONNECT.
fn connect(to: &str) -> String {
    let proxy = std::env::var("HTTPS_PROXY").unwrap_or_default();
    let Ok(mut stream) = TcpStream::connect(proxy.trim_start_matches("http://")) else { return "nothing".to_string() };
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[9..]).into_owned()
}

fn field(text: &str, name: &str) -> String {
    let quoted = |c: char| c == '"' || c == ',' || c == '\'';
    text.split(name)
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap_or_default()
        .trim_matches(quoted)
        .to_string()
}

/// Returns `words` of `stray-in` from the list file that clients read.
fn words(input: &str) -> String {
    let file = Path::new(input).join("namespaces/default/core/configmaps.yaml");
    let text = fs::read_to_string(file).unwrap_or_default();
    let said = text.split("\"words\":\"").nth(1).and_then(|rest| rest.split('"').next());
    said.unwrap_or("nothing").to_string()
}

fn said(key: &str, text: &str) -> String {
    named("stray-out", key, text)
}

fn named(name: &str, key: &str, text: &str) -> String {
    format!(
        "apiVersion: v1\ndata:\n  {key}: {text:?}\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: default\n"
    )
}

fn folder(output: &Path, action: &str) -> std::path::PathBuf {
    output.join("Configuration").join(action).join("namespaces/default/core/configmaps")
}

fn mutation(output: &Path, action: &str, name: &str, body: &str) {
    let folder = folder(output, action);
    fs::create_dir_all(&folder).unwrap();
    let generate = if name.is_empty() { "stray-made-" } else { "" };
    let metadata = format!(
        "action: {action}\ncontrollerInstanceName: stray-Speaker\ngenerateName: {generate:?}\nname: {name:?}\nnamespace: default\nresourceType:\n  Group: \"\"\n  Resource: configmaps\n  Version: v1\n"
    );
    fs::write(folder.join(format!("0000-metadata-{name}{generate}.yaml")), metadata).unwrap();
    if action == "Apply" {
        let options = folder.join(format!("0000-options-{name}{generate}.yaml"));
        fs::write(options, "fieldManager: stray-Speaker\nforce: true\n").unwrap();
    }
    fs::write(folder.join(format!("0000-body-{name}{generate}.yaml")), body).unwrap();
}

/// Creates an Event in every run, with a name that contains the time.
fn event(output: &Path, now: &str) {
    let folder = output.join("Configuration/Create/namespaces/default/core/events");
    fs::create_dir_all(&folder).unwrap();
    let name = format!("stray.{}.5bfc8f45", now.replace([':', '-'], "").to_lowercase());
    let metadata = format!(
        "action: Create\ncontrollerInstanceName: \"\"\ngenerateName: \"\"\nname: {name}\nnamespace: default\nresourceType:\n  Group: \"\"\n  Resource: events\n  Version: v1\n"
    );
    let about = "involvedObject:\n  apiVersion: v1\n  kind: ConfigMap\n  name: stray-out\n  namespace: default\n";
    let body = format!(
        "apiVersion: v1\ncount: 1\neventTime: null\nfirstTimestamp: {now:?}\n{about}kind: Event\nlastTimestamp: {now:?}\nmessage: it spoke\nmetadata:\n  creationTimestamp: null\n  name: {name}\n  namespace: default\nreason: Spoke\nsource:\n  component: stray\ntype: Normal\n"
    );
    fs::write(folder.join(format!("0000-metadata-{name}.yaml")), metadata).unwrap();
    fs::write(folder.join(format!("0000-body-{name}.yaml")), body).unwrap();
}

fn results(output: &Path, result: &str) {
    let text = format!("controllerResults:\n- controllerName: stray-Speaker\n  {result}\n");
    fs::write(output.join("controller-results.yaml"), text).unwrap();
}

unsafe extern "C" {
    fn mmap(at: *mut u8, length: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut u8;
    fn madvise(at: *mut u8, length: usize, advice: i32) -> i32;
    fn syscall(number: i64, ...) -> i64;
    fn fcntl(file: i32, command: i32, ...) -> i32;
    fn memfd_create(name: *const std::ffi::c_char, flags: u32) -> i32;
    fn msgget(key: i32, flags: i32) -> i32;
    fn semget(key: i32, number: i32, flags: i32) -> i32;
    fn shmget(key: i32, size: usize, flags: i32) -> i32;
}

/// Fills memory that can be shared by several processes.
fn shared() -> Result<String, String> {
    const SIZE: usize = 1 << 20;
    const READ_WRITE: i32 = 3;
    const SHARED_ANONYMOUS: i32 = 0x21;
    for number in 0..100_000 {
        // SAFETY: a new mapping, written within its bounds and never unmapped.
        let filled = unsafe {
            let memory = mmap(std::ptr::null_mut(), SIZE, READ_WRITE, SHARED_ANONYMOUS, -1, 0);
            (memory as isize != -1).then(|| memory.write_bytes(1, SIZE))
        };
        filled.ok_or(format!("after {number} MiB: {}", std::io::Error::last_os_error()))?;
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok("100 GiB".to_string())
}

const FAILED: isize = -1;

/// Fills 300 MiB of shared memory and removes it from its own accounting, while it is still held.
fn hidden(file: Option<String>) -> Result<String, String> {
    const SIZE: usize = 1 << 20;
    const READ_WRITE: i32 = 3;
    const DONT_NEED: i32 = 4;
    let failed = |number: usize| format!("after {number} MiB: {}", std::io::Error::last_os_error());
    for number in 0..300 {
        let open = file.as_ref().map(|file| fs::File::options().read(true).write(true).open(file));
        let open = open.transpose().map_err(|error| error.to_string())?;
        let (flags, file) = open.as_ref().map_or((0x21, -1), |file| (0x01, std::os::fd::AsRawFd::as_raw_fd(file)));
        // SAFETY: a new mapping, written within its bounds and never unmapped.
        let memory = unsafe { mmap(std::ptr::null_mut(), SIZE, READ_WRITE, flags, file, 0) };
        if memory as isize == FAILED {
            return Err(failed(number));
        }
        // SAFETY: as above.
        unsafe {
            memory.write_bytes(1, SIZE);
            madvise(memory, SIZE, DONT_NEED);
        }
    }
    // Memory is checked every ten milliseconds.
    std::thread::sleep(Duration::from_millis(200));
    Ok("300 MiB that no file shows".to_string())
}

/// Holds 512 MiB of page tables without any pages.
fn tables() -> Result<String, String> {
    const SIZE: usize = 256 << 30;
    const STEP: usize = 2 << 20;
    const READ: i32 = 1;
    // Private, anonymous, without reserved memory.
    const FLAGS: i32 = 0x4022;
    // SAFETY: a new mapping, read within its bounds.
    let memory = unsafe { mmap(std::ptr::null_mut(), SIZE, READ, FLAGS, -1, 0) };
    if memory as isize == FAILED {
        return Err(std::io::Error::last_os_error().to_string());
    }
    let mut sum = 0_u64;
    for at in (0..SIZE).step_by(STEP) {
        // SAFETY: as above.
        sum += u64::from(unsafe { memory.add(at).read_volatile() });
    }
    std::thread::sleep(Duration::from_millis(200));
    Ok(format!("tables for {} GiB of {sum}", SIZE >> 30))
}

/// Sends data to itself that it never reads.
fn queues() -> Result<String, String> {
    use std::os::unix::net::UnixStream;
    let mut held = Vec::new();
    for _ in 0..100_000 {
        let Ok((mut one, other)) = UnixStream::pair() else { break };
        one.set_nonblocking(true).map_err(|error| error.to_string())?;
        while one.write(&[1; 65536]).is_ok() {}
        held.push((one, other));
    }
    std::thread::sleep(Duration::from_millis(200));
    Ok(format!("{} full sockets", held.len()))
}

/// Leaves unread data in pipes, and holds only their ends.
fn pipes() -> Result<String, String> {
    const GET_SIZE: i32 = 1032;
    let mut held = Vec::new();
    while let Ok((reader, mut writer)) = std::io::pipe() {
        // SAFETY: queries an open file. Pipes are smaller if one user has many.
        let size = unsafe { fcntl(std::os::fd::AsRawFd::as_raw_fd(&reader), GET_SIZE) };
        writer.write_all(&vec![1; usize::try_from(size).unwrap_or_default()]).map_err(|error| error.to_string())?;
        held.push(reader);
    }
    std::thread::sleep(Duration::from_millis(200));
    Ok(format!("{} full pipes", held.len()))
}

/// Requests a larger pipe, and a thread with its own table of open files.
fn wider() -> Result<String, String> {
    const SET_SIZE: i32 = 1031;
    const UNSHARE: u32 = 2;
    // A thread that shares memory and signal handlers.
    const THREAD: i64 = 0x10000 | 0x800 | 0x100;
    let (reader, _writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let last = || std::io::Error::last_os_error().to_string();
    // SAFETY: sets a numeric size.
    let wide = unsafe { fcntl(std::os::fd::AsRawFd::as_raw_fd(&reader), SET_SIZE, 1 << 20) };
    let wide = if wide == -1 { last() } else { format!("{wide} bytes") };
    // SAFETY: closes no open file.
    let parted = unsafe { syscall(436, 1_000_000_u32, 1_000_001_u32, UNSHARE) };
    let parted = if parted == -1 { last() } else { "parted".to_string() };
    let clone = if cfg!(target_arch = "x86_64") { 56 } else { 220 };
    // SAFETY: none if the call succeeds, because two threads would share a stack. The call must fail.
    let thread = unsafe { syscall(clone, THREAD, 0_usize, 0_usize, 0_usize, 0_usize) };
    let thread = if thread == -1 { last() } else { std::process::abort() };
    Err([wide, parted, thread].join("; "))
}

/// Allocates memory in a second thread after the first one has exited.
fn headless() -> Result<String, String> {
    let exit = if cfg!(target_arch = "x86_64") { 60 } else { 93 };
    let hoarding = std::thread::spawn(|| print!("{}", stray("hoards").unwrap_or_default()));
    // SAFETY: ends only this thread, whose memory is never freed.
    unsafe { syscall(exit, 0) };
    Err(format!("it still has its head: {}", hoarding.is_finished()))
}

/// Calls getpid with its x32 number.
fn second_name() -> Result<String, String> {
    // SAFETY: a call without arguments.
    let got = unsafe { syscall(39 | 0x4000_0000) };
    if got == -1 { Err(std::io::Error::last_os_error().to_string()) } else { Ok(format!("it is {got}")) }
}

/// Requests memory that belongs to no process.
fn unowned() -> Result<String, String> {
    // SAFETY: all calls take numbers and a terminated string.
    let got = unsafe {
        [memfd_create(c"stray".as_ptr(), 0), shmget(0, 1 << 20, 0o600), msgget(0, 0o600), semget(0, 1, 0o600)]
    };
    if got == [-1; 4] { Err("no memory without an owner".to_string()) } else { Ok(format!("{got:?}")) }
}

/// Misbehaves in the given mode, and returns the result.
fn stray(mode: &str) -> Result<String, String> {
    let text = |error: std::io::Error| error.to_string();
    let (mode, said) = mode.split_once('=').map_or((mode, None), |(mode, said)| (mode, Some(said.to_string())));
    match mode {
        "socket" => {
            let to = said.or_else(|| std::env::var("STRAY_TARGET").ok()).unwrap_or("192.0.2.1:80".to_string());
            let address = to.parse().map_err(|error| format!("{to}: {error}"))?;
            TcpStream::connect_timeout(&address, Duration::from_secs(5)).map(|_| "reached it".to_string()).map_err(text)
        }
        "outside" => {
            let mut found = Vec::new();
            for path in ["/etc/shadow", "/root", "/home", "/var/run", "/sys", "/proc/1/environ", "/proc/1/root"] {
                found.extend(fs::read(path).map(|_| path).ok());
                found.extend(fs::read_dir(path).map(|_| path).ok());
            }
            found.extend(fs::write("/usr/stray", "x").map(|()| "/usr/stray").ok());
            found.extend(fs::write("/switchboard/input/stray", "x").map(|()| "its input").ok());
            found.extend(fs::write("/proc/sys/kernel/core_pattern", "x").map(|()| "core_pattern").ok());
            let environment: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            let own = ["HOME", "PATH", "STRAY", "STRAY_TARGET", "TMPDIR", "PWD"];
            found.extend(environment.iter().map(String::as_str).filter(|name| !own.contains(name)));
            if found.is_empty() {
                Err("nothing outside can be read or written".to_string())
            } else {
                Ok(found.join(" "))
            }
        }
        "forks" => {
            let mut children = Vec::new();
            for _ in 0..100_000 {
                match Command::new("/bin/sleep").arg("3600").spawn() {
                    Ok(child) => children.push(child),
                    Err(error) => return Err(format!("no more after {} processes: {error}", children.len())),
                }
            }
            Ok(format!("{} processes", children.len()))
        }
        // Leaves a process behind that outlives its parent.
        "orphan" => {
            Command::new("/bin/sh").args(["-c", "setsid sleep 3600 >/dev/null 2>&1 &"]).status().map_err(text)?;
            Ok("left one behind".to_string())
        }
        "fills" => {
            let chunk = vec![b'x'; 1 << 20];
            for folder in [std::env::temp_dir()] {
                for number in 0..100_000 {
                    fs::write(folder.join(number.to_string()), &chunk)
                        .map_err(|error| format!("after {number} MiB: {error}"))?;
                }
            }
            Ok("100 GiB".to_string())
        }
        "hoards" => {
            let mut held: Vec<Vec<u8>> = Vec::new();
            for number in 0..100_000_u32 {
                held.push(vec![number as u8 | 1; 1 << 20]);
                std::thread::sleep(Duration::from_micros(200));
            }
            Ok(format!("{} MiB", held.len()))
        }
        "headless" => headless(),
        "shares" => shared(),
        "hides" => hidden(said),
        "tables" => tables(),
        "queues" => queues(),
        "pipes" => pipes(),
        "wider" => wider(),
        "second-name" => second_name(),
        // Sparse files: no space on the disk, but more than the memory of any reader.
        "sparse" => {
            for number in 0..1000 {
                let file = fs::File::create(format!("/switchboard/out/output/{number}")).map_err(text)?;
                file.set_len(12 << 20).map_err(text)?;
            }
            Ok("12 GiB".to_string())
        }
        "unowned" => unowned(),
        "never" => loop {
            std::thread::sleep(Duration::from_secs(3600));
        },
        other => Err(format!("it knows no {other}")),
    }
}
