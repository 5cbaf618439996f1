/** The JSON of a plan may follow its outcome. */
export const up = `
alter table phases
  -- when the plan was reported without its JSON; null once that has come, and for plans that were reported with it
  add column documents_owed_at timestamptz,
  -- why it can't be had any more
  add column documents_error text;
`
