/** What a team is for, in its own words. */
export const up = `
alter table teams add column description text;
`
