/** What is kept of runs has an end: when it came, and how far the sweeps of blobs are. */
export const up = `
alter table phases
  -- when the time of the log was over
  add column log_deleted_at timestamptz,
  -- that of a plan as JSON and of configuration that it wrote
  add column json_deleted_at timestamptz,
  -- that of the engine's plan file, which nobody needs once the run has ended
  add column file_deleted_at timestamptz,
  -- that of the run's events and of its jobs
  add column history_deleted_at timestamptz;

-- A sweep that was broken off goes on here.
create table blob_sweeps (
  prefix text primary key,
  cursor text not null,
  updated_at timestamptz not null
);
`
