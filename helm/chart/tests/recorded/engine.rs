//! Random charts and values compared with Helm's engine: values merged with those of a chart and its subchart, globals,
//! nulls, and Helm's functions. Both return equal files, or an error at the same position.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Map, Value as Json, json};
use switchboard_chart::chart::Chart;
use switchboard_chart::file::ChartFile;
use switchboard_chart::release::Release;
use switchboard_chart::render::{CompiledChart, RenderRequest};
use switchboard_chart::values;

use super::innermost;

/// Charts of one run. `make fuzz` tests more of them: `SEEDS=first..last`.
const SEEDS: std::ops::Range<u64> = 0..600;
/// Number of charts in one request to the oracle.
const BATCH: usize = 1_000;

const KEYS: [&str; 6] = ["a", "b", "c", "d", "list", "text"];
const TEXTS: [&str; 9] = [
    "",
    "plain",
    "with space",
    "{{ .Values.a }}",
    "{{ include \"h\" . }}",
    "<no value>",
    "true",
    "1_0",
    "two\nlines\n",
];

/// Actions of templates. `P` is a path in the values.
const ACTIONS: [&str; 26] = [
    "{{ P }}",
    "{{ P | quote }}",
    "{{ P | default \"none\" }}",
    "{{ toYaml P | nindent 2 }}",
    "{{ toJson P }}",
    "{{ toToml .Values }}",
    "{{ (toYaml .Values | fromYaml).a | toJson }}",
    "{{ fromJson (toJson .Values) | toYaml }}",
    "{{ fromYamlArray (toYaml P) | toJson }}",
    "{{ include \"h\" . }}",
    "{{ include \"named\" (dict \"v\" P \"root\" $) | indent 4 }}",
    "{{ tpl (toString P) . }}",
    "{{ tpl (.Values.text | toString) $ | upper }}",
    "{{ range $k, $v := P }}[{{ $k }}={{ $v | toJson }}]{{ end }}",
    "{{ with P }}{{ . | toJson }}{{ else }}nothing{{ end }}",
    "{{ if P }}yes{{ else }}no{{ end }}",
    "{{ required \"needed\" P }}",
    "{{ .Files.Get \"conf/a.txt\" }}",
    "{{ (.Files.Glob \"conf/*\").AsConfig | indent 2 }}",
    "{{ (.Files.Glob \"conf/*.txt\").AsSecrets }}",
    "{{ range .Files.Lines \"conf/a.txt\" }}<{{ . }}>{{ end }}",
    "{{ range $path, $_ := .Files.Glob \"**\" }}{{ $path }} {{ end }}",
    "{{ .Chart.Name }}/{{ .Release.Name }}/{{ .Template.Name }}/{{ .Template.BasePath }}",
    "{{ hasKey .Values \"a\" }}{{ kindOf P }}{{ dig \"a\" \"b\" \"none\" (deepCopy (dict \"a\" P)) | toJson }}",
    "{{ $_ := set .Values \"made\" P }}{{ .Values.made | toJson }}",
    "{{ merge (dict \"own\" 1) (.Values.global | default dict) | toJson }}",
];

struct ChartGenerator {
    state: u64,
    /// Whether values may be null, as those of the user. Helm 3, whose engine this is, keeps the nulls of charts, and
    /// Helm 4 removes them.
    nulls: bool,
}

impl ChartGenerator {
    fn below(&mut self, count: usize) -> usize {
        // splitmix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % count as u64) as usize
    }

    fn value(&mut self, depth: usize) -> Json {
        match self.below(if depth < 3 { 12 } else { 8 }) {
            0 if self.nulls => Json::Null,
            0 | 1 => json!(true),
            2 => json!(self.below(2_000_000)),
            3 => json!(self.below(100) as f64 / 8.0),
            4..=7 => json!(TEXTS[self.below(TEXTS.len())]),
            8 => (0..self.below(4)).map(|_| self.value(depth + 1)).collect(),
            _ => Json::Object(self.table(depth + 1)),
        }
    }

    fn table(&mut self, depth: usize) -> Map<String, Json> {
        (0..self.below(5)).map(|_| (KEYS[self.below(KEYS.len())].to_string(), self.value(depth))).collect()
    }

    /// Returns values of a chart, sometimes with globals, and with some for its subchart if it has one.
    fn values(&mut self, subchart: bool) -> Json {
        let mut values = self.table(0);
        values.retain(|key, value| key != "text" || value.is_string());
        if self.below(3) > 0 {
            values.insert("global".to_string(), Json::Object(self.table(0)));
        }
        if subchart && self.below(3) > 0 {
            values.insert("sub".to_string(), self.values(false));
        }
        Json::Object(values)
    }

