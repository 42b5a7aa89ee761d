-- Extensions of Switchboard: wider columns, columns with defaults, indexes and the log of changes. Programs of managed-gitops
-- work with them unchanged.

alter table clustercredentials alter column host type varchar(2048);
alter table clustercredentials alter column kube_config type text;
alter table clustercredentials alter column kube_config_context type varchar(512);
alter table clustercredentials alter column serviceaccount_bearer_token type text;
alter table clustercredentials alter column namespaces type text;
alter table gitopsengineinstance alter column namespace_name type varchar(253);
alter table clusteruser alter column display_name type varchar(253);
alter table application alter column spec_field type text;
alter table deploymenttoapplicationmapping alter column namespace type varchar(253);
alter table repositorycredentials alter column repo_cred_url type varchar(2048);
alter table repositorycredentials alter column repo_cred_pass type text;
alter table repositorycredentials alter column repo_cred_ssh type text;
alter table repositorycredentials alter column repo_cred_secret type varchar(253);
alter table appprojectrepository alter column repo_url type varchar(2048);

alter table clustercredentials add column ca_data text;
alter table clustercredentials add column client_certificate_data text;
alter table clustercredentials add column client_key_data text;
alter table clustercredentials add column own_serviceaccount boolean not null default false;
alter table clustercredentials add column source_digest varchar(64);

create index switchboard_application_instance on application (engine_instance_inst_id);
create index switchboard_application_environment on application (managed_environment_id);
create index switchboard_operation_state on operation (state);
create index switchboard_operation_instance on operation (instance_id);
create index switchboard_syncoperation_application on syncoperation (application_id);
create index switchboard_repositorycredentials_user on repositorycredentials (repo_cred_user_id);
create index switchboard_repositorycredentials_instance on repositorycredentials (repo_cred_engine_id);
create index switchboard_applicationowner_user on applicationowner (application_owner_user_id);
create index switchboard_managedenvironment_credentials on managedenvironment (clustercredentials_id);
create index switchboard_appprojectmanagedenvironment_environment on appprojectmanagedenvironment (managed_environment_id);

-- managed-gitops may have written a permission twice; one row is enough.
delete from appprojectmanagedenvironment where exists (
    select 1 from appprojectmanagedenvironment other
    where other.clusteruser_id = appprojectmanagedenvironment.clusteruser_id
      and other.managed_environment_id = appprojectmanagedenvironment.managed_environment_id
      and other.seq_id < appprojectmanagedenvironment.seq_id
);
create unique index switchboard_appprojectmanagedenvironment_once
    on appprojectmanagedenvironment (clusteruser_id, managed_environment_id);

-- Log of every change of a row, by any program. `made_by` is the transaction. Readers do not see rows of a running transaction, and
-- a transaction that began earlier may commit later, so a reader stores both numbers.
create table switchboard_change (
    seq bigserial primary key,
    made_by xid8 not null default pg_current_xact_id(),
    relation text not null,
    row_key text not null,
    made_on timestamp not null default (now() at time zone 'UTC')
);
create index switchboard_change_order on switchboard_change (made_by, seq);
create index switchboard_change_age on switchboard_change (made_on);

-- Last deleted row of the log. A reader whose position is older has missed changes.
create table switchboard_change_cut (
    only_row boolean primary key default true check (only_row),
    made_by xid8 not null,
    seq bigint not null
);
insert into switchboard_change_cut (made_by, seq) values ('0', 0);

-- Runs as the owner of the log, so programs that write the tables need no permission for the log.
create function switchboard_record_change() returns trigger language plpgsql security definer set search_path from current as $$
declare
    changed jsonb;
    key text;
begin
    if tg_op = 'DELETE' then
        changed := to_jsonb(old);
    else
        changed := to_jsonb(new);
    end if;
    select string_agg(changed ->> part, '/' order by place) into key from unnest(tg_argv) with ordinality as k(part, place);
    insert into switchboard_change (relation, row_key) values (tg_table_name, key);
    -- PostgreSQL sends equal notifications of one transaction once.
    perform pg_notify('switchboard_ledger', '');
    return null;
end
$$;

create trigger switchboard_change after insert or update or delete on clustercredentials
    for each row execute function switchboard_record_change('clustercredentials_cred_id');
create trigger switchboard_change after insert or update or delete on gitopsenginecluster
    for each row execute function switchboard_record_change('gitopsenginecluster_id');
create trigger switchboard_change after insert or update or delete on gitopsengineinstance
    for each row execute function switchboard_record_change('gitopsengineinstance_id');
create trigger switchboard_change after insert or update or delete on managedenvironment
    for each row execute function switchboard_record_change('managedenvironment_id');
create trigger switchboard_change after insert or update or delete on clusteruser
    for each row execute function switchboard_record_change('clusteruser_id');
create trigger switchboard_change after insert or update or delete on clusteraccess
    for each row execute function switchboard_record_change('clusteraccess_user_id', 'clusteraccess_managed_environment_id', 'clusteraccess_gitops_engine_instance_id');
create trigger switchboard_change after insert or update or delete on operation
    for each row execute function switchboard_record_change('operation_id');
create trigger switchboard_change after insert or update or delete on application
    for each row execute function switchboard_record_change('application_id');
create trigger switchboard_change after insert or update or delete on applicationstate
    for each row execute function switchboard_record_change('applicationstate_application_id');
create trigger switchboard_change after insert or update or delete on deploymenttoapplicationmapping
    for each row execute function switchboard_record_change('deploymenttoapplicationmapping_uid_id');
create trigger switchboard_change after insert or update or delete on kubernetestodbresourcemapping
    for each row execute function switchboard_record_change('kubernetes_resource_type', 'kubernetes_resource_uid', 'db_relation_type', 'db_relation_key');
create trigger switchboard_change after insert or update or delete on apicrtodatabasemapping
    for each row execute function switchboard_record_change('api_resource_type', 'api_resource_uid', 'db_relation_type', 'db_relation_key');
create trigger switchboard_change after insert or update or delete on syncoperation
    for each row execute function switchboard_record_change('syncoperation_id');
create trigger switchboard_change after insert or update or delete on repositorycredentials
    for each row execute function switchboard_record_change('repositorycredentials_id');
create trigger switchboard_change after insert or update or delete on appprojectrepository
    for each row execute function switchboard_record_change('appproject_repository_id');
create trigger switchboard_change after insert or update or delete on appprojectmanagedenvironment
    for each row execute function switchboard_record_change('appproject_managedenv_id');
create trigger switchboard_change after insert or update or delete on applicationowner
    for each row execute function switchboard_record_change('application_owner_application_id', 'application_owner_user_id');
