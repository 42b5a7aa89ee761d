#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::json;
use switchboard_kernel::decision::DecisionId;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::Health;
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::ClusterName;

use crate::flags::CommandFlags;
use crate::fleet::{FleetInstanceSummary, FleetPlacement, MoveProgress, PlacementMove, PlacementName};
use crate::layout::{self, PageLayout};
use crate::load::browse::{KindRow, KindsPage, ObjectRow, ObjectsPage};
use crate::load::decision::{DecisionPage, WriteRow};
use crate::load::fleet::{EnvironmentRow, FleetPage, InstanceRow};
use crate::load::object::{EventRow, FieldOwner, HistoryRow, ObjectPage};
use crate::load::operator::{OperatorPage, UnitRow};
use crate::load::overview::{ClusterRow, FindingKind, FindingRow, OperatorRow, Overview};
use crate::load::placements::PlacementsView;
use crate::load::relations::Relation;
use crate::load::resource_tree::TreeNode;
use crate::load::search::{SearchHit, SearchResults};
use crate::load::timeline::{Folded, FoldedTimeline, Timeline};
use crate::problem::ConsoleProblem;
use crate::recent::{DecisionSummary, SummaryOutcome};
use crate::table::TableQuery;

/// Name that would run as a script without escaping: as text, as an attribute, and in a URL.
const HOSTILE: &str = "\"><script>alert('x')</script><a href='javascript:x'>&";

fn key() -> ObjectKey {
    let resource = Arc::new(Resource::namespaced("", "v1", "ConfigMap", "configmaps"));
    let table = TableKey { cluster: ClusterName::new(HOSTILE), resource };
    ObjectKey { table, namespace: HOSTILE.into(), name: HOSTILE.into() }
}

fn summary() -> DecisionSummary {
    DecisionSummary {
        id: DecisionId(7),
        operator: HOSTILE.into(),
        unit: HOSTILE.into(),
        at: Timestamp(1000),
        causes: HOSTILE.into(),
        decide_us: 10,
        write_us: 20,
        written: 1,
        failed_writes: 0,
        outcome: SummaryOutcome::Written,
        message: HOSTILE.into(),
        wrote: vec![key()],
        read: vec![key()],
        missed: vec![key()],
    }
}

fn row() -> OperatorRow {
    OperatorRow {
        name: HOSTILE.into(),
        state: Health::Failing,
        reason: HOSTILE.into(),
        units: 3,
        units_waiting: 2,
        ..OperatorRow::default()
    }
}

fn tree() -> TreeNode {
    let node = |health, children| TreeNode {
        name: format!("pods/{HOSTILE}"),
        href: crate::components::object_href(&key()),
        health,
        message: HOSTILE.into(),
        children,
        omitted: 2,
    };
    node(None, vec![node(Some("Degraded"), vec![node(Some("Healthy"), vec![])])])
}

fn view_of_object() -> ObjectPage {
    ObjectPage {
        key: key(),
        now: Timestamp(2000),
        version: "v".into(),
        exists: true,
        read_error: Some(HOSTILE.into()),
        yaml: format!("a: {HOSTILE}\n{HOSTILE}: b\n- {HOSTILE}\n"),
        owners: vec![FieldOwner {
            manager: HOSTILE.into(),
            operation: "Apply".into(),
            time: HOSTILE.into(),
            subresource: HOSTILE.into(),
            fields: vec![HOSTILE.into()],
            omitted: 1,
        }],
        history: vec![HistoryRow { is_write: true, summary: summary() }],
        relations: vec![
            Relation {
                relation: "owner",
                before: true,
                name: format!("pods/{HOSTILE}"),
                href: crate::components::object_href(&key()),
            },
            Relation { relation: "owns", before: false, name: HOSTILE.into(), href: "/x".into() },
        ],
        resource_tree: tree(),
        why: format!("{HOSTILE}\n  because  {HOSTILE}\n{HOSTILE}\n"),
        events: vec![EventRow {
            time: HOSTILE.into(),
            r#type: "Warning".into(),
            reason: HOSTILE.into(),
            message: HOSTILE.into(),
        }],
    }
}

fn view_of_fleet() -> FleetPage {
    let name = || PlacementName { tenant: HOSTILE.into(), environment: Some(HOSTILE.into()) };
    let member = |namespace: &str| {
        Some(FleetInstanceSummary {
            namespace: namespace.into(),
            state: HOSTILE.into(),
            moving: 1,
            ..FleetInstanceSummary::default()
        })
    };
    let instance = |name: &str| InstanceRow { name: name.into(), member: member(name), ..InstanceRow::default() };
    let a_move = |progress| PlacementMove {
        name: name(),
        from: HOSTILE.into(),
        to: HOSTILE.into(),
        step: HOSTILE.into(),
        message: HOSTILE.into(),
        progress,
        ..PlacementMove::default()
    };
    let moves = [MoveProgress::Running, MoveProgress::RollingBack, MoveProgress::Finished, MoveProgress::RolledBack]
        .map(a_move)
        .to_vec();
    let placements = vec![FleetPlacement { name: name(), instance: "a".into(), moving: false }];
    FleetPage {
        served: true,
        instances: vec![instance("a"), instance(HOSTILE)],
        environments: vec![EnvironmentRow {
            name: HOSTILE.into(),
            href: crate::components::object_href(&key()),
            url: HOSTILE.into(),
            state: Health::Ready,
            message: HOSTILE.into(),
        }],
        placements: PlacementsView {
            hosted: true,
            placements,
            placements_total: 9,
            moves,
            now: Timestamp(2000),
            ..PlacementsView::default()
        },
        ..FleetPage::default()
    }
}

