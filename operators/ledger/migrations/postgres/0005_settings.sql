-- What a backend was told when it started, for commands that have nothing but the database. It is ours alone.

create table switchboard_setting (
    setting_name varchar(64) primary key,
    setting_value varchar(1024) not null
);

create trigger switchboard_change after insert or update or delete on switchboard_setting
    for each row execute function switchboard_record_change('setting_name');
