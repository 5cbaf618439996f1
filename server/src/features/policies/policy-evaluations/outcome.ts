import type { PolicyOutcome } from '@groundstate/contract/policies'
import type { ReportPolicies } from '@groundstate/contract/policy-requests'
import type { PolicyWork, WorkSet } from '../policy-requests/policy-request.ts'
import type { EvaluationEnd } from './store.ts'

export type SetOutcome = { set: WorkSet; outcomes: PolicyOutcome[]; error: string | null } & ResultCount
export type ResultCount = Pick<EvaluationEnd, 'passed' | 'advisory_failed' | 'mandatory_failed' | 'errored'>

/** The outcomes of the sets that were to be evaluated: a policy without a result in the report is errored. */
export function outcomesOf({ sets }: Pick<PolicyWork, 'sets'>, report: ReportPolicies): SetOutcome[] {
  const failure = 'error' in report ? report.error : undefined
  const reported = new Map('error' in report ? [] : report.sets.map(({ id, policies }) => [id, policies]))
  return sets.map((set) => {
    const results = new Map(reported.get(set.id)?.map((result) => [result.name, result]))
    const outcomes = set.policies.map((policy): PolicyOutcome => {
      const result = results.get(policy.name)
      const error = failure ?? result?.message ?? (result ? undefined : 'the agent reported no result')
      return {
        policy_name: policy.name,
        query: policy.query,
        enforcement_level: policy.level,
        description: policy.description,
        status: result?.status ?? 'errored',
        output: (result?.output ?? []).map((print) => ({ print })),
        omitted: result?.omitted ?? 0,
        error: error ?? null,
      }
    })
    return { set, outcomes, error: failure ?? null, ...countOf(outcomes) }
  })
}

function countOf(outcomes: readonly PolicyOutcome[]): ResultCount {
  const count = (matches: (outcome: PolicyOutcome) => boolean) => outcomes.filter(matches).length
  return {
    passed: count(({ status }) => status === 'passed'),
    advisory_failed: count((one) => one.status === 'failed' && one.enforcement_level === 'advisory'),
    mandatory_failed: count((one) => one.status === 'failed' && one.enforcement_level === 'mandatory'),
    errored: count(({ status }) => status === 'errored'),
  }
}

const isNegative = ({ status }: PolicyOutcome) => status !== 'passed'
const isStopping = (outcome: PolicyOutcome) => isNegative(outcome) && outcome.enforcement_level === 'mandatory'

/** Negative policies named in the message of a stage; the others are counted. */
const MAX_NAMED = 5

/**
 * The end of an evaluation. A mandatory policy that fails, or cannot be evaluated, stops the run; an advisory one is reported as a
 * warning. The failure can be overridden if all sets that stop the run allow it, and the run can be applied.
 */
export function endOf(
  outcomes: readonly SetOutcome[],
  { planOnly, toolVersion }: { planOnly: boolean; toolVersion: string | null },
): EvaluationEnd {
  const all = outcomes.flatMap(({ set, outcomes: policies }) => policies.map((policy) => ({ set, policy })))
  const stopping = all.filter(({ policy }) => isStopping(policy))
  const negative = stopping.length > 0 ? stopping : all.filter(({ policy }) => isNegative(policy))
  const named = negative.slice(0, MAX_NAMED).map(({ set, policy }) => describe(set, policy))
  if (negative.length > MAX_NAMED) named.push(`and ${negative.length - MAX_NAMED} more`)
  const sum = (name: keyof ResultCount) => outcomes.reduce((total, outcome) => total + outcome[name], 0)
  return {
    status:
      stopping.length === 0
        ? 'passed'
        : stopping.some(({ policy }) => policy.status === 'failed')
          ? 'failed'
          : 'errored',
    message: named.length === 0 ? null : named.join('; '),
    is_overridable: stopping.length > 0 && !planOnly && stopping.every(({ set }) => set.overridable),
    tool_version: toolVersion,
    passed: sum('passed'),
    advisory_failed: sum('advisory_failed'),
    mandatory_failed: sum('mandatory_failed'),
    errored: sum('errored'),
  }
}

const MAX_REASON = 300

function describe(set: WorkSet, { policy_name, enforcement_level, status, output, error }: PolicyOutcome) {
  const reason = error ?? output[0]?.print ?? ''
  const shown = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason
  return `the ${enforcement_level} policy ${policy_name} of the set ${set.name} ${status}${shown === '' ? '' : `: ${shown}`}`
}