fn all() -> Vec<(&'static str, String)> {
    let overview = Overview {
        now: Timestamp(2000),
        operators: vec![row()],
        clusters: vec![ClusterRow { name: HOSTILE.into(), lost: vec![HOSTILE.into()], ..ClusterRow::default() }],
        findings: vec![FindingRow {
            kind: FindingKind::FieldConflict,
            message: HOSTILE.into(),
            href: crate::components::object_href(&key()),
            at: Timestamp(1),
        }],
        decisions: vec![(3, 1); 60],
        unrecorded: 1,
        ..Overview::default()
    };
    let fold = Folded::Many { first: vec![summary()], last: summary(), count: 3 };
    let timeline = FoldedTimeline {
        rows: vec![Folded::One(summary()), fold],
        page: 2,
        total: 200,
        by_time: true,
        unfolded: false,
    };
    let operator = OperatorPage {
        now: Timestamp(2000),
        version: "v".into(),
        row: row(),
        waiting: vec![UnitRow {
            unit: HOSTILE.into(),
            state: Health::Blocked,
            reason: HOSTILE.into(),
            wait: HOSTILE.into(),
            since: Timestamp(1),
            hint: HOSTILE.into(),
        }],
        reads: vec![HOSTILE.into()],
        timeline: Timeline { decisions: vec![summary()], page: 2, total: 200 },
    };
    let lines = switchboard_kernel::diff::diff(Some(&json!({"a": HOSTILE})), Some(&json!({"b": HOSTILE})));
    let decision = DecisionPage {
        id: DecisionId(7),
        operator: HOSTILE.into(),
        unit: HOSTILE.into(),
        now: Timestamp(2000),
        at: Timestamp(1000),
        waited_ms: 1,
        decide_us: 2,
        write_us: 3,
        causes: vec![HOSTILE.into()],
        gets: vec![(key(), None)],
        reads: vec![HOSTILE.into(), HOSTILE.into()],
        state: Health::Failing,
        message: HOSTILE.into(),
        writes: vec![WriteRow {
            write: HOSTILE.into(),
            verb: "apply",
            part: HOSTILE.into(),
            object: key(),
            result: HOSTILE.into(),
            succeeded: false,
            diff: lines,
            omitted_lines: 2,
        }],
    };
    let kinds = KindsPage {
        clusters: vec![HOSTILE.into()],
        cluster: HOSTILE.into(),
        kinds: vec![KindRow { name: HOSTILE.into(), kind: HOSTILE.into(), namespaced: true, cached: Some(1) }],
    };
    let listing = ObjectsPage {
        cluster: HOSTILE.into(),
        kind: HOSTILE.into(),
        namespace: HOSTILE.into(),
        columns: vec![HOSTILE.into()],
        rows: vec![ObjectRow {
            namespace: HOSTILE.into(),
            name: HOSTILE.into(),
            href: crate::components::object_href(&key()),
            cells: vec![HOSTILE.into()],
        }],
        next: HOSTILE.into(),
        remaining: 5,
        page: 1,
        total: 0,
        incomplete: true,
    };
    let found = SearchResults {
        text: HOSTILE.into(),
        hits: vec![SearchHit {
            kind: HOSTILE.into(),
            name: HOSTILE.into(),
            cluster: HOSTILE.into(),
            href: crate::components::object_href(&key()),
        }],
        more: true,
    };
    let none = maud::html! {};
    let query = TableQuery::new(
        crate::components::operator_href(HOSTILE),
        vec![("unit", HOSTILE.to_string())],
        HOSTILE,
        &format!("-{HOSTILE}.{HOSTILE}"),
    );
    let acts = super::fleet::FleetActions {
        application: &|one| {
            super::actions::deployment_action(&one.namespace, &one.name, &CommandFlags::default(), None)
        },
        placement: &|one, to| super::actions::move_action(one, to, &CommandFlags::default(), None),
    };
    let pages = [
        ("overview", super::overview::overview(&overview, &TableQuery::default())),
        ("operator", super::operator::operator(&operator, &timeline, &query, Some(HOSTILE), &none)),
        ("decisions", super::timeline::decisions(&timeline, Timestamp(2000), &query)),
        ("decision", super::decision::decision(&decision, &CommandFlags::default())),
        ("object", super::object::object(&view_of_object(), &CommandFlags::default())),
        ("kinds", super::browse::kinds(&kinds, &TableQuery::default())),
        ("listing", super::browse::listing(&listing, &TableQuery::default())),
        ("search", super::search::search(&found, &TableQuery::default())),
        ("fleet", super::fleet::fleet(&view_of_fleet(), &query, &acts)),
        ("trouble", super::error_page::error_page(&ConsoleProblem::NotFound(HOSTILE.into()))),
    ];
    let frame = PageLayout {
        title: HOSTILE.into(),
        search: HOSTILE.into(),
        user: Some(HOSTILE.into()),
        csrf_token: Some(HOSTILE.into()),
        flash: Some((false, HOSTILE.into())),
        ..PageLayout::default()
    };
    pages.into_iter().map(|(name, content)| (name, layout::page(&frame, &content).0)).collect()
}

