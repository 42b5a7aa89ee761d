-- Settings of the last backend that started, for commands that know only the database. Only Switchboard uses this table.

create table switchboard_setting (
    setting_name text primary key,
    setting_value text not null
);

create trigger switchboard_insert_setting after insert on switchboard_setting begin
    insert into switchboard_change (relation, row_key) values ('switchboard_setting', new.setting_name);
end;
create trigger switchboard_update_setting after update on switchboard_setting begin
    insert into switchboard_change (relation, row_key) values ('switchboard_setting', new.setting_name);
end;
create trigger switchboard_delete_setting after delete on switchboard_setting begin
    insert into switchboard_change (relation, row_key) values ('switchboard_setting', old.setting_name);
end;
