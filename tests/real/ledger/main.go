// Reads and writes the GitOps Service's tables with the ORM and the column lists of managed-gitops: `read` prints one row of each table
// as JSON, and `write` adds rows in the same way as managed-gitops. The database is PostgreSQL on a socket.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/go-pg/pg/v10"
)

type clusterCredentials struct {
	tableName   struct{}  `pg:"clustercredentials,alias:cc"`
	ID          string    `pg:"clustercredentials_cred_id,pk"`
	SeqID       int64     `pg:"seq_id" json:"-"`
	Host        string    `pg:"host"`
	KubeConfig  string    `pg:"kube_config"`
	Context     string    `pg:"kube_config_context"`
	Token       string    `pg:"serviceaccount_bearer_token"`
	Namespace   string    `pg:"serviceaccount_ns"`
	Insecure    bool      `pg:"allowinsecure_skiptlsverify"`
	Namespaces  string    `pg:"namespaces"`
	ClusterWide bool      `pg:"cluster_resources"`
	CreatedOn   time.Time `pg:"created_on"`
}

type engineCluster struct {
	tableName   struct{} `pg:"gitopsenginecluster"`
	ID          string   `pg:"gitopsenginecluster_id,pk"`
	SeqID       int64    `pg:"seq_id" json:"-"`
	Credentials string   `pg:"clustercredentials_id"`
}

type engineInstance struct {
	tableName struct{} `pg:"gitopsengineinstance,alias:gei"`
	ID        string   `pg:"gitopsengineinstance_id,pk"`
	SeqID     int64    `pg:"seq_id" json:"-"`
	Namespace string   `pg:"namespace_name"`
	UID       string   `pg:"namespace_uid"`
	Cluster   string   `pg:"enginecluster_id"`
}

type managedEnvironment struct {
	tableName   struct{}  `pg:"managedenvironment,alias:me"`
	ID          string    `pg:"managedenvironment_id,pk"`
	SeqID       int64     `pg:"seq_id" json:"-"`
	Name        string    `pg:"name"`
	Credentials string    `pg:"clustercredentials_id"`
	CreatedOn   time.Time `pg:"created_on"`
}

type clusterUser struct {
	tableName   struct{}  `pg:"clusteruser,alias:cu"`
	ID          string    `pg:"clusteruser_id,pk"`
	UserName    string    `pg:"user_name"`
	SeqID       int64     `pg:"seq_id" json:"-"`
	CreatedOn   time.Time `pg:"created_on"`
	DisplayName string    `pg:"display_name"`
}

type clusterAccess struct {
	tableName   struct{}  `pg:"clusteraccess"`
	User        string    `pg:"clusteraccess_user_id,pk"`
	Environment string    `pg:"clusteraccess_managed_environment_id,pk"`
	Instance    string    `pg:"clusteraccess_gitops_engine_instance_id,pk"`
	SeqID       int64     `pg:"seq_id" json:"-"`
	CreatedOn   time.Time `pg:"created_on"`
}

type operation struct {
	tableName  struct{}  `pg:"operation,alias:op"`
	ID         string    `pg:"operation_id,pk"`
	Instance   string    `pg:"instance_id"`
	Resource   string    `pg:"resource_id"`
	Owner      string    `pg:"operation_owner_user_id"`
	Type       string    `pg:"resource_type"`
	CreatedOn  time.Time `pg:"created_on"`
	LastUpdate time.Time `pg:"last_state_update"`
	State      string    `pg:"state"`
	Human      string    `pg:"human_readable_state"`
	SeqID      int64     `pg:"seq_id" json:"-"`
	Expiration int       `pg:"gc_expiration_time"`
}

type application struct {
	tableName   struct{}  `pg:"application"`
	ID          string    `pg:"application_id,pk"`
	Name        string    `pg:"name"`
	Spec        string    `pg:"spec_field"`
	Instance    string    `pg:"engine_instance_inst_id"`
	Environment string    `pg:"managed_environment_id"`
	SeqID       int64     `pg:"seq_id" json:"-"`
	CreatedOn   time.Time `pg:"created_on"`
}

type applicationState struct {
	tableName   struct{} `pg:"applicationstate"`
	Application string   `pg:"applicationstate_application_id,pk"`
	Status      []byte   `pg:"argocd_application_status"`
}

type deploymentMapping struct {
	tableName    struct{} `pg:"deploymenttoapplicationmapping,alias:dta"`
	UID          string   `pg:"deploymenttoapplicationmapping_uid_id,pk"`
	Name         string   `pg:"name"`
	Namespace    string   `pg:"namespace"`
	NamespaceUID string   `pg:"namespace_uid"`
	Application  string   `pg:"application_id"`
	SeqID        int64    `pg:"seq_id" json:"-"`
}

type kubernetesMapping struct {
	tableName struct{} `pg:"kubernetestodbresourcemapping,alias:ktdbrm"`
	Type      string   `pg:"kubernetes_resource_type,pk"`
	UID       string   `pg:"kubernetes_resource_uid,pk"`
	Relation  string   `pg:"db_relation_type,pk"`
	Key       string   `pg:"db_relation_key,pk"`
	SeqID     int64    `pg:"seq_id" json:"-"`
}

type apiMapping struct {
	tableName    struct{} `pg:"apicrtodatabasemapping,alias:atdbm"`
	Type         string   `pg:"api_resource_type"`
	UID          string   `pg:"api_resource_uid"`
	Name         string   `pg:"api_resource_name"`
	Namespace    string   `pg:"api_resource_namespace"`
	NamespaceUID string   `pg:"api_resource_namespace_uid"`
	Relation     string   `pg:"db_relation_type"`
	Key          string   `pg:"db_relation_key"`
	SeqID        int64    `pg:"seq_id" json:"-"`
}

