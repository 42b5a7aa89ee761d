-- Tables of managed-gitops with the types of SQLite: seq_id is the row number, timestamps are microseconds since 1970.

create table clustercredentials (
    seq_id integer primary key autoincrement,
    clustercredentials_cred_id text not null,
    host text,
    kube_config text,
    kube_config_context text,
    serviceaccount_bearer_token text,
    serviceaccount_ns text,
    allowinsecure_skiptlsverify boolean default false,
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    namespaces text,
    cluster_resources boolean default false,
    unique (clustercredentials_cred_id)
);

create table gitopsenginecluster (
    seq_id integer primary key autoincrement,
    gitopsenginecluster_id text not null,
    clustercredentials_id text not null references clustercredentials(clustercredentials_cred_id),
    unique (gitopsenginecluster_id)
);

create table gitopsengineinstance (
    seq_id integer primary key autoincrement,
    gitopsengineinstance_id text not null,
    namespace_name text not null,
    namespace_uid text not null,
    enginecluster_id text not null references gitopsenginecluster(gitopsenginecluster_id),
    unique (gitopsengineinstance_id),
    unique (namespace_name, namespace_uid, enginecluster_id)
);

create table managedenvironment (
    seq_id integer primary key autoincrement,
    managedenvironment_id text not null,
    name text not null,
    clustercredentials_id text not null references clustercredentials(clustercredentials_cred_id),
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    unique (managedenvironment_id)
);

create table clusteruser (
    seq_id integer primary key autoincrement,
    clusteruser_id text not null,
    user_name text not null,
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    display_name text,
    unique (clusteruser_id),
    unique (user_name)
);

create table clusteraccess (
    seq_id integer primary key autoincrement,
    clusteraccess_user_id text not null references clusteruser(clusteruser_id),
    clusteraccess_managed_environment_id text not null references managedenvironment(managedenvironment_id),
    clusteraccess_gitops_engine_instance_id text not null references gitopsengineinstance(gitopsengineinstance_id),
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    unique (clusteraccess_user_id, clusteraccess_managed_environment_id, clusteraccess_gitops_engine_instance_id)
);

create table operation (
    seq_id integer primary key autoincrement,
    operation_id text not null,
    instance_id text not null references gitopsengineinstance(gitopsengineinstance_id),
    resource_id text not null,
    operation_owner_user_id text references clusteruser(clusteruser_id),
    resource_type text not null,
    created_on integer not null,
    last_state_update integer not null,
    state text not null,
    human_readable_state text,
    gc_expiration_time integer,
    unique (operation_id)
);

create table application (
    seq_id integer primary key autoincrement,
    application_id text not null,
    name text not null,
    spec_field text not null,
    engine_instance_inst_id text not null references gitopsengineinstance(gitopsengineinstance_id),
    managed_environment_id text references managedenvironment(managedenvironment_id),
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    unique (application_id)
);

create table applicationstate (
    applicationstate_application_id text not null references application(application_id),
    argocd_application_status blob,
    primary key (applicationstate_application_id)
);

create table deploymenttoapplicationmapping (
    seq_id integer primary key autoincrement,
    deploymenttoapplicationmapping_uid_id text not null,
    name text,
    namespace text,
    namespace_uid text,
    application_id text not null references application(application_id),
    unique (deploymenttoapplicationmapping_uid_id),
    unique (application_id)
);

create table kubernetestodbresourcemapping (
    seq_id integer primary key autoincrement,
    kubernetes_resource_type text not null,
    kubernetes_resource_uid text not null,
    db_relation_type text not null,
    db_relation_key text not null,
    unique (kubernetes_resource_type, kubernetes_resource_uid, db_relation_type, db_relation_key),
    unique (db_relation_type, db_relation_key, kubernetes_resource_type),
    unique (kubernetes_resource_type, kubernetes_resource_uid, db_relation_type)
);

create table apicrtodatabasemapping (
    seq_id integer primary key autoincrement,
    api_resource_type text not null,
    api_resource_uid text not null,
    api_resource_name text not null,
    api_resource_namespace text not null,
    api_resource_namespace_uid text not null,
    db_relation_type text not null,
    db_relation_key text not null,
    unique (api_resource_type, api_resource_uid, db_relation_type, db_relation_key),
    unique (api_resource_type, api_resource_uid, db_relation_type),
    unique (db_relation_type, db_relation_key, api_resource_type)
);

create table syncoperation (
    seq_id integer primary key autoincrement,
    syncoperation_id text not null,
    application_id text references application(application_id),
    deployment_name text not null,
    revision text not null,
    desired_state text not null,
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    unique (syncoperation_id)
);

create table repositorycredentials (
    seq_id integer primary key autoincrement,
    repositorycredentials_id text not null,
    repo_cred_user_id text not null references clusteruser(clusteruser_id),
    repo_cred_url text not null,
    repo_cred_user text,
    repo_cred_pass text,
    repo_cred_ssh text,
    repo_cred_secret text not null,
    repo_cred_engine_id text not null references gitopsengineinstance(gitopsengineinstance_id),
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    unique (repositorycredentials_id)
);

create table appprojectrepository (
    seq_id integer primary key autoincrement,
    appproject_repository_id text not null,
    clusteruser_id text not null references clusteruser(clusteruser_id),
    repo_url text not null,
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    unique (appproject_repository_id),
    unique (clusteruser_id, repo_url)
);

create table appprojectmanagedenvironment (
    seq_id integer primary key autoincrement,
    appproject_managedenv_id text not null,
    clusteruser_id text not null references clusteruser(clusteruser_id),
    managed_environment_id text not null references managedenvironment(managedenvironment_id),
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    unique (appproject_managedenv_id)
);

create table applicationowner (
    seq_id integer primary key autoincrement,
    application_owner_application_id text not null references application(application_id),
    application_owner_user_id text not null references clusteruser(clusteruser_id),
    created_on integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    unique (application_owner_application_id, application_owner_user_id)
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
