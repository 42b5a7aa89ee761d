//! Prometheus metrics of the kernel's state.

use std::fmt::Write;

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
    page.family("switchboard_operator_decide_microseconds", "gauge", "Time to decide over the last runs.");
    for operator in &state.operators {
        let name = operator.name.as_str();
        page.line(&[("operator", name), ("quantile", "0.5")], operator.decide_p50_us);
        page.line(&[("operator", name), ("quantile", "0.99")], operator.decide_p99_us);
    }
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
    let count =
        |fights: bool| state.findings.iter().filter(|f| matches!(f, Finding::FieldConflict { .. }) == fights).count();
    page.family("switchboard_findings", "gauge", "Active field conflicts and hot loops.");
    page.line(&[("kind", "fight")], count(true) as u64);
    page.line(&[("kind", "loop")], count(false) as u64);
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
        let label = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escape(value));
        let labels: Vec<String> = labels.iter().map(label).collect();
        let _ = writeln!(self.text, "{}{{{}}} {value}", self.name, labels.join(","));
    }
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
}
