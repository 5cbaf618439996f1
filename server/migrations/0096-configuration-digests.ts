/** By what a configuration holds agents know one that they have unpacked before. */
export const up = `
alter table configuration_versions add column sha256 text;
`
