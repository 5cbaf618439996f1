/**
 * How many events a day has had, so that the totals of trails read few rows. A job adds days that are over: nothing is written for that
 * while events are. Events of a day are written within the hour after it.
 */
export const up = `
create table audit_days (
  -- that of the events, or an empty text for all events of the server
  organization_id text not null,
  -- midnight, UTC
  starts_at timestamptz not null,
  events integer not null check (events >= 0),
  primary key (organization_id, starts_at)
);

create function count_audit_days(since timestamptz, until timestamptz) returns void language sql as $$
  insert into audit_days (organization_id, starts_at, events)
  select case grouping(organization_id) when 1 then '' else organization_id end, day, count(*)
    from (select organization_id, date_trunc('day', created_at, 'UTC') as day
            from audit_events where created_at >= since and created_at < until) counted
   group by grouping sets ((organization_id, day), (day))
  having grouping(organization_id) = 1 or organization_id is not null
$$;
select count_audit_days('-infinity', date_trunc('day', now() - interval '1 hour', 'UTC'));
analyze audit_days;
`
