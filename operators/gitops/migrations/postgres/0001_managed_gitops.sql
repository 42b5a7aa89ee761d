-- Tables of managed-gitops at its schema version 20, with the same names, columns and limits.

create table clustercredentials (
    clustercredentials_cred_id varchar(48) not null,
    host varchar(512),
    kube_config varchar(65000),
    kube_config_context varchar(64),
    serviceaccount_bearer_token varchar(2048),
    serviceaccount_ns varchar(128),
    allowinsecure_skiptlsverify boolean default false,
    created_on timestamp not null default current_timestamp,
    namespaces varchar(4096),
    cluster_resources boolean default false,
    seq_id serial,
    primary key (clustercredentials_cred_id)
);

create table gitopsenginecluster (
    gitopsenginecluster_id varchar(48) not null,
    clustercredentials_id varchar(48) not null references clustercredentials(clustercredentials_cred_id),
    seq_id serial,
    primary key (gitopsenginecluster_id)
);

create table gitopsengineinstance (
    gitopsengineinstance_id varchar(48) not null,
    namespace_name varchar(48) not null,
    namespace_uid varchar(48) not null,
    enginecluster_id varchar(48) not null references gitopsenginecluster(gitopsenginecluster_id),
    seq_id serial,
    primary key (gitopsengineinstance_id),
    unique (namespace_name, namespace_uid, enginecluster_id)
);

create table managedenvironment (
    managedenvironment_id varchar(48) not null,
    name varchar(256) not null,
    clustercredentials_id varchar(48) not null references clustercredentials(clustercredentials_cred_id),
    created_on timestamp not null default current_timestamp,
    seq_id serial,
    primary key (managedenvironment_id)
);

create table clusteruser (
    clusteruser_id varchar(48) not null,
    user_name varchar(256) not null,
    created_on timestamp not null default current_timestamp,
    display_name varchar(128),
    seq_id serial,
    primary key (clusteruser_id),
    unique (user_name)
);

create table clusteraccess (
    clusteraccess_user_id varchar(48) not null references clusteruser(clusteruser_id),
    clusteraccess_managed_environment_id varchar(48) not null references managedenvironment(managedenvironment_id),
    clusteraccess_gitops_engine_instance_id varchar(48) not null references gitopsengineinstance(gitopsengineinstance_id),
    created_on timestamp not null default current_timestamp,
    seq_id serial,
    primary key (clusteraccess_user_id, clusteraccess_managed_environment_id, clusteraccess_gitops_engine_instance_id)
);

create table operation (
    operation_id varchar(48) not null,
    instance_id varchar(48) not null references gitopsengineinstance(gitopsengineinstance_id),
    resource_id varchar(48) not null,
    operation_owner_user_id varchar(48) references clusteruser(clusteruser_id),
    resource_type varchar(32) not null,
    created_on timestamp not null,
    last_state_update timestamp not null,
    state varchar(30) not null,
    human_readable_state varchar(1024),
    gc_expiration_time int,
    seq_id serial,
    primary key (operation_id)
);

create table application (
    application_id varchar(48) not null,
    name varchar(256) not null,
    spec_field varchar(16384) not null,
    engine_instance_inst_id varchar(48) not null references gitopsengineinstance(gitopsengineinstance_id),
    managed_environment_id varchar(48) references managedenvironment(managedenvironment_id),
    created_on timestamp not null default current_timestamp,
    seq_id serial,
    primary key (application_id)
);

create table applicationstate (
    applicationstate_application_id varchar(48) not null references application(application_id),
    argocd_application_status bytea,
    primary key (applicationstate_application_id)
);

create table deploymenttoapplicationmapping (
    deploymenttoapplicationmapping_uid_id varchar(48) not null,
    name varchar(256),
    namespace varchar(96),
    namespace_uid varchar(48),
    application_id varchar(48) not null references application(application_id),
    seq_id serial,
    primary key (deploymenttoapplicationmapping_uid_id),
    unique (application_id)
);

create table kubernetestodbresourcemapping (
    kubernetes_resource_type varchar(64) not null,
    kubernetes_resource_uid varchar(64) not null,
    db_relation_type varchar(64) not null,
    db_relation_key varchar(64) not null,
    seq_id serial,
    primary key (kubernetes_resource_type, kubernetes_resource_uid, db_relation_type, db_relation_key),
    unique (db_relation_type, db_relation_key, kubernetes_resource_type),
    unique (kubernetes_resource_type, kubernetes_resource_uid, db_relation_type)
);

