-- Token of a service account, with which Switchboard deletes the account after the tenant's credentials stopped working.

alter table switchboard_service_account add column token text;
