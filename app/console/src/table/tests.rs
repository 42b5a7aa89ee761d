use super::*;

struct Row(&'static str, u64);

impl TableRow for Row {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        match column {
            "name" => Some(SortKey::text(self.0)),
            "runs" => Some(SortKey::Number(self.1)),
            _ => None,
        }
    }

    fn filter_text(&self) -> String {
        self.0.to_string()
    }
}

fn arranged(filter: &str, sort: &str) -> Vec<&'static str> {
    let mut rows = vec![Row("plugs", 9), Row("Engine", 10), Row("greeter", 2)];
    TableQuery::new("/", vec![], filter, sort).arrange("operators", &mut rows);
    rows.iter().map(|row| row.0).collect()
}

#[test]
fn rows_are_sorted_by_column_and_filtered_by_words() {
    assert_eq!(arranged("", ""), ["plugs", "Engine", "greeter"], "the data has its own order");
    assert_eq!(arranged("", "operators.name"), ["Engine", "greeter", "plugs"]);
    assert_eq!(arranged("", "-operators.runs"), ["Engine", "plugs", "greeter"]);
    assert_eq!(arranged("", "clusters.name"), ["plugs", "Engine", "greeter"], "another table is sorted");
    for unknown in ["operators.nothing", "operators", "-", "-."] {
        assert_eq!(arranged("", unknown), ["plugs", "Engine", "greeter"], "{unknown}");
    }
    assert_eq!(arranged("ee GREET", ""), ["greeter"]);
    assert_eq!(arranged("nothing", "operators.name"), [""; 0]);
}

#[test]
fn links_keep_the_other_parameters_and_turn_the_order() {
    let fields = vec![("cluster", "main".to_string()), ("kind", String::new())];
    let query = TableQuery::new("/objects", fields, " a&b ", "kinds.name");
    assert_eq!(query.sort_href("kinds", "name", false), "/objects?cluster=main&q=a%26b&sort=-kinds.name");
    assert_eq!(query.sort_href("kinds", "cached", true), "/objects?cluster=main&q=a%26b&sort=-kinds.cached");
    assert_eq!(query.href(&[("q", ""), ("sort", "")]), "/objects?cluster=main");
    assert_eq!(query.href(&[("page", "2")]), "/objects?cluster=main&q=a%26b&sort=kinds.name&page=2");
    assert_eq!(TableQuery::new("/", vec![], "", "").href(&[]), "/");
}

#[test]
fn head_marks_the_order_for_screen_readers() {
    let query = TableQuery::new("/", vec![], "", "-operators.runs");
    let columns = [Column::text("name", "Operator"), Column::number("runs", "Runs"), Column::plain("Action")];
    let head = table_head(&query, "operators", &columns).0;
    assert!(head.contains("<th class=\"num\" scope=\"col\" aria-sort=\"descending\"><a class=\"sort\" href=\"/?sort=operators.runs\">Runs"), "{head}");
    assert!(head.contains("<th scope=\"col\"><a class=\"sort\" href=\"/?sort=operators.name\">Operator"), "{head}");
    assert!(head.contains("<th scope=\"col\">Action</th>"), "{head}");
}

#[test]
fn printed_numbers_and_ages_are_compared_as_numbers() {
    let mut cells = ["12m", "3d4h", "45s", "2y1d", "9", "10", "<none>", "1/1"];
    cells.sort_by_key(|cell| SortKey::printed(cell));
    assert_eq!(cells, ["9", "10", "45s", "12m", "3d4h", "2y1d", "1/1", "<none>"]);
    assert_eq!(SortKey::printed(""), SortKey::text(""));
}