type syncOperation struct {
	tableName   struct{}  `pg:"syncoperation,alias:so"`
	ID          string    `pg:"syncoperation_id,pk"`
	Application string    `pg:"application_id"`
	Deployment  string    `pg:"deployment_name"`
	Revision    string    `pg:"revision"`
	Desired     string    `pg:"desired_state"`
	CreatedOn   time.Time `pg:"created_on"`
}

type repositoryCredentials struct {
	tableName struct{}  `pg:"repositorycredentials,alias:rc"`
	ID        string    `pg:"repositorycredentials_id,pk,notnull"`
	User      string    `pg:"repo_cred_user_id,notnull"`
	URL       string    `pg:"repo_cred_url,notnull"`
	Username  string    `pg:"repo_cred_user"`
	Password  string    `pg:"repo_cred_pass"`
	SSHKey    string    `pg:"repo_cred_ssh"`
	Secret    string    `pg:"repo_cred_secret,notnull"`
	Instance  string    `pg:"repo_cred_engine_id,notnull"`
	SeqID     int64     `pg:"seq_id" json:"-"`
	CreatedOn time.Time `pg:"created_on"`
}

type projectRepository struct {
	tableName struct{}  `pg:"appprojectrepository"`
	ID        string    `pg:"appproject_repository_id,pk,notnull"`
	User      string    `pg:"clusteruser_id"`
	SeqID     int64     `pg:"seq_id" json:"-"`
	URL       string    `pg:"repo_url,notnull"`
	CreatedOn time.Time `pg:"created_on"`
}

type projectEnvironment struct {
	tableName   struct{}  `pg:"appprojectmanagedenvironment"`
	ID          string    `pg:"appproject_managedenv_id,pk,notnull"`
	User        string    `pg:"clusteruser_id"`
	Environment string    `pg:"managed_environment_id"`
	SeqID       int64     `pg:"seq_id" json:"-"`
	CreatedOn   time.Time `pg:"created_on"`
}

type applicationOwner struct {
	tableName   struct{}  `pg:"applicationowner"`
	Application string    `pg:"application_owner_application_id,pk,notnull"`
	User        string    `pg:"application_owner_user_id,pk,notnull"`
	SeqID       int64     `pg:"seq_id" json:"-"`
	CreatedOn   time.Time `pg:"created_on"`
}

func read(db *pg.DB) error {
	rows := []any{
		&clusterCredentials{ID: "cc"}, &engineCluster{ID: "ec"}, &engineInstance{ID: "ei"}, &managedEnvironment{ID: "me"},
		&clusterUser{ID: "u"}, &clusterAccess{User: "u", Environment: "me", Instance: "ei"}, &operation{ID: "op"},
		&application{ID: "app"}, &applicationState{Application: "app"}, &deploymentMapping{UID: "depl-uid"},
		&kubernetesMapping{Type: "Namespace", UID: "ns-uid", Relation: "GitopsEngineInstance", Key: "ei"},
		&syncOperation{ID: "so"}, &repositoryCredentials{ID: "rc"}, &projectRepository{ID: "apr"},
		&projectEnvironment{ID: "apm"}, &applicationOwner{Application: "app", User: "u"},
	}
	for _, row := range rows {
		if err := db.Model(row).WherePK().Select(); err != nil {
			return fmt.Errorf("%T: %w", row, err)
		}
	}
	// The struct in managed-gitops has no key, so the row is selected by the mapped ids.
	api := &apiMapping{}
	if err := db.Model(api).Where("atdbm.api_resource_uid = ?", "env-uid").Select(); err != nil {
		return fmt.Errorf("%T: %w", api, err)
	}
	told := map[string]any{}
	for _, row := range append(rows, api) {
		told[fmt.Sprintf("%T", row)[len("*main."):]] = row
	}
	return json.NewEncoder(os.Stdout).Encode(told)
}

func write(db *pg.DB) error {
	now := time.Date(2023, 1, 2, 3, 4, 5, 678901000, time.UTC)
	rows := []any{
		&clusterCredentials{ID: "cc2", Host: "https://api.example", Token: "tok", Namespace: "kube-system", CreatedOn: now},
		&managedEnvironment{ID: "me2", Name: "prod", Credentials: "cc2", CreatedOn: now},
		&clusterUser{ID: "u2", UserName: "uid-2", CreatedOn: now},
		&application{ID: "app2", Name: "gitopsdepl-2", Spec: "spec: {}\n", Instance: "ei", Environment: "me2", CreatedOn: now},
		&operation{ID: "op2", Instance: "ei", Resource: "app2", Owner: "u2", Type: "Application", CreatedOn: now, LastUpdate: now, State: "Waiting"},
		&repositoryCredentials{ID: "rc2", User: "u2", URL: "https://git.example/x", Password: "hunter2", Secret: "s", Instance: "ei", CreatedOn: now},
	}
	for _, row := range rows {
		if _, err := db.Model(row).Insert(); err != nil {
			return fmt.Errorf("%T: %w", row, err)
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: ledger-reader read|write SOCKET DATABASE")
		os.Exit(64)
	}
	db := pg.Connect(&pg.Options{Network: "unix", Addr: os.Args[2], User: "postgres", Database: os.Args[3]})
	defer db.Close()
	act := map[string]func(*pg.DB) error{"read": read, "write": write}[os.Args[1]]
	if act == nil {
		fmt.Fprintln(os.Stderr, "neither read nor write")
		os.Exit(64)
	}
	if err := act(db); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
