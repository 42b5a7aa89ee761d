//! End-to-end tests of the GitOps Service with kube-apiserver, kube-controller-manager, PostgreSQL, two Argo CD
//! instances, and git over HTTPS and SSH. Only the kubelet is simulated: it reports the status of Deployments.

#![allow(clippy::unwrap_used)]

#[path = "gitops/argocd.rs"]
mod argocd;
#[path = "gitops/environments.rs"]
mod environments;
#[path = "gitops/faults.rs"]
mod faults;
#[path = "gitops/fixture.rs"]
mod fixture;
#[path = "gitops/flows.rs"]
mod flows;
#[path = "gitops/git.rs"]
mod git;
#[path = "gitops/isolation.rs"]
mod isolation;
#[path = "gitops/kubelet.rs"]
mod kubelet;
#[path = "gitops/moves.rs"]
mod moves;
#[path = "gitops/roles.rs"]
mod roles;
#[path = "gitops/snapshot.rs"]
mod snapshot;
#[path = "gitops/tenants.rs"]
mod tenants;
