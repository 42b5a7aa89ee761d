-- Service accounts that Switchboard created on clusters of tenants and must delete there, and the cluster of each tenant. Only
-- Switchboard uses these tables.

create table switchboard_service_account (
    account_id text primary key,
    resource_uid text not null,
    resource_name text not null,
    resource_namespace text not null,
    resource_namespace_uid text not null,
    host text not null,
    kube_config text,
    allow_insecure integer not null,
    created_on integer not null,
    left_on integer
);
create index switchboard_service_account_resource on switchboard_service_account (resource_name, resource_namespace);

create table switchboard_home (
    home_user_id text primary key references clusteruser(clusteruser_id) on delete cascade,
    cluster_uid text not null
);

create trigger switchboard_insert_service_account after insert on switchboard_service_account begin
    insert into switchboard_change (relation, row_key) values ('switchboard_service_account', new.account_id);
end;
create trigger switchboard_update_service_account after update on switchboard_service_account begin
    insert into switchboard_change (relation, row_key) values ('switchboard_service_account', new.account_id);
end;
create trigger switchboard_delete_service_account after delete on switchboard_service_account begin
    insert into switchboard_change (relation, row_key) values ('switchboard_service_account', old.account_id);
end;
create trigger switchboard_insert_home after insert on switchboard_home begin
    insert into switchboard_change (relation, row_key) values ('switchboard_home', new.home_user_id);
end;
create trigger switchboard_update_home after update on switchboard_home begin
    insert into switchboard_change (relation, row_key) values ('switchboard_home', new.home_user_id);
end;
create trigger switchboard_delete_home after delete on switchboard_home begin
    insert into switchboard_change (relation, row_key) values ('switchboard_home', old.home_user_id);
end;
