import { RUN_STATUS_TABLE, type RunStatus } from '@groundstate/contract/run-status'
import { describeReason } from '@groundstate/contract/vcs-deliveries'
import type { CommitStatus } from '../../../vcs-hosts/host.ts'
import type { ReportRow, ReportedRun } from './store.ts'

type Named = Pick<ReportRow, 'organization_name' | 'workspace_name'>

/** The pages of a workspace and of its runs in the web UI. */
export function pagesOf(baseUrl: string, { organization_name: organization, workspace_name: workspace }: Named) {
  const url = `${baseUrl}/app/${encodeURIComponent(organization)}/workspaces/${encodeURIComponent(workspace)}`
  return { deliveries: `${url}/deliveries`, run: (id: string) => `${url}/runs/${id}` }
}

/** Longest description that all hosts take, in UTF-16 units. */
const MAX_DESCRIPTION = 140

/** A workspace's status at a commit; undefined without a run or a decision. */
export function commitStatus(baseUrl: string, row: ReportRow): CommitStatus | undefined {
  const pages = pagesOf(baseUrl, row)
  const context = `Groundstate/${row.organization_name}/${row.workspace_name}`
  if (row.run) {
    const { state, text } = describeRun(row.run)
    return { context, state, description: shortened(text), url: pages.run(row.run.id) }
  }
  if (row.reason === null || isHidden(row)) return undefined
  // A conflict is not a reason to pass: what the merge would do is unknown.
  const state = row.reason === 'merge-conflict' ? 'failure' : 'success'
  return { context, state, description: shortened(describeReason(row.reason, row.detail)), url: pages.deliveries }
}

/**
 * In the public API, aggregated statuses include skipped workspaces; without aggregation, the organization chooses. What was sent before is
 * replaced in any case.
 */
function isHidden({ kind, reason, shows_skipped: isShown, sent }: ReportRow) {
  return kind === 'plan' && reason === 'no-matching-files' && !isShown && sent === null
}

function shortened(text: string) {
  return text.length <= MAX_DESCRIPTION ? text : `${startOf(text, MAX_DESCRIPTION - 1).trimEnd()}…`
}

/** The first UTF-16 units of a text, at most `max`, without half of a surrogate pair: the database cannot store it. */
export function startOf(text: string, max: number) {
  return text.slice(0, max).replace(/\p{Surrogate}$/u, '')
}

type Described = Pick<CommitStatus, 'state'> & { text: string }

/** The state of a run in words, without anything that its configuration or its log says. */
export function describeRun(run: ReportedRun): Described {
  const { group, label, awaits, stopped } = RUN_STATUS_TABLE[run.status]
  switch (group) {
    case 'errored':
      return describeFailure(run)
    case 'stopped':
      return { state: 'error', text: `the run was ${stopped}` }
    case 'finished':
      return { state: 'success', text: describeSuccess(run) }
    case 'needs_approval':
      // A decision about a task, or about the plan.
      return { state: 'pending', text: `${planText(run)}; ${decisionText(run.status)}` }
    case 'running':
    case 'waiting': {
      const isWaiting = awaits === 'queue' && run.plan.status === 'pending'
      return { state: 'pending', text: isWaiting ? 'waiting for its turn in the workspace' : label }
    }
  }
}

function decisionText(status: RunStatus) {
  const { next } = RUN_STATUS_TABLE[status]
  return next.includes('confirmed') ? 'waiting for confirmation' : 'waiting for a decision about its tasks'
}

function describeFailure({ plan, apply, fetches, has_failed_stage }: ReportedRun): Described {
  if (apply.status === 'errored') return { state: 'error', text: 'the apply failed' }
  if (has_failed_stage) return { state: 'failure', text: 'a run task failed' }
  if (fetches) return { state: 'error', text: 'the configuration could not be fetched' }
  return { state: 'error', text: plan.status === 'finished' ? 'the run failed before the apply' : 'the plan failed' }
}

function describeSuccess(run: ReportedRun) {
  return run.apply.status === 'finished' ? countsText(run.apply.counts ?? run.plan.counts, PAST) : planText(run)
}

/** The changes of a run's plan, in numbers. */
function planText({ plan, has_changes: hasChanges }: ReportedRun) {
  return hasChanges ? countsText(plan.counts, FUTURE) : 'no changes'
}

const FUTURE = { imports: 'to import', additions: 'to add', changes: 'to change', destructions: 'to destroy' }
const PAST = { imports: 'imported', additions: 'added', changes: 'changed', destructions: 'destroyed' }

function countsText(counts: ReportedRun['plan']['counts'], words: typeof FUTURE) {
  if (!counts) return words === PAST ? 'applied' : 'changes planned'
  const { imports, additions, changes, destructions } = counts
  const parts = [
    ...(imports > 0 ? [`${imports} ${words.imports}`] : []),
    `${additions} ${words.additions}`,
    `${changes} ${words.changes}`,
    `${destructions} ${words.destructions}`,
  ]
  return parts.join(', ')
}
