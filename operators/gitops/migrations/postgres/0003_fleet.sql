-- Argo CD instances, the placement of each tenant's environment on an instance, and moves between instances. Rows of
-- managed-gitops stay unchanged; if managed-gitops deletes one, the rows that reference it are deleted too.

create table switchboard_instance (
    instance_id varchar(48) primary key references gitopsengineinstance(gitopsengineinstance_id) on delete cascade,
    state varchar(16) not null,
    max_applications bigint not null,
    max_environments bigint not null,
    created_on timestamp not null
);

create table switchboard_placement (
    placement_user_id varchar(48) not null references clusteruser(clusteruser_id) on delete cascade,
    placement_environment_id varchar(48) not null references managedenvironment(managedenvironment_id) on delete cascade,
    instance_id varchar(48) not null references gitopsengineinstance(gitopsengineinstance_id),
    epoch bigint not null,
    move_id varchar(48),
    created_on timestamp not null,
    primary key (placement_user_id, placement_environment_id)
);
create index switchboard_placement_instance on switchboard_placement (instance_id);

create table switchboard_move (
    move_id varchar(48) primary key,
    move_user_id varchar(48) not null references clusteruser(clusteruser_id) on delete cascade,
    move_environment_id varchar(48) not null references managedenvironment(managedenvironment_id) on delete cascade,
    source_id varchar(48) not null,
    target_id varchar(48) not null,
    step varchar(16) not null,
    human_readable_state varchar(1024),
    created_on timestamp not null,
    last_step_update timestamp not null
);
create index switchboard_move_step on switchboard_move (step);

-- Registers the Argo CD instance that managed-gitops uses, with its placements. managed-gitops never has more than one instance.
insert into switchboard_instance (instance_id, state, max_applications, max_environments, created_on)
    select gitopsengineinstance_id, 'active', 1000, 1000, now() at time zone 'UTC' from gitopsengineinstance;
insert into switchboard_placement (placement_user_id, placement_environment_id, instance_id, epoch, created_on)
    select clusteraccess_user_id, clusteraccess_managed_environment_id, min(clusteraccess_gitops_engine_instance_id), 1, now() at time zone 'UTC'
    from clusteraccess group by clusteraccess_user_id, clusteraccess_managed_environment_id;

create trigger switchboard_change after insert or update or delete on switchboard_instance
    for each row execute function switchboard_record_change('instance_id');
create trigger switchboard_change after insert or update or delete on switchboard_placement
    for each row execute function switchboard_record_change('placement_user_id', 'placement_environment_id');
create trigger switchboard_change after insert or update or delete on switchboard_move
    for each row execute function switchboard_record_change('move_id');
