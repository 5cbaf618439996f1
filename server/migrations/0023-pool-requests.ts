import { WORK_KINDS } from '@groundstate/contract/agent'
import { literalList } from '../src/db/sql.ts'

/** Requests to hosts of repositories, and git operations, through the agents of a pool. */
export const up = `
alter table agents drop constraint agents_accepts_check,
  add constraint agents_accepts_check check (cardinality(accepts) > 0 and accepts <@ array[${literalList(WORK_KINDS)}]);

-- For git, timeout_ms is the time by which a heartbeat renews the lease, and the waiting process keeps renewing claim_until.
alter table task_requests
  add column kind text not null default 'task' check (kind in ('task', 'repository', 'git')),
  -- sealed: the body of a long response, uploaded before the report
  add column content bytea,
  -- how often it was leased
  add column leases integer not null default 0;
`
