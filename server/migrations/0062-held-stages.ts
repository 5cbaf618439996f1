/** Stages whose verdict stops their run, and the moment until which the run does not tell it yet. */
export const up = `
alter table task_stages add column held_until timestamptz;
`
