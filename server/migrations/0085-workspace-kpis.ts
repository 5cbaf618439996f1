/** The KPIs of the runs before 0080. In batches. */
export const up = `
update workspaces w
   set kpi_run_count = k.run_count, kpi_failure_count = k.failure_count, kpi_plan_duration = k.plan_ms, kpi_apply_duration = k.apply_ms
  from (
    select due.id from workspaces due
     where due.kpi_run_count is null
       and exists (select from runs r where r.workspace_id = due.id and r.status in ('applied', 'errored')) limit 500
  ) x cross join lateral workspace_kpis(x.id) k
 where w.id = x.id
`
