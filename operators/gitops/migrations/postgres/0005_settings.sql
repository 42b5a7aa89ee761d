-- Settings of the last backend that started, for commands that know only the database. Only Switchboard uses this table.

create table switchboard_setting (
    setting_name varchar(64) primary key,
    setting_value varchar(1024) not null
);

create trigger switchboard_change after insert or update or delete on switchboard_setting
    for each row execute function switchboard_record_change('setting_name');