    fn path(&mut self) -> String {
        let start = [".Values", ".Values", "$.Values", ".Values.global"][self.below(4)];
        let fields = (0..1 + self.below(3)).map(|_| format!(".{}", KEYS[self.below(KEYS.len())]));
        format!("{start}{}", fields.collect::<String>())
    }

    fn template(&mut self) -> String {
        let lines = (0..1 + self.below(4)).map(|_| {
            let (action, path) = (ACTIONS[self.below(ACTIONS.len())], self.path());
            // Most paths do not exist, so every second one has a default.
            let key = KEYS[self.below(KEYS.len())];
            let path = if self.below(2) == 0 { path } else { format!("(.Values.{key} | default dict)") };
            format!("line: {}\n", action.replace('P', &path))
        });
        lines.collect()
    }
}

/// Creates a chart with a subchart, and the user's values.
fn case(seed: u64) -> Json {
    let mut random = ChartGenerator { state: seed, nulls: false };
    let helpers = "{{ define \"h\" }}{{ .Chart.Name }}:{{ .Values.a | toJson }}{{ end }}\n\
                   {{ define \"named\" }}{{ .v | toYaml }}\n{{ .root.Release.Name }}{{ end }}\n";
    let files = json!({
        "Chart.yaml": "{apiVersion: v2, name: top, version: 1.0.0}",
        "values.yaml": random.values(true).to_string(),
        "templates/_helpers.tpl": helpers,
        "templates/a.yaml": random.template(),
        "templates/b.yaml": "all: {{ toJson .Values }}\n",
        "conf/a.txt": "one\ntwo",
        "conf/b.bin": "x: {{ y }}\n",
        "charts/sub/Chart.yaml": "{apiVersion: v2, name: sub, version: 0.1.0}",
        "charts/sub/values.yaml": random.values(false).to_string(),
        "charts/sub/conf/a.txt": "of sub\n",
        "charts/sub/templates/a.yaml": random.template(),
        "charts/sub/templates/b.yaml": "all: {{ toJson .Values }}\n",
    });
    random.nulls = true;
    let values = random.values(true).to_string();
    json!({"kind": "helm", "id": format!("seed {seed}"), "files": files, "values": values})
}

fn run_oracle(cases: &[Json]) -> Vec<Json> {
    let folder = std::env::var("SWITCHBOARD_REAL_BIN").expect("SWITCHBOARD_REAL_BIN: run `make test-real`");
    let program = PathBuf::from(folder).join("oracle");
    // Helm writes warnings to stderr.
    let mut child = Command::new(program);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let answers: Vec<Json> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len(), "the oracle answers every case");
    answers
}

fn ours(case: &Json) -> Result<Json, String> {
    let files = case["files"].as_object().unwrap();
    let files = files.iter().map(|(name, text)| ChartFile::new(name, text.as_str().unwrap().as_bytes())).collect();
    let chart = Chart::from_files(files).map_err(|error| error.to_string())?;
    let mut request = RenderRequest::new(Release::new("release-name", "default"));
    request.values = values::read(case["values"].as_str().unwrap()).unwrap();
    let files = CompiledChart::new(chart).render_files(&request).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(files).unwrap())
}

/// Returns the difference to Helm's result, if any.
fn difference(case: &Json, answer: &Json) -> Option<String> {
    let (ours, error) = (ours(case), answer["err"].as_str().unwrap());
    match ours {
        Ok(files) if error.is_empty() => {
            let helms: Json = serde_json::from_str(answer["out"].as_str().unwrap()).unwrap();
            (files != helms).then(|| format!("ours   {files}\n  Helm's {helms}"))
        }
        Ok(files) => Some(format!("ours   {files}\n  Helm's {error}")),
        Err(actual) if error.is_empty() => Some(format!("ours   {actual}\n  Helm's {}", answer["out"])),
        Err(actual) => (innermost(&actual) != innermost(error)).then(|| format!("ours   {actual}\n  Helm's {error}")),
    }
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(given) = std::env::var("SEEDS") else { return SEEDS };
    let (first, last) = given.split_once("..").expect("SEEDS is first..last");
    first.parse().unwrap()..last.parse().unwrap()
}

#[test]
fn random_charts_match_helm() {
    let (mut wrong, mut failed, mut count) = (Vec::new(), 0, 0);
    let seeds: Vec<u64> = seeds().collect();
    for batch in seeds.chunks(BATCH) {
        let cases: Vec<Json> = batch.iter().map(|seed| case(*seed)).collect();
        for (case, answer) in cases.iter().zip(run_oracle(&cases)) {
            count += 1;
            failed += usize::from(!answer["err"].as_str().unwrap().is_empty());
            wrong.extend(difference(case, &answer).map(|actual| format!("{}: {case}\n  {actual}", case["id"])));
        }
    }
    let shown = wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{shown}", wrong.len());
    assert!((count / 10..count * 9 / 10).contains(&failed), "{failed} of {count} fail: too few of one sort");
}
