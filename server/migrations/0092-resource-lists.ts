/**
 * Long lists of resources are kept packed by the server, as those of instances are: the database took longer to read and compress
 * their JSON than to store the state. What comes compressed or encrypted is not compressed once more, and small sealed contents
 * stay in their row: two more tables and indexes took part in storing a state of 2 KB.
 */
export const up = `
alter table state_versions add column resource_list bytea;
alter table state_versions alter column resource_list set storage external;
alter table state_versions alter column instances set storage external;
alter table state_contents alter column sealed set storage external;
alter table state_contents set (toast_tuple_target = 8160);
`
