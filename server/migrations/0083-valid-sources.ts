/** The checks of 0076 hold for the rows that were there. This reads the tables and holds up nobody. */
export const up = `
alter table configuration_versions validate constraint configuration_versions_source_check;
alter table runs validate constraint runs_source_check;
`
