import type { RunRow } from '../runs/locked-run.ts'

/** Stages that come between a plan and its apply, with tasks that read the plan. */
const STAGES_BETWEEN: ReadonlySet<string> = new Set(['post_plan', 'pre_apply'])

/** Whether nobody is asked, and nothing looks at the plan, before it is applied: the JSON of such a plan may follow its outcome. */
export function appliesByItself(run: RunRow) {
  return run.auto_apply && !run.plan_only && !run.save_plan && !run.stages.some((stage) => STAGES_BETWEEN.has(stage))
}
