/**
 * Whether somebody asked for just this version of the engine. The command line writes its own version into each workspace
 * that it creates, which nobody chose: such a version, and all from before this column, is met by any engine.
 */
export const up = `
alter table workspaces add column engine_version_required boolean not null default false;
alter table runs add column engine_version_required boolean not null default false;
`