#[test]
fn hostile_names_are_text_on_every_page() {
    for (name, page) in all() {
        assert!(page.contains("&lt;script&gt;"), "{name}: the name is shown");
        let scripts = page.matches("<script").count();
        assert_eq!(scripts, 1, "{name}: only our own script is there");
        assert!(!page.contains("href=\"javascript"), "{name}");
        for address in page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()) {
            assert!(!address.contains(['<', '>', '\'', ' ']), "{name}: {address}");
        }
    }
}

#[test]
fn no_page_has_a_script_or_a_style_of_its_own() {
    for (name, page) in all() {
        for inline in [" style=", "<style", " onclick=", " onload=", " onerror=", "javascript:void"] {
            assert!(!page.contains(inline), "{name} has {inline}");
        }
        for address in page.split("src=\"").skip(1) {
            assert!(address.starts_with("/assets/"), "{name} loads {:.40}", address);
        }
    }
}

#[test]
fn every_page_has_a_title_and_headings() {
    for (name, page) in all() {
        assert_eq!(page.matches("<h1").count(), 1, "{name} has one title");
        assert!(page.contains("lang=\"en\"") && page.contains("Skip to content"), "{name}");
        for part in page.split("<section").skip(1) {
            let head = part.split('>').next().unwrap_or_default();
            assert!(head.contains("aria-label"), "{name}: a section without a name: {head}");
        }
    }
}

#[test]
fn every_table_sorts_by_its_columns() {
    let mut sorted = String::new();
    for (name, page) in all() {
        for head in page.split("<thead").skip(1).filter_map(|rest| rest.split("</thead>").next()) {
            assert!(head.contains("class=\"sort\""), "{name} has a table that does not sort: {head}");
            sorted.push_str(head);
        }
    }
    for column in ["clusters.state", "instances.load", "environments.state", "results.type"] {
        assert!(sorted.contains(&format!("{column}\"")), "no table sorts by {column}");
    }
}

#[test]
fn a_state_is_a_word_and_a_shape() {
    for word in [Health::Ready, Health::Working, Health::Waiting, Health::Blocked, Health::Failing] {
        let shown = crate::components::state_badge(word).0;
        assert!(shown.contains(&word.to_string()) && shown.contains("<svg"), "{shown}");
    }
}

#[test]
fn every_document_is_a_help_page_with_working_links() {
    let contents = super::help::contents().0;
    let names: Vec<&str> =
        contents.split("href=\"/help/").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let (title, page) = super::help::page(name).unwrap();
        assert!(!title.is_empty());
        assert!(!page.0.contains(".md\"") && !page.0.contains("<img"), "{name}");
    }
    assert!(super::help::page("NO_SUCH").is_err());
}

/// kubectl before 1.33 reads a document that begins with a brace as JSON, and refuses YAML in it. The tests of the
/// documentation run the same commands.
#[test]
fn commands_for_a_token_work_with_every_kubectl() {
    let page = super::actions::sign_in(None, "/").0;
    let manifest = page.split_once("&lt;&lt;'EOF'\n").and_then(|(_, rest)| rest.split_once("\nEOF\n")).unwrap().0;
    assert!(!manifest.starts_with('{'), "{manifest}");
    let role = switchboard_object::yaml::read(manifest).unwrap().value;
    assert_eq!(role["kind"], "ClusterRole");
    let granted: Vec<&str> =
        role["rules"].as_array().unwrap().iter().filter_map(|rule| rule["resources"][0].as_str()).collect();
    assert_eq!(granted, ["operators", "console", "gitopsdeploymentsyncruns", "gitopsengineinstances"]);
    let help = super::help::page("sign-in").unwrap().1.0;
    assert!(help.contains(manifest), "docs/how-to/sign-in.md has another manifest");
}

#[test]
fn resource_tree_nests_objects_with_their_health() {
    let page = super::object::object(&view_of_object(), &CommandFlags::default()).0;
    let tree = page.split_once("class=\"tree\"").and_then(|(_, rest)| rest.split_once("</section>")).unwrap().0;
    let (degraded, healthy) = (tree.find("Degraded</span>").unwrap(), tree.find("Healthy</span>").unwrap());
    assert_eq!(tree[degraded..healthy].matches("<ul>").count(), 1, "{tree}");
    assert!(tree.contains("and 2 more objects"), "{tree}");
}
