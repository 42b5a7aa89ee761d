-- Triggers that log changes once for each statement. A trigger for each row took as long as the write itself. The content of the
-- log is the same.

do $step$
declare
    relation text;
    key text;
begin
    for relation, key in values
        ('clustercredentials', 'clustercredentials_cred_id'),
        ('gitopsenginecluster', 'gitopsenginecluster_id'),
        ('gitopsengineinstance', 'gitopsengineinstance_id'),
        ('managedenvironment', 'managedenvironment_id'),
        ('clusteruser', 'clusteruser_id'),
        ('clusteraccess', 'concat_ws(''/'', clusteraccess_user_id, clusteraccess_managed_environment_id, clusteraccess_gitops_engine_instance_id)'),
        ('operation', 'operation_id'),
        ('application', 'application_id'),
        ('applicationstate', 'applicationstate_application_id'),
        ('deploymenttoapplicationmapping', 'deploymenttoapplicationmapping_uid_id'),
        ('kubernetestodbresourcemapping', 'concat_ws(''/'', kubernetes_resource_type, kubernetes_resource_uid, db_relation_type, db_relation_key)'),
        ('apicrtodatabasemapping', 'concat_ws(''/'', api_resource_type, api_resource_uid, db_relation_type, db_relation_key)'),
        ('syncoperation', 'syncoperation_id'),
        ('repositorycredentials', 'repositorycredentials_id'),
        ('appprojectrepository', 'appproject_repository_id'),
        ('appprojectmanagedenvironment', 'appproject_managedenv_id'),
        ('applicationowner', 'concat_ws(''/'', application_owner_application_id, application_owner_user_id)'),
        ('switchboard_instance', 'instance_id'),
        ('switchboard_placement', 'concat_ws(''/'', placement_user_id, placement_environment_id)'),
        ('switchboard_move', 'move_id'),
        ('switchboard_service_account', 'account_id'),
        ('switchboard_home', 'home_user_id'),
        ('switchboard_setting', 'setting_name')
    loop
        -- Runs as the owner of the log, so programs that write the tables need no permission for the log.
        execute format($function$
            create or replace function %I() returns trigger language plpgsql security definer set search_path from current as $$
            begin
                insert into switchboard_change (relation, row_key) select %L, %s from changed;
                -- PostgreSQL sends equal notifications of one transaction once.
                if found then
                    perform pg_notify('switchboard_ledger', '');
                end if;
                return null;
            end
            $$
        $function$, 'switchboard_log_' || relation, relation, key);
        execute format('drop trigger if exists switchboard_change on %I', relation);
        execute format('create or replace trigger switchboard_inserted after insert on %I referencing new table as changed
            for each statement execute function %I()', relation, 'switchboard_log_' || relation);
        execute format('create or replace trigger switchboard_updated after update on %I referencing new table as changed
            for each statement execute function %I()', relation, 'switchboard_log_' || relation);
        execute format('create or replace trigger switchboard_deleted after delete on %I referencing old table as changed
            for each statement execute function %I()', relation, 'switchboard_log_' || relation);
    end loop;
end
$step$;

drop function if exists switchboard_record_change();
