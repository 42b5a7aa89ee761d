-- Extensions of Switchboard: columns with defaults, indexes and the log of changes.

alter table clustercredentials add column ca_data text;
alter table clustercredentials add column client_certificate_data text;
alter table clustercredentials add column client_key_data text;
alter table clustercredentials add column own_serviceaccount boolean not null default false;
alter table clustercredentials add column source_digest text;

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

-- Log of every change of a row, by any program. SQLite has one writer at a time, so `seq` is the order of commits.
create table switchboard_change (
    seq integer primary key autoincrement,
    made_by integer not null default 0,
    relation text not null,
    row_key text not null,
    made_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer))
);
create index switchboard_change_age on switchboard_change (made_on);

-- Last deleted row of the log. A reader whose position is older has missed changes.
create table switchboard_change_cut (
    only_row integer primary key default 1 check (only_row = 1),
    made_by integer not null,
    seq integer not null
);
insert into switchboard_change_cut (made_by, seq) values (0, 0);

create trigger switchboard_insert_clustercredentials after insert on clustercredentials begin
    insert into switchboard_change (relation, row_key) values ('clustercredentials', new.clustercredentials_cred_id);
end;
create trigger switchboard_update_clustercredentials after update on clustercredentials begin
    insert into switchboard_change (relation, row_key) values ('clustercredentials', new.clustercredentials_cred_id);
end;
create trigger switchboard_delete_clustercredentials after delete on clustercredentials begin
    insert into switchboard_change (relation, row_key) values ('clustercredentials', old.clustercredentials_cred_id);
end;
create trigger switchboard_insert_gitopsenginecluster after insert on gitopsenginecluster begin
    insert into switchboard_change (relation, row_key) values ('gitopsenginecluster', new.gitopsenginecluster_id);
end;
create trigger switchboard_update_gitopsenginecluster after update on gitopsenginecluster begin
    insert into switchboard_change (relation, row_key) values ('gitopsenginecluster', new.gitopsenginecluster_id);
end;
create trigger switchboard_delete_gitopsenginecluster after delete on gitopsenginecluster begin
    insert into switchboard_change (relation, row_key) values ('gitopsenginecluster', old.gitopsenginecluster_id);
end;
create trigger switchboard_insert_gitopsengineinstance after insert on gitopsengineinstance begin
    insert into switchboard_change (relation, row_key) values ('gitopsengineinstance', new.gitopsengineinstance_id);
end;
create trigger switchboard_update_gitopsengineinstance after update on gitopsengineinstance begin
    insert into switchboard_change (relation, row_key) values ('gitopsengineinstance', new.gitopsengineinstance_id);
end;
create trigger switchboard_delete_gitopsengineinstance after delete on gitopsengineinstance begin
    insert into switchboard_change (relation, row_key) values ('gitopsengineinstance', old.gitopsengineinstance_id);
end;
create trigger switchboard_insert_managedenvironment after insert on managedenvironment begin
    insert into switchboard_change (relation, row_key) values ('managedenvironment', new.managedenvironment_id);
end;
create trigger switchboard_update_managedenvironment after update on managedenvironment begin
    insert into switchboard_change (relation, row_key) values ('managedenvironment', new.managedenvironment_id);
end;
create trigger switchboard_delete_managedenvironment after delete on managedenvironment begin
    insert into switchboard_change (relation, row_key) values ('managedenvironment', old.managedenvironment_id);
end;
create trigger switchboard_insert_clusteruser after insert on clusteruser begin
    insert into switchboard_change (relation, row_key) values ('clusteruser', new.clusteruser_id);
end;
create trigger switchboard_update_clusteruser after update on clusteruser begin
    insert into switchboard_change (relation, row_key) values ('clusteruser', new.clusteruser_id);
end;
create trigger switchboard_delete_clusteruser after delete on clusteruser begin
    insert into switchboard_change (relation, row_key) values ('clusteruser', old.clusteruser_id);
