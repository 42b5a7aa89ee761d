-- Argo CD instances, the placement of each tenant's environment on an instance, and moves between instances. Rows of
-- managed-gitops stay unchanged; if managed-gitops deletes one, the rows that reference it are deleted too.

create table switchboard_instance (
    instance_id text primary key references gitopsengineinstance(gitopsengineinstance_id) on delete cascade,
    state text not null,
    max_applications integer not null,
    max_environments integer not null,
    created_on integer not null
);

create table switchboard_placement (
    placement_user_id text not null references clusteruser(clusteruser_id) on delete cascade,
    placement_environment_id text not null references managedenvironment(managedenvironment_id) on delete cascade,
    instance_id text not null references gitopsengineinstance(gitopsengineinstance_id),
    epoch integer not null,
    move_id text,
    created_on integer not null,
    primary key (placement_user_id, placement_environment_id)
);
create index switchboard_placement_instance on switchboard_placement (instance_id);

create table switchboard_move (
    move_id text primary key,
    move_user_id text not null references clusteruser(clusteruser_id) on delete cascade,
    move_environment_id text not null references managedenvironment(managedenvironment_id) on delete cascade,
    source_id text not null,
    target_id text not null,
    step text not null,
    human_readable_state text,
    created_on integer not null,
    last_step_update integer not null
);
create index switchboard_move_step on switchboard_move (step);

-- Registers the Argo CD instance that managed-gitops uses, with its placements. managed-gitops never has more than one instance.
insert into switchboard_instance (instance_id, state, max_applications, max_environments, created_on)
    select gitopsengineinstance_id, 'active', 1000, 1000, cast(unixepoch('subsec') * 1000000 as integer) from gitopsengineinstance;
insert into switchboard_placement (placement_user_id, placement_environment_id, instance_id, epoch, created_on)
    select clusteraccess_user_id, clusteraccess_managed_environment_id, min(clusteraccess_gitops_engine_instance_id), 1, cast(unixepoch('subsec') * 1000000 as integer)
    from clusteraccess group by clusteraccess_user_id, clusteraccess_managed_environment_id;

create trigger switchboard_insert_instance after insert on switchboard_instance begin
    insert into switchboard_change (relation, row_key) values ('switchboard_instance', new.instance_id);
end;
create trigger switchboard_update_instance after update on switchboard_instance begin
    insert into switchboard_change (relation, row_key) values ('switchboard_instance', new.instance_id);
end;
create trigger switchboard_delete_instance after delete on switchboard_instance begin
    insert into switchboard_change (relation, row_key) values ('switchboard_instance', old.instance_id);
end;
create trigger switchboard_insert_placement after insert on switchboard_placement begin
    insert into switchboard_change (relation, row_key) values ('switchboard_placement', new.placement_user_id || '/' || new.placement_environment_id);
end;
create trigger switchboard_update_placement after update on switchboard_placement begin
    insert into switchboard_change (relation, row_key) values ('switchboard_placement', new.placement_user_id || '/' || new.placement_environment_id);
end;
create trigger switchboard_delete_placement after delete on switchboard_placement begin
    insert into switchboard_change (relation, row_key) values ('switchboard_placement', old.placement_user_id || '/' || old.placement_environment_id);
end;
create trigger switchboard_insert_move after insert on switchboard_move begin
    insert into switchboard_change (relation, row_key) values ('switchboard_move', new.move_id);
end;
create trigger switchboard_update_move after update on switchboard_move begin
    insert into switchboard_change (relation, row_key) values ('switchboard_move', new.move_id);
end;
create trigger switchboard_delete_move after delete on switchboard_move begin
    insert into switchboard_change (relation, row_key) values ('switchboard_move', old.move_id);
end;
