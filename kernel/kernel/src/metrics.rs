//! Prometheus metrics of the kernel's state.

use std::fmt::{Display, Write};

use crate::state::decide_times::DecideTimes;
use crate::state::{Finding, Health, KernelState};

/// Renders the metrics with their help.
///
/// Names and labels are an interface: docs/reference/metrics.md documents them, and their meaning does not change.
pub fn render(state: &KernelState, recorded: u64, dropped: u64) -> String {
    let mut page = MetricsPage::default();
    page.family("switchboard_operator_runs_total", "counter", "Runs of an operator.");
    state.operators.iter().for_each(|o| page.line(&[("operator", &o.name)], o.runs));
    page.family("switchboard_operator_failures_total", "counter", "Runs of an operator that failed.");
    state.operators.iter().for_each(|o| page.line(&[("operator", &o.name)], o.failures));
    page.family("switchboard_operator_writes_total", "counter", "Writes of an operator that changed something.");
    state.operators.iter().for_each(|o| page.line(&[("operator", &o.name)], o.writes));
    page.family("switchboard_operator_units", "gauge", "Units of an operator.");
    state.operators.iter().for_each(|o| page.line(&[("operator", &o.name)], o.units_total as u64));
    page.family("switchboard_operator_state", "gauge", "1 for the current state of an operator, 0 for the others.");
    for operator in &state.operators {
        for health in [Health::Ready, Health::Working, Health::Waiting, Health::Blocked, Health::Failing] {
            let labels = [("operator", operator.name.as_str()), ("state", &health.to_string())];
            page.line(&labels, u64::from(operator.health == health));
        }
    }
    page.family("switchboard_operator_decide_duration_seconds", "histogram", "Time to decide.");
    state.operators.iter().for_each(|o| page.histogram(("operator", &o.name), &o.decide_times));
    page.family("switchboard_cache_objects", "gauge", "Cached objects of a kind.");
    for table in &state.tables {
        let labels = [("cluster", &*table.table.cluster.0), ("resource", &table.table.resource.to_string())];
        page.line(&labels, table.objects as u64);
    }
    page.family("switchboard_cache_bytes", "gauge", "Bytes of the cached objects of a kind.");
    for table in &state.tables {
        let labels = [("cluster", &*table.table.cluster.0), ("resource", &table.table.resource.to_string())];
        page.line(&labels, table.bytes);
    }
    let conflicts = state.findings.iter().filter(|finding| matches!(finding, Finding::FieldConflict { .. })).count();
    page.family("switchboard_conflicts", "gauge", "Active field conflicts and hot loops.");
    page.line(&[("kind", "field_conflict")], conflicts as u64);
    page.line(&[("kind", "hot_loop")], (state.findings.len() - conflicts) as u64);
    page.family("switchboard_journal_entries_total", "counter", "Decisions recorded, and those that were lost.");
    page.line(&[("outcome", "recorded")], recorded);
    page.line(&[("outcome", "dropped")], dropped);
    page.text
}

#[derive(Default)]
struct MetricsPage {
    text: String,
    name: &'static str,
}

impl MetricsPage {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, labels: &[(&str, &str)], value: u64) {
        self.series("", labels, value);
    }

    /// Writes the series of a histogram. Durations are in seconds, as Prometheus asks for base units.
    fn histogram(&mut self, label: (&str, &str), times: &DecideTimes) {
        for (bound_us, count) in times.cumulative() {
            self.series("_bucket", &[label, ("le", &seconds(bound_us))], count);
        }
        self.series("_bucket", &[label, ("le", "+Inf")], times.count);
        self.series("_sum", &[label], seconds(times.sum_us));
        self.series("_count", &[label], times.count);
    }

    fn series(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let label = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escape(value));
        let labels: Vec<String> = labels.iter().map(label).collect();
        let _ = writeln!(self.text, "{}{suffix}{{{}}} {value}", self.name, labels.join(","));
    }
}

/// Formats microseconds as seconds, without rounding.
fn seconds(microseconds: u64) -> String {
    let text = format!("{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::state::OperatorState;

    #[test]
    fn the_reference_names_every_metric_with_its_type_and_no_other() {
        let page = render(&KernelState::default(), 0, 0);
        let of_page = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let of_page: BTreeSet<String> = of_page.map(str::to_string).collect();
        let reference =
            include_str!("../../../docs/reference/metrics.md").lines().filter_map(|line| line.strip_prefix("| `"));
        let of_reference: BTreeSet<String> = reference
            .map(|row| row.splitn(3, " | ").take(2).map(|cell| cell.trim_matches('`')).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(of_page, of_reference);
        assert!(!of_page.is_empty());
    }

    #[test]
    fn every_operator_has_one_state_and_its_counts() {
        let operator =
            OperatorState { name: "a\"b".into(), health: Health::Failing, runs: 3, ..OperatorState::default() };
        let page = render(&KernelState { operators: vec![operator], ..KernelState::default() }, 5, 1);
        assert!(page.contains("switchboard_operator_runs_total{operator=\"a\\\"b\"} 3\n"), "{page}");
        assert!(page.contains("switchboard_operator_state{operator=\"a\\\"b\",state=\"Failing\"} 1\n"), "{page}");
        assert!(page.contains("switchboard_operator_state{operator=\"a\\\"b\",state=\"Ready\"} 0\n"), "{page}");
        assert!(page.contains("switchboard_journal_entries_total{outcome=\"dropped\"} 1\n"), "{page}");
    }

    #[test]
    fn decide_times_are_a_histogram_in_seconds() {
        let mut operator = OperatorState { name: "greeter".into(), ..OperatorState::default() };
        [90, 1_500_000, 40_000_000].into_iter().for_each(|duration| operator.decide_times.add(duration));
        let page = render(&KernelState { operators: vec![operator], ..KernelState::default() }, 0, 0);
        for expected in [
            r#"_bucket{operator="greeter",le="0.0001"} 1"#,
            r#"_bucket{operator="greeter",le="5"} 2"#,
            r#"_bucket{operator="greeter",le="30"} 2"#,
            r#"_bucket{operator="greeter",le="+Inf"} 3"#,
            r#"_sum{operator="greeter"} 41.50009"#,
            r#"_count{operator="greeter"} 3"#,
        ] {
            let line = format!("switchboard_operator_decide_duration_seconds{expected}\n");
            assert!(page.contains(&line), "{line} is missing in {page}");
        }
    }
}
