-- Service accounts that Switchboard created on clusters of tenants and must delete there, and the cluster of each tenant. Only
-- Switchboard uses these tables.

create table switchboard_service_account (
    account_id varchar(48) primary key,
    resource_uid varchar(64) not null,
    resource_name varchar(256) not null,
    resource_namespace varchar(256) not null,
    resource_namespace_uid varchar(64) not null,
    host varchar(2048) not null,
    kube_config text,
    allow_insecure boolean not null,
    created_on timestamp not null,
    left_on timestamp
);
create index switchboard_service_account_resource on switchboard_service_account (resource_name, resource_namespace);

create table switchboard_home (
    home_user_id varchar(48) primary key references clusteruser(clusteruser_id) on delete cascade,
    cluster_uid varchar(64) not null
);

create trigger switchboard_change after insert or update or delete on switchboard_service_account
    for each row execute function switchboard_record_change('account_id');
create trigger switchboard_change after insert or update or delete on switchboard_home
    for each row execute function switchboard_record_change('home_user_id');
