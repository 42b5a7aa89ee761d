-- Renames the steps of moves to the names that commands print.

update switchboard_move set step = case step
        when 'flip' then 'cutover'
        when 'wake' then 'resume'
        when 'clean' then 'cleanup'
        when 'return' then 'rollback'
        when 'returned' then 'rolled-back'
        else step
    end
    where step in ('flip', 'wake', 'clean', 'return', 'returned');
