-- With the token of a service account of ours it can be removed when what the tenant gave works no longer. The table is ours alone.

alter table switchboard_service_account add column token text;
