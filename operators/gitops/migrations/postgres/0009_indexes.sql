-- Indexes for the queries that read a whole table or all rows of one type.

create index if not exists switchboard_clusteruser_display_name on clusteruser (display_name);
create index if not exists switchboard_clusteraccess_instance on clusteraccess (clusteraccess_gitops_engine_instance_id);
create index if not exists switchboard_operation_owner on operation (operation_owner_user_id, resource_type, state);
create index if not exists switchboard_application_name on application (name);
create index if not exists switchboard_apicrtodatabasemapping_name on apicrtodatabasemapping (api_resource_type, api_resource_name, api_resource_namespace);
create index if not exists switchboard_apicrtodatabasemapping_namespace on apicrtodatabasemapping (api_resource_namespace_uid, db_relation_type, api_resource_name);
create index if not exists switchboard_move_user on switchboard_move (move_user_id);
create index if not exists switchboard_move_environment on switchboard_move (move_environment_id);
create index if not exists switchboard_move_target on switchboard_move (target_id, step);
create index if not exists switchboard_service_account_namespace on switchboard_service_account (resource_namespace_uid);
