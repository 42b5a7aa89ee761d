-- PostgreSQL logs changes once for each statement from this step on. SQLite has only triggers for rows, and they cost little.

select 1;
