use super::*;
use crate::overview::tests::sample;

#[test]
fn it_reads_like_juju_status() {
    let overview = sample();
    let age = |_: &str| "3d".to_string();
    assert_eq!(
        status_table(&overview, TableOptions { relations: true, wide: false }, &age),
        "\
Socket      Plugs  Limit  State  Message
data/cache  0/0    -      Ready  0 plugs coupled
data/db     1/3    5      Ready  1 plug coupled

Plug       Socket      State    Message
shop/api   data/db     Failing  plug config property 'x' is required
shop/cron  data/queue  Waiting  waiting for socket to be created
shop/late  data/db     Blocked  the socket does not consent
shop/web   data/db     Ready    coupling succeeded

Integration provider  Requirer   Interface    Integration
data/db               shop/api   postgres/v1  apart
data/queue (missing)  shop/cron  -            apart
data/db               shop/late  postgres/v1  apart
data/db               shop/web   postgres/v1  coupled
"
    );
    let wide = status_table(&overview, TableOptions { relations: false, wide: true }, &age);
    assert!(wide.contains("shop/web   data/db     Ready    CouplingSucceeded  3d   coupling succeeded"), "{wide}");
    assert!(wide.contains("data/db     1/3    5      Ready  postgres/v1  3d   1 plug coupled"), "{wide}");
}

#[test]
fn nothing_is_no_table() {
    assert_eq!(status_table(&PlugOverview::default(), TableOptions::default(), &|_| String::new()), "");
}