create table apicrtodatabasemapping (
    api_resource_type varchar(64) not null,
    api_resource_uid varchar(64) not null,
    api_resource_name varchar(256) not null,
    api_resource_namespace varchar(256) not null,
    api_resource_namespace_uid varchar(64) not null,
    db_relation_type varchar(32) not null,
    db_relation_key varchar(64) not null,
    seq_id serial,
    primary key (api_resource_type, api_resource_uid, db_relation_type, db_relation_key),
    unique (api_resource_type, api_resource_uid, db_relation_type),
    unique (db_relation_type, db_relation_key, api_resource_type)
);

create table syncoperation (
    syncoperation_id varchar(48) not null,
    application_id varchar(48) references application(application_id),
    deployment_name varchar(256) not null,
    revision varchar(256) not null,
    desired_state varchar(16) not null,
    created_on timestamp not null default current_timestamp,
    seq_id serial,
    primary key (syncoperation_id)
);

create table repositorycredentials (
    repositorycredentials_id varchar(48) not null,
    repo_cred_user_id varchar(48) not null references clusteruser(clusteruser_id),
    repo_cred_url varchar(512) not null,
    repo_cred_user varchar(256),
    repo_cred_pass varchar(1024),
    repo_cred_ssh varchar(1024),
    repo_cred_secret varchar(48) not null,
    repo_cred_engine_id varchar(48) not null references gitopsengineinstance(gitopsengineinstance_id),
    created_on timestamp not null default current_timestamp,
    seq_id serial,
    primary key (repositorycredentials_id)
);

create table appprojectrepository (
    appproject_repository_id varchar(48) not null,
    clusteruser_id varchar(48) not null references clusteruser(clusteruser_id),
    repo_url varchar(256) not null,
    created_on timestamp not null default current_timestamp,
    seq_id serial,
    primary key (appproject_repository_id),
    unique (clusteruser_id, repo_url)
);

create table appprojectmanagedenvironment (
    appproject_managedenv_id varchar(48) not null,
    clusteruser_id varchar(48) not null references clusteruser(clusteruser_id),
    managed_environment_id varchar(48) not null references managedenvironment(managedenvironment_id),
    created_on timestamp not null default current_timestamp,
    seq_id serial,
    primary key (appproject_managedenv_id)
);

create table applicationowner (
    application_owner_application_id varchar(48) not null references application(application_id),
    application_owner_user_id varchar(48) not null references clusteruser(clusteruser_id),
    created_on timestamp not null default current_timestamp,
    seq_id serial,
    primary key (application_owner_application_id, application_owner_user_id)
);

create index idx_gitopsenginecluster_clustercredentials on gitopsenginecluster (clustercredentials_id);
create index idx_clusteruser_user_name on clusteruser (user_name);
create index idx_userid_cluster on clusteraccess (clusteraccess_user_id, clusteraccess_managed_environment_id);
create index idx_userid_instance on clusteraccess (clusteraccess_user_id, clusteraccess_gitops_engine_instance_id);
create index idx_managed_environment_id on clusteraccess (clusteraccess_managed_environment_id);
create index idx_operation_1 on operation (resource_id, resource_type, operation_owner_user_id);
create index idx_deploymenttoapplicationmapping_1 on deploymenttoapplicationmapping (namespace_uid);
create index idx_deploymenttoapplicationmapping_2 on deploymenttoapplicationmapping (name, namespace, namespace_uid);
create index idx_deploymenttoapplicationmapping_3 on deploymenttoapplicationmapping (application_id);
create index idx_db_relation_uid on kubernetestodbresourcemapping (kubernetes_resource_type, kubernetes_resource_uid, db_relation_type);
create index idx_apicrtodatabasemapping1 on apicrtodatabasemapping (api_resource_type, api_resource_uid, db_relation_type);
create index idx_apicrtodatabasemapping2 on apicrtodatabasemapping (api_resource_type, db_relation_type, db_relation_key, api_resource_namespace_uid, db_relation_type);
create index idx_apicrtodatabasemapping3 on apicrtodatabasemapping (api_resource_type, db_relation_type, db_relation_key);
create index idx_userid_cluster_rc on appprojectrepository (clusteruser_id);
create index idx_userid_cluster_me on appprojectmanagedenvironment (clusteruser_id);

-- managed-gitops reads this table at startup, finds its newest version and leaves the other tables unchanged.
create table schema_migrations (version bigint not null primary key, dirty boolean not null);
insert into schema_migrations (version, dirty) values (20, false);
