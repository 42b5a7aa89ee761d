use kube::core::ObjectMeta;
use switchboard_sdk::{DecideError, FakeView, Mutation, Plan, Unit};

use super::*;
use crate::provider::Entry;
use crate::record::DnsRecordSpec;

fn record(finalizers: &[&str]) -> DnsRecord {
    let spec = DnsRecordSpec {
        provider: "http://provider.example.com".into(),
        host: "web.example.com".into(),
        address: "192.0.2.1".into(),
    };
    let metadata = ObjectMeta {
        name: Some("web".into()),
        namespace: Some("shop".into()),
        generation: Some(1),
        finalizers: Some(finalizers.iter().map(|one| one.to_string()).collect()),
        ..ObjectMeta::default()
    };
    DnsRecord { metadata, spec, status: None }
}

fn decide(view: &FakeView) -> Result<Vec<String>, DecideError> {
    let plan: Plan = view.decide(&DnsRecords, &Unit::object("shop", "web"))?;
    Ok(plan.mutations.iter().map(Mutation::to_string).collect())
}

#[test]
fn the_finalizer_comes_before_the_entry() {
    let view = FakeView::default().with_object(&record(&[]));
    assert_eq!(decide(&view), Ok(vec!["patch dnsrecords.dns.example.com/shop/web".to_string()]));
}

#[test]
fn a_record_is_published_and_shown_in_the_status() {
    let record = record(&[FINALIZER]);
    let view = FakeView::default().with_object(&record);
    let published = view.answering(&Lookup::of(&record.spec), Ok(None)).answering(&Publish::of(&record.spec), Ok(()));
    assert_eq!(decide(&published), Ok(vec!["apply dnsrecords.dns.example.com/shop/web status".to_string()]));
}

#[test]
fn a_published_record_is_not_published_again() {
    let record = record(&[FINALIZER]);
    let entry = Entry { address: record.spec.address.clone() };
    let view = FakeView::default().with_object(&record).answering(&Lookup::of(&record.spec), Ok(Some(entry)));
    assert_eq!(decide(&view), Ok(vec!["apply dnsrecords.dns.example.com/shop/web status".to_string()]));
}

#[test]
fn an_error_of_the_provider_is_the_error_of_the_unit() {
    let record = record(&[FINALIZER]);
    let view = FakeView::default().with_object(&record);
    let view = view.answering(&Lookup::of(&record.spec), Err("the provider is down".into()));
    assert_eq!(decide(&view), Err(DecideError::failed("the provider is down")));
}