end;
create trigger switchboard_insert_clusteraccess after insert on clusteraccess begin
    insert into switchboard_change (relation, row_key) values ('clusteraccess', new.clusteraccess_user_id || '/' || new.clusteraccess_managed_environment_id || '/' || new.clusteraccess_gitops_engine_instance_id);
end;
create trigger switchboard_update_clusteraccess after update on clusteraccess begin
    insert into switchboard_change (relation, row_key) values ('clusteraccess', new.clusteraccess_user_id || '/' || new.clusteraccess_managed_environment_id || '/' || new.clusteraccess_gitops_engine_instance_id);
end;
create trigger switchboard_delete_clusteraccess after delete on clusteraccess begin
    insert into switchboard_change (relation, row_key) values ('clusteraccess', old.clusteraccess_user_id || '/' || old.clusteraccess_managed_environment_id || '/' || old.clusteraccess_gitops_engine_instance_id);
end;
create trigger switchboard_insert_operation after insert on operation begin
    insert into switchboard_change (relation, row_key) values ('operation', new.operation_id);
end;
create trigger switchboard_update_operation after update on operation begin
    insert into switchboard_change (relation, row_key) values ('operation', new.operation_id);
end;
create trigger switchboard_delete_operation after delete on operation begin
    insert into switchboard_change (relation, row_key) values ('operation', old.operation_id);
end;
create trigger switchboard_insert_application after insert on application begin
    insert into switchboard_change (relation, row_key) values ('application', new.application_id);
end;
create trigger switchboard_update_application after update on application begin
    insert into switchboard_change (relation, row_key) values ('application', new.application_id);
end;
create trigger switchboard_delete_application after delete on application begin
    insert into switchboard_change (relation, row_key) values ('application', old.application_id);
end;
create trigger switchboard_insert_applicationstate after insert on applicationstate begin
    insert into switchboard_change (relation, row_key) values ('applicationstate', new.applicationstate_application_id);
end;
create trigger switchboard_update_applicationstate after update on applicationstate begin
    insert into switchboard_change (relation, row_key) values ('applicationstate', new.applicationstate_application_id);
end;
create trigger switchboard_delete_applicationstate after delete on applicationstate begin
    insert into switchboard_change (relation, row_key) values ('applicationstate', old.applicationstate_application_id);
end;
create trigger switchboard_insert_deploymenttoapplicationmapping after insert on deploymenttoapplicationmapping begin
    insert into switchboard_change (relation, row_key) values ('deploymenttoapplicationmapping', new.deploymenttoapplicationmapping_uid_id);
end;
create trigger switchboard_update_deploymenttoapplicationmapping after update on deploymenttoapplicationmapping begin
    insert into switchboard_change (relation, row_key) values ('deploymenttoapplicationmapping', new.deploymenttoapplicationmapping_uid_id);
end;
create trigger switchboard_delete_deploymenttoapplicationmapping after delete on deploymenttoapplicationmapping begin
    insert into switchboard_change (relation, row_key) values ('deploymenttoapplicationmapping', old.deploymenttoapplicationmapping_uid_id);
end;
create trigger switchboard_insert_kubernetestodbresourcemapping after insert on kubernetestodbresourcemapping begin
    insert into switchboard_change (relation, row_key) values ('kubernetestodbresourcemapping', new.kubernetes_resource_type || '/' || new.kubernetes_resource_uid || '/' || new.db_relation_type || '/' || new.db_relation_key);
end;
create trigger switchboard_update_kubernetestodbresourcemapping after update on kubernetestodbresourcemapping begin
    insert into switchboard_change (relation, row_key) values ('kubernetestodbresourcemapping', new.kubernetes_resource_type || '/' || new.kubernetes_resource_uid || '/' || new.db_relation_type || '/' || new.db_relation_key);
end;
create trigger switchboard_delete_kubernetestodbresourcemapping after delete on kubernetestodbresourcemapping begin
    insert into switchboard_change (relation, row_key) values ('kubernetestodbresourcemapping', old.kubernetes_resource_type || '/' || old.kubernetes_resource_uid || '/' || old.db_relation_type || '/' || old.db_relation_key);
end;
create trigger switchboard_insert_apicrtodatabasemapping after insert on apicrtodatabasemapping begin
    insert into switchboard_change (relation, row_key) values ('apicrtodatabasemapping', new.api_resource_type || '/' || new.api_resource_uid || '/' || new.db_relation_type || '/' || new.db_relation_key);
end;
create trigger switchboard_update_apicrtodatabasemapping after update on apicrtodatabasemapping begin
    insert into switchboard_change (relation, row_key) values ('apicrtodatabasemapping', new.api_resource_type || '/' || new.api_resource_uid || '/' || new.db_relation_type || '/' || new.db_relation_key);
end;
create trigger switchboard_delete_apicrtodatabasemapping after delete on apicrtodatabasemapping begin
    insert into switchboard_change (relation, row_key) values ('apicrtodatabasemapping', old.api_resource_type || '/' || old.api_resource_uid || '/' || old.db_relation_type || '/' || old.db_relation_key);
end;
create trigger switchboard_insert_syncoperation after insert on syncoperation begin
    insert into switchboard_change (relation, row_key) values ('syncoperation', new.syncoperation_id);
end;
create trigger switchboard_update_syncoperation after update on syncoperation begin
    insert into switchboard_change (relation, row_key) values ('syncoperation', new.syncoperation_id);
end;
create trigger switchboard_delete_syncoperation after delete on syncoperation begin
    insert into switchboard_change (relation, row_key) values ('syncoperation', old.syncoperation_id);
end;
create trigger switchboard_insert_repositorycredentials after insert on repositorycredentials begin
    insert into switchboard_change (relation, row_key) values ('repositorycredentials', new.repositorycredentials_id);
end;
create trigger switchboard_update_repositorycredentials after update on repositorycredentials begin
    insert into switchboard_change (relation, row_key) values ('repositorycredentials', new.repositorycredentials_id);
end;
create trigger switchboard_delete_repositorycredentials after delete on repositorycredentials begin
    insert into switchboard_change (relation, row_key) values ('repositorycredentials', old.repositorycredentials_id);
end;
create trigger switchboard_insert_appprojectrepository after insert on appprojectrepository begin
    insert into switchboard_change (relation, row_key) values ('appprojectrepository', new.appproject_repository_id);
end;
create trigger switchboard_update_appprojectrepository after update on appprojectrepository begin
    insert into switchboard_change (relation, row_key) values ('appprojectrepository', new.appproject_repository_id);
end;
create trigger switchboard_delete_appprojectrepository after delete on appprojectrepository begin
    insert into switchboard_change (relation, row_key) values ('appprojectrepository', old.appproject_repository_id);
end;
create trigger switchboard_insert_appprojectmanagedenvironment after insert on appprojectmanagedenvironment begin
    insert into switchboard_change (relation, row_key) values ('appprojectmanagedenvironment', new.appproject_managedenv_id);
end;
create trigger switchboard_update_appprojectmanagedenvironment after update on appprojectmanagedenvironment begin
    insert into switchboard_change (relation, row_key) values ('appprojectmanagedenvironment', new.appproject_managedenv_id);
end;
create trigger switchboard_delete_appprojectmanagedenvironment after delete on appprojectmanagedenvironment begin
    insert into switchboard_change (relation, row_key) values ('appprojectmanagedenvironment', old.appproject_managedenv_id);
end;
create trigger switchboard_insert_applicationowner after insert on applicationowner begin
    insert into switchboard_change (relation, row_key) values ('applicationowner', new.application_owner_application_id || '/' || new.application_owner_user_id);
end;
create trigger switchboard_update_applicationowner after update on applicationowner begin
    insert into switchboard_change (relation, row_key) values ('applicationowner', new.application_owner_application_id || '/' || new.application_owner_user_id);
end;
create trigger switchboard_delete_applicationowner after delete on applicationowner begin
    insert into switchboard_change (relation, row_key) values ('applicationowner', old.application_owner_application_id || '/' || old.application_owner_user_id);
end;
